"""A single cumulusd; the frames and messages are those of proto/README.md."""

import os
import struct
import subprocess
import time

from .server import Server, VALUE
from .wire import Connection, elements, expect, field, varint


class CumulusConnection(Connection):
    """A connection of Cumulus's protocol; events are notifications, or answers of a writer."""

    HELLO, CALL, MESSAGE, STATUS, CREDIT, PING, PONG, END = 1, 2, 3, 4, 6, 7, 8, 0x80
    MODIFY_RECORDS, MODIFY_SUBSCRIPTIONS, FOLLOW = 2, 128, 130
    PRIVATE = 2

    def __init__(self, address, token, device):
        self.stream = -1
        self.preface = 8
        hello = field(1, 1) + field(2, 1) + field(5, b"iCloud.dev.cumulus") + field(6, 1)
        hello += field(7, device) + field(8, token)
        super().__init__(address, b"CUMULUS\x01" + self.frame(self.HELLO, hello))

    @staticmethod
    def frame(kind, payload, stream=0):
        return struct.pack(">IBI", len(payload) + 5, kind, stream) + payload

    def call(self, method, body):
        self.stream += 2
        head = field(1, method)
        if method != self.FOLLOW:
            head += field(3, int(time.time() * 1000).to_bytes(6, "big") + os.urandom(10))
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
            kind &= ~self.END
            if kind == self.MESSAGE:
                events += self.count(data, place + 9, end)
            elif kind == self.STATUS:
                raise SystemExit(f"versus: the node refused: {data[place + 9:end]!r}")
            elif kind == self.PING:
                self.send(self.frame(self.PONG, data[place + 9:end]))
            place = end
        return events, data[place:]

    def count(self, data, place, end):
        """The notifications of a page; of other messages 1."""
        return elements(data, place, end, 1) if self.counts_events else 1


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
        writer = self.writer()
        expect([writer], 1, lambda: writer.send(self.write(writer, 0)))
        equals = field(1, b"kind") + field(2, 1) + field(3, field(1, field(2, b"news")))
        query = field(1, b"News") + field(2, field(2, equals)) + field(4, 7)
        subscription = field(1, b"news") + field(2, query) + field(5, field(15, b"text"))
        body = field(1, writer.PRIVATE) + field(2, subscription)
        expect([writer], 1, lambda: writer.send(writer.call(writer.MODIFY_SUBSCRIPTIONS, body)))
        writer.socket.close()

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
