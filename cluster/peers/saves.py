"""cluster/versus save, grpc: durable saves of 1 KB, and reads of one key, with so many stored.

All servers face the same clients: one loop over raw sockets, each with one request in flight, that
counts answers and sends the next request. Every save is flushed before it is answered. A save
replaces the value of any key; a batch replaces 200 neighbours in one transaction (redis: in one
pipeline). Values are 1,000 characters at random. A round has, for each server:

  save 64      saves on 64 connections
  save 1       saves on one connection
  batch        batches on four connections, counted in records
  fetch 64     reads of one key on 64 connections

grpc has no batches: it asks a node over gRPC and over its own protocol, and etcd.

`client` is how much of a core the loop took: where that is near 100 %, the rate is the loop's. The
CPU of a server is that of its processes.
"""

import json
import os
import random
import select
import string
import subprocess
import time

from .server import medians
from .wire import READY_SECONDS

COLUMNS = [
    ("per_second", "per second", "{:,.0f}"),
    ("p50_ms", "p50, ms", "{:,.2f}"),
    ("p99_ms", "p99, ms", "{:,.2f}"),
    ("p999_ms", "p99.9, ms", "{:,.2f}"),
    ("cpu_us", "CPU us each", "{:,.1f}"),
    ("client_percent", "client, %", "{:,.0f}"),
]
# Figures that are better if they are higher.
RATES = {"per_second"}
VALUE_SIZE = 1000

_dice = random.Random(0)
TEXT = "".join(_dice.choices(string.ascii_letters + string.digits, k=1 << 16)).encode()


def any_value():
    start = _dice.randrange(len(TEXT) - VALUE_SIZE)
    return TEXT[start:start + VALUE_SIZE]


def key(number):
    return b"record-%08d" % number


TITLES = [("save 64", 64), ("save 1", 1), ("batch", 4), ("fetch 64", 64)]


def titles(kind):
    return [pair for pair in TITLES if kind == "save" or pair[0] != "batch"]


def works(servers, options):
    """The work of a round, servers side by side."""
    return [
        Work(server, title, clients, options)
        for title, clients in titles(options.kind)
        for server in servers
    ]


def fill(server, options):
    """Saves all records once."""
    firsts = iter(range(0, options.records, server.batch_size))

    def request(connection):
        first = next(firsts, None)
        if first is None:
            return None
        keys = [key(number) for number in range(first, first + server.batch_size)]
        return server.save_batch(connection, keys, any_value())

    drive(server, 4, server.answers_per_batch, request)


def drive(server, clients, answers, request):
    """Keeps one request in flight on each of so many connections; returns their seconds, sorted.

    `request` returns what is to be sent on a connection; None ends its work.
    """
    connections = [server.connect() for _ in range(clients)]
    by_number = {connection.socket.fileno(): connection for connection in connections}
    times, sent, missing = [], {}, {}

    def send(number):
        data = request(by_number[number])
        if data is None:
            by_number.pop(number).socket.close()
            return
        sent[number], missing[number] = time.monotonic(), answers
        by_number[number].send(data)

    with select.epoll() as poll:
        for number in list(by_number):
            poll.register(number, select.EPOLLIN)
            send(number)
        while by_number:
            if not (ready := poll.poll(READY_SECONDS)):
                raise SystemExit(f"versus: {server.name} does not answer")
            for number, _ in ready:
                missing[number] -= by_number[number].read()[1]
                if not missing[number]:
                    times.append(time.monotonic() - sent[number])
                    send(number)
    return sorted(times)


class Work:
    """What is done with a server in a round, and its figures."""

    def __init__(self, server, title, clients, options):
        self.server, self.title, self.clients, self.options = server, title, clients, options
        self.name = f"{title}, {server.name}"
        self.rounds = []
        is_batch = title == "batch"
        # How many of what is counted are in a request, and how many answers it has.
        self.size = server.batch_size if is_batch else 1
        self.answers = server.answers_per_batch if is_batch else 1

    def request(self, connection):
        number = _dice.randrange(self.options.records - self.size + 1)
        if self.title == "batch":
            keys = [key(number + offset) for offset in range(self.size)]
            return self.server.save_batch(connection, keys, any_value())
        if self.title.startswith("fetch"):
            return self.server.fetch(connection, key(number))
        return self.server.save(connection, key(number), any_value())

    def run(self):
        if self.title == TITLES[0][0] and not self.rounds:
            fill(self.server, self.options)
        cpu, client = self.server.cpu_seconds(), time.process_time()
        begin = time.monotonic()
        end = begin + self.options.seconds
        times = drive(
            self.server,
            self.clients,
            self.answers,
            lambda connection: self.request(connection) if time.monotonic() < end else None,
        )
        seconds = time.monotonic() - begin
        cpu, client = self.server.cpu_seconds() - cpu, time.process_time() - client
        count = len(times) * self.size
        self.rounds.append(
            {
                "per_second": count / seconds,
                "p50_ms": 1e3 * times[len(times) // 2],
                "p99_ms": 1e3 * times[len(times) * 99 // 100],
                "p999_ms": 1e3 * times[len(times) * 999 // 1000],
                "cpu_us": 1e6 * cpu / count,
                "client_percent": 100 * client / seconds,
            }
        )

    def figures(self):
        """Medians over the rounds."""
        return medians(self.rounds)


def bounds(programs, folder, options):
    """What the bare engine does with the rows of our saves, and the disk with flushes alone, as
    `cumulus-bench save` measures them beside saves of its own."""
    command = [os.path.join(programs, "cumulus-bench"), "save", "--json"]
    command += ["--seconds", str(options.seconds), "--records", str(options.records)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=folder)
    names = {"engine": "bare engine, rows of our saves", "flush": "flush of the disk alone"}
    return [
        {
            "name": names[figure["bound"]["name"]],
            "per_second": figure["bound"]["perSecond"],
            "cpu_us": figure["bound"]["cpuMicroseconds"],
            "saves_per_second": figure["perSecond"],
        }
        for figure in json.loads(done.stdout)["figures"]
    ]
