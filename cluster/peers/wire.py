"""What the protocols of all servers need: protobuf by hand, sockets that count what they are told.

Used by the servers beside this file, and by cluster/versus.
"""

import select
import socket
import time

READY_SECONDS = 20


def varint(number):
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    return bytes(encoded + bytes([number]))


def field(number, value):
    """A field of a message: a varint, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def read_varint(data, place):
    """The number at `place`, and where it ends."""
    number = shift = 0
    while True:
        byte = data[place]
        number |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return number, place


def elements(data, place, end, wanted):
    """How many fields of this number a message has; its fields are varints, or have a length."""
    count = 0
    while place < end:
        key, place = read_varint(data, place)
        value, place = read_varint(data, place)
        if key & 7 == 2:
            place += value
        count += key >> 3 == wanted
    return count


class Connection:
    """A socket whose input is counted. Subclasses cut it into frames of their protocol."""

    buffer = bytearray(1 << 18)  # for all: what stays is copied

    def __init__(self, address, greeting):
        self.socket = socket.create_connection(address, timeout=READY_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(greeting)
        self.rest = b""
        self.counts_events = False

    def send(self, data):
        self.socket.sendall(data)

    def read(self):
        """The bytes and the events (of a writer: answers) that are here."""
        try:
            size = self.socket.recv_into(self.buffer, 0, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0, 0
        if not size:
            raise SystemExit(f"versus: the server closed a connection ({type(self).__name__})")
        events, self.rest = self.take(self.rest + self.buffer[:size])
        return size, events

    def take(self, data):
        """The events of the whole frames in these bytes, and what is behind them."""
        raise NotImplementedError


class Reader:
    """The loop over the watchers' sockets, and the writer's."""

    def __init__(self, watchers, writer=None):
        self.byte_count = 0
        self.writer = writer
        self.by_number = {watcher.socket.fileno(): watcher for watcher in watchers}
        self.poll = select.epoll()
        for number in self.by_number:
            self.poll.register(number, select.EPOLLIN)
        if writer:
            self.poll.register(writer.socket.fileno(), select.EPOLLIN)

    def run(self, events, answers, seconds=READY_SECONDS):
        """Reads until so many came; returns when the last answer and the last event were here."""
        end = time.monotonic() + seconds
        answered = told = time.monotonic()
        while events > 0 or answers > 0:
            # Few at a time: so the answer's time is not that of events behind it.
            for number, _ in self.poll.poll(1, 16):
                watcher = self.by_number.get(number)
                if watcher:
                    size, count = watcher.read()
                    self.byte_count += size
                    events -= count
            told = time.monotonic()
            if answers > 0 and (count := self.writer.read()[1]):
                answers -= count
                answered = time.monotonic()
            if told > end:
                raise SystemExit(f"versus: {events} events and {answers} answers did not come")
        if events < 0 or answers < 0:
            raise SystemExit(f"versus: {-events} events too many, {-answers} answers too many")
        return answered, told


def expect(connections, events, send, seconds=READY_SECONDS):
    """Reads the events that `send` asks for."""
    reader = Reader(connections)
    send()
    with reader.poll:
        reader.run(events, 0, seconds)
