"""A server process that cluster/versus measures; one file beside this one for each kind.

A kind says how it is started: `command`, `is_ready`, `prepare`. For cluster/versus feed it says how
watchers hear of writes: `writer`, `write` and `watchers`. For cluster/versus save it says how clients
work with it: `connect`, `save`, `save_batch` and `fetch`, which return what is to be sent.
"""

import os
import socket
import statistics
import subprocess
import sys
import time

from .wire import READY_SECONDS

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
STATE = os.path.join(ROOT, ".cumulus")
VALUE = b"x" * 64  # what each write carries, and each event


class Server:
    """A server process with a folder for its data; a subclass says how it is spoken to."""

    process = None
    environment = None
    written = 0
    batch_size = 200
    answers_per_batch = 1

    def start(self, folder):
        self.folder = folder
        os.mkdir(folder)
        self.log = os.path.join(folder, "log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.environment,
            )
        end = time.monotonic() + READY_SECONDS
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > end:
                with open(self.log, encoding="utf-8", errors="replace") as log:
                    raise SystemExit(f"versus: {self.name} did not start:\n{log.read()[-2000:]}")
            time.sleep(0.05)
        self.prepare()

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            user, system = stat.read().rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def next_write(self, writer):
        """A write that none was like before."""
        self.written += 1
        return self.write(writer, self.written)

    def prepare(self):
        """Makes what watchers need, once."""


def free_address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()


def shell(script, *words):
    """Runs lines of bash that may call what lib.sh has."""
    library = os.path.join(ROOT, "cluster", "lib.sh")
    command = ["bash", "-euo", "pipefail", "-c", f'. "$0"; {script}', library, *words]
    if subprocess.run(command, stdout=sys.stderr).returncode:
        raise SystemExit("versus: could not be set up; the reason stands above.")


def medians(rounds):
    """Of each figure, the median over rounds."""
    return {key: statistics.median(figures[key] for figures in rounds) for key in rounds[0]}
