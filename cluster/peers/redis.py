"""A redis that flushes its log before it answers a write, spoken to by RESP.

It is the one in PATH, or Debian's package, unpacked and not installed.
"""

from .packages import environment, find
from .server import Server, free_address
from .wire import Connection, expect


def command(*words):
    parts = b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)
    return b"*%d\r\n" % len(words) + parts


class RedisConnection(Connection):
    def take(self, data):
        answers, place, size = 0, 0, len(data)
        while (line := data.find(b"\r\n", place)) >= 0:
            kind, end = data[place], line + 2
            if kind == 36:  # $, a value with its length
                length = int(data[place + 1:line])
                if length < 0:
                    raise SystemExit("versus: redis has no such key")
                end += length + 2
                if end > size:
                    break
            elif kind != 43:  # +
                raise SystemExit(f"versus: redis refused: {data[place:line]!r}")
            answers, place = answers + 1, end
        return answers, data[place:]


class Redis(Server):
    """A single redis, with an append-only file that is flushed always."""

    name = "redis"
    batch_size = 200
    # A batch is so many commands, each with an answer of its own.
    answers_per_batch = 200

    def __init__(self):
        self.program = find("redis-server", "redis-server")
        self.environment = environment()

    def command(self):
        self.address = free_address()
        host, port = self.address
        return [
            self.program, "--bind", host, "--port", str(port), "--dir", self.folder,
            "--appendonly", "yes", "--appendfsync", "always", "--save", "",
        ]

    def is_ready(self):
        try:
            probe = self.connect()
            expect([probe], 1, lambda: probe.send(command(b"PING")), seconds=1)
            probe.socket.close()
            return True
        except (OSError, SystemExit):
            return False

    def connect(self):
        return RedisConnection(self.address, b"")

    def save(self, _, key, value):
        return command(b"SET", key, value)

    def save_batch(self, _, keys, value):
        return b"".join(command(b"SET", key, value) for key in keys)

    def fetch(self, _, key):
        return command(b"GET", key)
