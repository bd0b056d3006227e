"""A single cumulusd; the frames and messages are those of the pages in proto/."""

import base64
import os
import struct
import subprocess
import time

from .grpc import GRPCConnection
from .server import Server, VALUE
from .wire import Connection, elements, expect, field, read_varint, varint


CONTAINER = b"iCloud.dev.cumulus"
ZONE = b"versus"
# A type that appears by itself has indexes, which the other servers don't have.
SCHEMA = "DEFINE SCHEMA RECORD TYPE Record ( value BYTES );"


class CumulusConnection(Connection):
    """A connection of Cumulus's protocol; events are notifications, or answers of a writer."""

    HELLO, CALL, MESSAGE, STATUS, CREDIT, PING, PONG, END = 1, 2, 3, 4, 6, 7, 8, 0x80
    FETCH_RECORDS, MODIFY_RECORDS, MODIFY_SUBSCRIPTIONS, FOLLOW = 1, 2, 128, 130
    PRIVATE = 2

    def __init__(self, address, token, device):
        self.stream = -1
        self.preface = 8
        hello = field(1, 1) + field(2, 1) + field(5, CONTAINER) + field(6, 1)
        hello += field(7, device) + field(8, token)
        super().__init__(address, b"CUMULUS\x01" + self.frame(self.HELLO, hello))

    @staticmethod
    def frame(kind, payload, stream=0):
        return struct.pack(">IBI", len(payload) + 5, kind, stream) + payload

    def call(self, method, body):
        self.stream += 2
        head = field(1, method)
        if method not in (self.FOLLOW, self.FETCH_RECORDS):
            head += field(3, request_id())
        payload = varint(len(head)) + head + body
        return self.frame(self.CALL | self.END, payload, self.stream)

    def follow(self):
        """Asks for the feed from now on, with credit for more than any round tells."""
        call = self.call(self.FOLLOW, b"")
        self.send(call + self.frame(self.CREDIT, struct.pack(">I", 1 << 30), self.stream))

    def take(self, data):
        events, place, size = 0, 0, len(data)
        if self.preface:
            if size < self.preface:
                return 0, data
            place, self.preface = self.preface, 0
        while size - place >= 9:
            length, kind, _ = struct.unpack_from(">IBI", data, place)
            end = place + 4 + length
            if end > size:
                break
            ends, kind = kind & self.END, kind & ~self.END
            if kind == self.MESSAGE:
                events += self.count(data, place + 9, end, ends)
            elif kind == self.STATUS:
                raise SystemExit(f"versus: the node refused: {data[place + 9:end]!r}")
            elif kind == self.PING:
                self.send(self.frame(self.PONG, data[place + 9:end]))
            place = end
        return events, data[place:]

    def count(self, data, place, end, _):
        """The notifications of a page; of other messages 1."""
        return elements(data, place, end, 1) if self.counts_events else 1


class RecordConnection(CumulusConnection):
    """A connection whose answers are results of records."""

    def count(self, data, place, end, ends):
        """1 if an answer ends here."""
        if place < end:
            check_result(data, place, end)
        return 1 if ends else 0


def request_id():
    return int(time.time() * 1000).to_bytes(6, "big") + os.urandom(10)


def check_result(data, place, end):
    """The first result of a message says whether it is a record."""
    assert data[place] == 10  # the results
    _, first = read_varint(data, place + 1)
    if data[first] != 10:  # a record
        raise SystemExit(f"versus: the node refused a record: {data[first:end]!r}")


class Cumulus(Server):
    """A single node; one user, whose devices all follow one query subscription."""

    name = "cumulus"

    def __init__(self, programs):
        self.programs = programs

    def command(self):
        data = os.path.join(self.folder, "data")
        # One user makes all of the load.
        limits = ["--calls-per-second", "0", "--bytes-per-second", "0", "--calls-at-once", "0"]
        program = os.path.join(self.programs, "cumulusd")
        return [program, "--data", data, "--listen", "127.0.0.1:0", *limits]

    def is_ready(self):
        with open(self.log, encoding="utf-8") as log:
            ready = [line for line in log if "cumulusd ready on " in line]
        if ready:
            text = ready[0].split("cumulusd ready on ")[1].split()[0].strip('"')
            host, port = text.rsplit(":", 1)
            self.address, self.endpoint = (host, int(port)), text
        return bool(ready)

    def prepare(self):
        self.operate("user", "add", "versus")
        self.token = self.operate("user", "token", "versus").strip()
        self.make_zone()
        schema = os.path.join(self.folder, "schema.ckdb")
        with open(schema, "w", encoding="ascii") as file:
            file.write(SCHEMA)
        self.operate("schema", "import", schema)
        writer = self.writer()
        expect([writer], 1, lambda: writer.send(self.write(writer, 0)))
        equals = field(1, b"kind") + field(2, 1) + field(3, field(1, field(2, b"news")))
        query = field(1, b"News") + field(2, field(2, equals)) + field(4, 7)
        subscription = field(1, b"news") + field(2, query) + field(5, field(15, b"text"))
        body = field(1, writer.PRIVATE) + field(2, subscription)
        expect([writer], 1, lambda: writer.send(writer.call(writer.MODIFY_SUBSCRIPTIONS, body)))
        writer.socket.close()

    def make_zone(self):
        program = os.path.join(self.programs, "cumulus")
        command = [program, "zone", "create", ZONE.decode(), "--endpoint", self.endpoint]
        environment = {**os.environ, "CUMULUS_TOKEN": self.token.decode()}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)

    def operate(self, *words):
        token = os.path.join(self.folder, "data", "operator.token")
        command = [os.path.join(self.programs, "cumulus"), *words, "--endpoint", self.endpoint]
        command += ["--operator-token-file", token]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout

    def writer(self):
        return CumulusConnection(self.address, self.token, b"writer")

    def write(self, writer, number):
        """A save of a new record that matches the subscription."""
        fields = field(10, field(1, b"kind") + field(2, b"news"))
        fields += field(10, field(1, b"text") + field(2, VALUE))
        record = field(1, field(1, b"news-%08d" % number)) + field(2, b"News") + fields
        body = field(1, writer.PRIVATE) + field(2, 2) + field(4, field(1, record))
        return writer.call(writer.MODIFY_RECORDS, body)

    def watchers(self, count, each):
        """Devices that follow, all up to date."""
        assert each == 1
        found = [
            CumulusConnection(self.address, self.token, b"device-%d" % number)
            for number in range(count)
        ]

        def follow():
            for watcher in found:
                watcher.follow()

        expect(found, count, follow)
        for watcher in found:
            watcher.counts_events = True
        return found

    def connect(self):
        return RecordConnection(self.address, self.token, b"client")

    def save(self, connection, key, value):
        return self.save_batch(connection, [key], value)

    def save_batch(self, connection, keys, value):
        return connection.call(connection.MODIFY_RECORDS, self.batch(connection, keys, value))

    def batch(self, connection, keys, value):
        """Whole records, in the zone of their own in which batches are atomic."""
        body = field(1, connection.PRIVATE) + field(2, 2)
        rest = field(2, b"Record") + field(10, field(1, b"value") + field(6, value))
        for key in keys:
            record = field(1, field(1, key) + field(2, field(1, ZONE))) + rest
            body += field(4, field(1, record))
        return body

    def fetch(self, connection, key):
        body = field(1, connection.PRIVATE) + field(2, field(1, key) + field(2, field(1, ZONE)))
        return connection.call(connection.FETCH_RECORDS, body)


class CumulusGRPCConnection(GRPCConnection):
    """A connection to a node's gRPC; events are ends of calls."""

    server = "cumulus"
    FETCH_RECORDS, MODIFY_RECORDS = b"/cumulus.v1.Records/Fetch", b"/cumulus.v1.Records/Modify"
    PRIVATE = CumulusConnection.PRIVATE

    def __init__(self, address, token):
        metadata = [(b"authorization", b"Bearer " + token), (b"cumulus-container", CONTAINER)]
        super().__init__(address, metadata)

    def call(self, path, message):
        own = []
        if path == self.MODIFY_RECORDS:
            own.append((b"cumulus-request-id-bin", base64.b64encode(request_id())))
        return super().call(path, message, metadata=own)

    def data(self, payload):
        if payload and not self.messages:
            check_result(payload, 5, len(payload))
        return super().data(payload)


class CumulusByGRPC(Cumulus):
    """A single node that is asked over gRPC."""

    name = "cumulus, gRPC"
    # What a connection may send at once fits the window that HTTP/2 begins with: 64 KB.
    batch_size = 40

    def command(self):
        return [*super().command(), "--grpc", "127.0.0.1:0"]

    def connect(self):
        with open(self.log, encoding="utf-8") as log:
            line = next(line for line in log if "cumulusd serves gRPC on " in line)
        host, port = line.split("cumulusd serves gRPC on ")[1].strip().rsplit(":", 1)
        return CumulusGRPCConnection((host, int(port)), self.token)
