"""gRPC over HTTP/2, made by hand: what a client has to send, and what is to be counted."""

import struct

from .wire import Connection


class GRPCConnection(Connection):
    """A connection with one call at a time; events are ends of calls.

    A subclass may name metadata that every call carries. It is told once: later calls refer to it,
    as clients do.
    """

    DATA, HEADERS, RESET, SETTINGS, PING, GO_AWAY, WINDOW = 0, 1, 3, 4, 6, 7, 8
    END_STREAM, ACK, END_HEADERS = 1, 1, 4
    LARGEST = 0x7FFFFFFF
    LARGEST_FRAME = 16384
    FIRST_DYNAMIC = 62  # the number of the entry that HPACK took last
    server = "a server"

    def __init__(self, address, metadata=()):
        self.stream = -1
        self.messages = 0
        self.metadata = [(b"content-type", b"application/grpc"), (b"te", b"trailers"), *metadata]
        self.is_known = False
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

    @staticmethod
    def text(value):
        """A text of HPACK, uncoded; none is longer than its prefix holds."""
        assert len(value) < 127
        return bytes([len(value)]) + value

    def known_metadata(self):
        """What every call carries: in full the first time, by its numbers from then on."""
        if self.is_known:
            last = self.FIRST_DYNAMIC + len(self.metadata) - 1
            return bytes(0x80 | last - index for index in range(len(self.metadata)))
        self.is_known = True
        pairs = self.metadata
        return b"".join(b"\x40" + self.text(name) + self.text(value) for name, value in pairs)

    def call(self, path, message, ends=True, metadata=()):
        """The head of a call and its first message; the metadata is of this call alone."""
        self.stream += 2
        head = b"\x83\x86"  # :method POST, :scheme http
        for name, value in ((b"\x04", path), (b"\x01", b"versus")):  # :path, :authority
            head += name + self.text(value)
        head += self.known_metadata()
        for name, value in metadata:
            head += b"\0" + self.text(name) + self.text(value)
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
            if kind == self.DATA:
                events += self.data(data[place + 9:end])
            elif kind == self.HEADERS and flags & self.END_STREAM:
                # An error has no message before its trailers.
                self.messages -= 1
                if self.messages < 0:
                    raise SystemExit(f"versus: {self.server} refused: {data[place:end]!r}")
                events += 1
            elif kind in (self.SETTINGS, self.PING) and not flags & self.ACK:
                echo = data[place + 9:end] if kind == self.PING else b""
                self.send(self.frame(kind, echo, self.ACK))
            elif kind in (self.RESET, self.GO_AWAY):
                raise SystemExit(f"versus: {self.server} refused: {data[place:end]!r}")
            place = end
        return events, data[place:]

    def data(self, payload):
        """Takes a part of an answer; returns how many events it is."""
        if payload:
            self.messages = 1
        return 0
