"""A single etcd, spoken to by gRPC.

It is the etcd in PATH, or Debian's package, which is unpacked and not installed.
"""

import os

from .grpc import GRPCConnection
from .packages import find
from .server import Server, VALUE, free_address
from .wire import elements, expect, field


class EtcdConnection(GRPCConnection):
    """A connection to etcd; events of one that watches are those of etcd, else ends of calls."""

    server = "etcd"

    def __init__(self, address):
        self.is_watch = False
        self.body = b""
        super().__init__(address)

    def data(self, payload):
        return self.count(payload) if self.is_watch else super().data(payload)

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
