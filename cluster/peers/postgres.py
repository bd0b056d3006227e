"""A PostgreSQL server, spoken to by its protocol of messages, version 3.

It is the one that is installed, or Debian's package, unpacked. A table has a key and a value; a save inserts
or replaces a row, and a commit is flushed before it is answered (PostgreSQL's standard).
"""

import os
import shutil
import struct
import subprocess

from .packages import environment, find
from .server import Server, free_address
from .wire import Connection, expect

PLACE = "usr/lib/postgresql/*/bin"
SAVE = b"insert into records values ($1, $2) on conflict (key) do update set value = $2"
FETCH = b"select value from records where key = $1"


def message(kind, body):
    return kind + struct.pack(">I", len(body) + 4) + body


def parse(name, query):
    return message(b"P", name + b"\0" + query + b"\0\0\0")


def execute(name, *values):
    """Binds a prepared statement, and executes it."""
    body = b"\0" + name + b"\0\0\1\0\1" + struct.pack(">H", len(values))
    for value in values:
        body += struct.pack(">I", len(value)) + value
    return message(b"B", body + b"\0\1\0\1") + message(b"E", b"\0\0\0\0\0")


SYNC = message(b"S", b"")


class PostgresConnection(Connection):
    """Answers are counted by the server's readiness for the next request."""

    def __init__(self, address):
        parameters = b"user\0postgres\0database\0postgres\0\0"
        start = struct.pack(">II", len(parameters) + 8, 196608) + parameters
        super().__init__(address, start)

    def take(self, data):
        answers, place, size = 0, 0, len(data)
        while size - place >= 5:
            kind, length = data[place], int.from_bytes(data[place + 1:place + 5], "big")
            end = place + 1 + length
            if end > size:
                break
            if kind == 90:  # Z, ready for a query
                answers += 1
            elif kind == 69:  # E, an error
                raise SystemExit(f"versus: PostgreSQL refused: {data[place + 5:end]!r}")
            place = end
        return answers, data[place:]


class Postgres(Server):
    """A single PostgreSQL server."""

    name = "PostgreSQL"
    batch_size = 200

    def __init__(self):
        # PATH may have a link to it. Its other programs are beside it.
        program = os.path.realpath(find("postgres", "postgresql-15", PLACE))
        self.programs = os.path.dirname(program)
        self.environment = environment()

    def command(self):
        self.address = free_address()
        data = os.path.join(self.folder, "data")
        os.mkdir(data)
        self.run_as = []
        if os.getuid() == 0:
            # PostgreSQL does not run as root.
            shutil.chown(data, "nobody", "nogroup")
            self.run_as = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        initdb = [os.path.join(self.programs, "initdb"), "-D", data, "-U", "postgres"]
        initdb += ["-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run(
            [*self.run_as, *initdb],
            check=True,
            stdout=subprocess.DEVNULL,
            env=self.environment,
            cwd="/",
        )
        host, port = self.address
        settings = [
            f"listen_addresses={host}", f"port={port}", "unix_socket_directories=",
            "shared_buffers=512MB", "max_connections=200",
        ]
        program = os.path.join(self.programs, "postgres")
        flags = [word for setting in settings for word in ("-c", setting)]
        return [*self.run_as, program, "-D", data, *flags]

    def is_ready(self):
        try:
            self.open().socket.close()
            return True
        except (OSError, SystemExit):
            return False

    def stop(self):
        # A killed postmaster would leave its children and its shared memory behind.
        if self.process:
            self.process.terminate()
            self.process.wait(timeout=60)

    def prepare(self):
        connection = self.open()
        table = b"create table records (key text primary key, value text not null)"
        query = message(b"Q", table + b"\0")
        expect([connection], 1, lambda: connection.send(query))
        connection.socket.close()

    def open(self):
        connection = PostgresConnection(self.address)
        expect([connection], 1, lambda: None)
        return connection

    def connect(self):
        """A connection with its prepared statements."""
        connection = self.open()
        both = parse(b"save", SAVE) + parse(b"fetch", FETCH) + SYNC
        expect([connection], 1, lambda: connection.send(both))
        return connection

    def cpu_seconds(self):
        """Of the postmaster, of its children, and of those that ended."""
        ticks = 0
        for number in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{number}/stat", encoding="ascii", errors="replace") as stat:
                    words = stat.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(number) == self.process.pid:
                ticks += sum(map(int, words[11:15]))
            elif int(words[1]) == self.process.pid:
                ticks += sum(map(int, words[11:13]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def save(self, _, key, value):
        return execute(b"save", key, value) + SYNC

    def save_batch(self, _, keys, value):
        """One transaction, pipelined."""
        return b"".join(execute(b"save", key, value) for key in keys) + SYNC

    def fetch(self, _, key):
        return execute(b"fetch", key) + SYNC
