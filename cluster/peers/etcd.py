"""A single etcd, spoken to by gRPC over HTTP/2, both made by hand.

It is the etcd in PATH, or Debian's package, which is unpacked and not installed.
"""

import os
import struct

from .packages import find
from .server import Server, VALUE, free_address
from .wire import Connection, elements, expect, field


class EtcdConnection(Connection):
    """A connection of HTTP/2 with gRPC; events are messages, or ends of streams for a writer."""

    DATA, HEADERS, RESET, SETTINGS, PING, GO_AWAY, WINDOW = 0, 1, 3, 4, 6, 7, 8
    END_STREAM, ACK, END_HEADERS = 1, 1, 4
    LARGEST = 0x7FFFFFFF
    LARGEST_FRAME = 16384

    def __init__(self, address):
        self.stream = -1
        self.messages = 0
        self.is_watch = False
        self.body = b""
        settings = struct.pack(">HI", 4, self.LARGEST)  # the initial window of streams
        window = struct.pack(">I", self.LARGEST - 65535)
        super().__init__(
            address,
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
            + self.frame(self.SETTINGS, settings)
            + self.frame(self.WINDOW, window),
        )

    @staticmethod
    def frame(kind, payload, flags=0, stream=0):
        return struct.pack(">IBI", len(payload) << 8 | kind, flags, stream) + payload

    def call(self, path, message, ends=True):
        """The head of a call and its first message."""
        self.stream += 2
        head = b"\x83\x86"  # :method POST, :scheme http
        for name, value in ((b"\x04", path), (b"\x01", b"etcd")):  # :path, :authority
            head += name + bytes([len(value)]) + value
        for name, value in ((b"content-type", b"application/grpc"), (b"te", b"trailers")):
            head += b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value
        head = self.frame(self.HEADERS, head, self.END_HEADERS, self.stream)
        return head + self.message(message, ends)

    def message(self, message, ends=False):
        payload = struct.pack(">BI", 0, len(message)) + message
        starts = range(0, len(payload), self.LARGEST_FRAME)
        parts = [payload[start:start + self.LARGEST_FRAME] for start in starts]
        flags = [0] * (len(parts) - 1) + [self.END_STREAM if ends else 0]
        frames = zip(parts, flags)
        return b"".join(self.frame(self.DATA, part, flag, self.stream) for part, flag in frames)

    def take(self, data):
        events, place, size = 0, 0, len(data)
        while size - place >= 9:
            head, flags, _ = struct.unpack_from(">IBI", data, place)
            length, kind = head >> 8, head & 255
            end = place + 9 + length
            if end > size:
                break
            if kind == self.DATA and self.is_watch:
                events += self.count(data[place + 9:end])
            elif kind == self.DATA:
                self.messages += 1
            elif kind == self.HEADERS and flags & self.END_STREAM:
                # An error has no message before its trailers.
                self.messages -= 1
                if self.messages < 0:
                    raise SystemExit(f"versus: etcd refused: {data[place:end]!r}")
                events += 1
            elif kind in (self.SETTINGS, self.PING) and not flags & self.ACK:
                echo = data[place + 9:end] if kind == self.PING else b""
                self.send(self.frame(kind, echo, self.ACK))
            elif kind in (self.RESET, self.GO_AWAY):
                raise SystemExit(f"versus: etcd refused: {data[place:end]!r}")
            place = end
        return events, data[place:]

    def count(self, payload):
        """The events in messages that end with this part of a stream."""
        body = self.body + payload if self.body else payload
        count = 0
        while len(body) >= 5 and len(body) >= (size := 5 + int.from_bytes(body[1:5], "big")):
            count += elements(body, 5, size, 11) if self.counts_events else 1
            body = body[size:]
        self.body = body
        return count


class Etcd(Server):
    """A single etcd; watches of one prefix."""

    name = "etcd"
    # What a connection may send at once fits the window that HTTP/2 begins with: 64 KB.
    batch_size = 40

    def __init__(self):
        self.program = find("etcd", "etcd-server")

    def command(self):
        self.address = free_address()
        client, peer = (f"http://{host}:{port}" for host, port in (self.address, free_address()))
        return [
            self.program, "--data-dir", os.path.join(self.folder, "data"), "--name", "versus",
            "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--initial-cluster", f"versus={peer}",
            # The standard one is less than a million values need.
            "--quota-backend-bytes", str(8 << 30),
        ]

    def is_ready(self):
        try:
            writer = self.writer()
            expect([writer], 1, lambda: writer.send(self.write(writer, 0)), seconds=1)
            writer.socket.close()
            return True
        except (OSError, SystemExit):
            return False

    def writer(self):
        return EtcdConnection(self.address)

    def write(self, writer, number):
        message = field(1, b"news/news-%08d" % number) + field(2, VALUE)
        return writer.call(b"/etcdserverpb.KV/Put", message)

    def watchers(self, count, each):
        """Connections with `each` watches on one gRPC stream, all created."""
        found = [EtcdConnection(self.address) for _ in range(count // each)]
        create = field(1, field(1, b"news/") + field(2, b"news0"))

        def watch():
            for watcher in found:
                watcher.is_watch = True
                call = watcher.call(b"/etcdserverpb.Watch/Watch", create, ends=False)
                watcher.send(call + watcher.message(create) * (each - 1))

        expect(found, count, watch)
        for watcher in found:
            watcher.counts_events = True
        return found

    def connect(self):
        return EtcdConnection(self.address)

    def save(self, connection, key, value):
        return connection.call(b"/etcdserverpb.KV/Put", field(1, key) + field(2, value))

    def save_batch(self, connection, keys, value):
        """One transaction."""
        puts = b"".join(field(2, field(2, field(1, key) + field(2, value))) for key in keys)
        return connection.call(b"/etcdserverpb.KV/Txn", puts)

    def fetch(self, connection, key):
        return connection.call(b"/etcdserverpb.KV/Range", field(1, key))
