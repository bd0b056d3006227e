"""cluster/versus feed: how servers tell watchers of what one writer writes.

All servers face the same reader: one loop over raw sockets that counts bytes and events and looks
at nothing else. A round has two parts:

  single   writes one after the other, each when all watchers have the one before
  burst    writes sent at once, until all watchers have all of them

`answer to last` are the milliseconds from a write's answer until the last watcher has the event,
`write to last` those since the write was sent. A part of the CPU is for the writes. etcd is asked
twice: each watch on a connection of its own, as our devices are, and ten watches on each of a tenth
as many connections. The reader takes a core for itself where servers are fast: rates and times
beyond some 100,000 events a second are its own. CPU figures are not touched by it.
"""

import contextlib
import statistics
import time

from .server import medians
from .wire import Reader

COLUMNS = [
    ("answer_to_last_ms", "answer to last, ms", "{:,.2f}"),
    ("write_to_last_ms", "write to last, ms", "{:,.2f}"),
    ("cpu_us_per_event", "CPU us/event", "{:,.2f}"),
    ("bytes_per_event", "bytes/event", "{:,.0f}"),
    ("burst_events_per_second", "burst events/s", "{:,.0f}"),
    ("burst_cpu_us_per_event", "burst CPU us/event", "{:,.2f}"),
]
# Figures that are better if they are higher.
RATES = {"burst_events_per_second"}


def milliseconds(seconds):
    return 1e3 * statistics.median(seconds)


class Work:
    """What is done with a server in a round, and its figures."""

    def __init__(self, server, each, options):
        self.server, self.each, self.options = server, each, options
        self.name = f"{server.name}, {options.watchers // each} x {each}"
        self.title = "feed"
        self.rounds = []

    def run(self):
        with contextlib.ExitStack() as stack:
            writer = self.server.writer()
            watchers = self.server.watchers(self.options.watchers, self.each)
            for connection in [writer, *watchers]:
                stack.enter_context(contextlib.closing(connection.socket))
            reader = Reader(watchers, writer)
            stack.enter_context(reader.poll)
            self.write(writer, reader, 3)  # warm
            self.rounds.append({**self.single(writer, reader), **self.burst(writer, reader)})

    def single(self, writer, reader):
        bytes_before, cpu = reader.byte_count, self.server.cpu_seconds()
        times = [self.write(writer, reader, 1) for _ in range(self.options.writes)]
        events = self.options.writes * self.options.watchers
        return {
            "answer_to_last_ms": milliseconds(told - answered for _, answered, told in times),
            "write_to_last_ms": milliseconds(told - sent for sent, _, told in times),
            "cpu_us_per_event": (self.server.cpu_seconds() - cpu) * 1e6 / events,
            "bytes_per_event": (reader.byte_count - bytes_before) / events,
        }

    def burst(self, writer, reader):
        cpu = self.server.cpu_seconds()
        sent, _, told = self.write(writer, reader, self.options.burst)
        events = self.options.burst * self.options.watchers
        return {
            "burst_events_per_second": events / (told - sent),
            "burst_cpu_us_per_event": (self.server.cpu_seconds() - cpu) * 1e6 / events,
        }

    def write(self, writer, reader, count):
        """Sends writes at once; returns when they were sent, answered and told to all watchers."""
        data = b"".join(self.server.next_write(writer) for _ in range(count))
        sent = time.monotonic()
        writer.send(data)
        return sent, *reader.run(count * self.options.watchers, count)

    def figures(self):
        """Medians over the rounds."""
        return medians(self.rounds)


def works(servers, options):
    """Each server's work; `servers` are ours and etcd."""
    ours, etcd = servers
    return [Work(ours, 1, options), Work(etcd, 1, options), Work(etcd, 10, options)]
