#!/usr/bin/python3
"""A Cumulus client in another language, written from proto/ alone.

Usage: client.py HOST:PORT [--token TOKEN] [--container NAME]

Prints a line per step and exits with 0 if all answers are as proto/README.md says, else with 1 and
a message. Without a token it does what anonymous callers may. Needs protoc and Google's protobuf
package (Debian: protobuf-compiler, python3-protobuf).
"""

import argparse
import pathlib
import secrets
import socket
import struct
import subprocess
import sys
import tempfile
import time

PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto"
PREFACE = b"CUMULUS\x01"
HELLO, CALL, MESSAGE, STATUS, CANCEL, CREDIT, PING, PONG, DRAIN, NONCE = range(1, 11)
END = 0x80


def generate(folder):
    """Makes the classes of the messages, and imports them."""
    files = [str(path) for path in PROTO.glob("*.proto")]
    subprocess.run(["protoc", f"-I{PROTO}", f"--python_out={folder}", *files], check=True)
    sys.path.insert(0, folder)
    global c, o, r, z
    import connection_pb2 as c, operator_pb2 as o, records_pb2 as r, zones_pb2 as z


def expect(condition, what):
    if not condition:
        raise AssertionError(f"not so: {what}")


def varint(number):
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(encoded) + bytes([number])


class Client:
    """One connection, one call at a time."""

    def __init__(self, address, token, container):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=20)
        self.next_stream = 1
        hello = c.Hello(
            protocol_version=1, role=c.CLIENT, software=b"python example", token=token.encode(),
            container=container.encode(), environment=c.DEVELOPMENT)
        self.socket.sendall(PREFACE)
        self.send(HELLO, 0, hello.SerializeToString())
        expect(self.read(8) == PREFACE, "the server begins with the preface")
        expect(self.receive()[0] == NONCE, "NONCE is the server's first frame")
        kind, _, _, payload = self.receive()
        expect(kind == HELLO, "HELLO is answered with HELLO")
        self.server = c.ServerHello.FromString(payload)
        self.greeted = time.monotonic()

    def read(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            expect(more, "the connection stays open")
            data += more
        return data

    def send(self, kind, stream, payload):
        self.socket.sendall(struct.pack(">IBI", 5 + len(payload), kind, stream) + payload)

    def receive(self):
        """The next frame of a call or a greeting: kind, end, stream, payload."""
        while True:
            length, kind, stream = struct.unpack(">IBI", self.read(9))
            payload = self.read(length - 5)
            if kind & ~END == PING:
                self.send(PONG, 0, payload)
            elif kind & ~END == STATUS:
                status = r.Status.FromString(payload)
                raise AssertionError(f"refused: {status.code} {status.message.decode()}")
            elif kind & ~END in (HELLO, NONCE, MESSAGE):
                return kind & ~END, kind & END, stream, payload

    def request_id(self):
        passed = int((time.monotonic() - self.greeted) * 1000)
        return (self.server.clock + passed).to_bytes(6, "big") + secrets.token_bytes(10)

    def call(self, method, request, response, request_id=b""):
        """Makes a call and returns its answer, the parts joined, and how many there were."""
        header = c.CallHeader(method=method, timeout_ms=10_000, request_id=request_id)
        header = header.SerializeToString()
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        message = request.SerializeToString()
        self.send(CALL | END, stream, varint(len(header)) + header + message)
        for parts in range(1, 1_000_000):
            kind, end, of, payload = self.receive()
            expect((kind, of) == (MESSAGE, stream), "the only call is answered")
            response.MergeFromString(payload)
            if end:
                return response, parts
            self.send(CREDIT, stream, struct.pack(">I", len(payload)))

    # The calls on records and zones of the private database.

    def modify(self, saves=(), deletes=(), request_id=None, policy=0):
        request = r.ModifyRecordsRequest(
            database=c.PRIVATE, policy=policy, saves=saves, deletes=deletes)
        identifier = request_id or self.request_id()
        return self.call(c.RECORDS_MODIFY, request, r.ModifyRecordsResponse(), identifier)[0]

    def modify_zones(self, **items):
        request = z.ModifyZonesRequest(database=c.PRIVATE, **items)
        answer = z.ModifyZonesResponse()
        return self.call(c.ZONES_MODIFY, request, answer, self.request_id())[0]

    def fetch(self, identifier, database):
        request = r.FetchRecordsRequest(database=database, ids=[identifier])
        return self.call(c.RECORDS_FETCH, request, r.FetchRecordsResponse())[0].results[0]


def every_kind():
    """A field of each kind that can be saved, and lists of them."""
    place = r.Location(latitude=59.9139, longitude=-10.75, altitude=0.0, timestamp=-1)
    base = r.Reference(record_name=b"base", action=r.Reference.DELETE_SELF)
    values = {
        "string": "Grüße, 漢字".encode(), "int64": -(2**63), "double": -0.5, "bytes": b"\x00\xff",
        "timestamp": 253_402_300_799_999, "location": place, "reference": base,
    }
    fields = [r.Field(name=kind.encode(), **{kind: value}) for kind, value in values.items()]
    for kind, value in values.items():
        elements = r.List(**{kind: [value, value]})
        fields.append(r.Field(name=f"{kind}_list".encode(), list=elements))
    fields.append(r.Field(name=b"empty_list", list=r.List()))
    return sorted(fields, key=lambda field: field.name)


def anonymous_steps(client):
    missing = client.fetch(r.RecordID(name=b"python-nobody"), c.PUBLIC)
    expect(missing.error.code == 11, "a record that is not there is 11")
    yield "a public record that is not there: 11"
    caller = client.call(c.ACCOUNTS_WHO_AM_I, o.WhoAmIRequest(), o.WhoAmIResponse())[0].caller
    expect(caller == client.server.caller, "both say who the caller is")
    yield f"who am I: {caller.user.decode() or 'anonymous'}"


def steps(client):
    zone = r.ZoneID(name=b"python-" + secrets.token_hex(4).encode())
    everything, base = r.RecordID(name=b"all", zone=zone), r.RecordID(name=b"base", zone=zone)

    def save(identifier, fields=(), tag=b"", increments=()):
        record = r.Record(id=identifier, type=b"PythonNote", change_tag=tag, fields=fields)
        return r.SaveRecord(record=record, increments=increments)

    made = client.modify_zones(saves=[z.Zone(id=zone)]).saves[0]
    expect(made.zone.id.name == zone.name, "the zone is made")
    yield f"zone {zone.name.decode()} is made"

    fields, request_id = every_kind(), client.request_id()
    saves = [save(base), save(everything, fields)]
    answer = client.modify(saves, request_id=request_id)
    for result in answer.saves:
        expect(result.HasField("record"), f"it is saved: {result.error.message.decode()}")
    first = answer.saves[1].record
    yield f"a record of {len(fields)} fields is saved"
    expect(client.modify(saves, request_id=request_id) == answer, "one request id, one answer")
    yield "the same request once more: the same answer"

    fetched = client.fetch(everything, c.PRIVATE).record
    expect(list(fetched.fields) == fields, "fields come back as they were, sorted by name")
    expect(fetched.change_tag == first.change_tag, "fetch and save tell the same tag")
    yield "fetched: equal"

    title = [r.Field(name=b"string", string=b"new")]
    second = client.modify([save(everything, title, first.change_tag)]).saves[0].record
    stale = client.modify([save(everything, title, first.change_tag)]).saves[0].error
    expect((stale.code, stale.reason) == (14, c.CHANGE_TAG_MISMATCH), "an old tag is 14")
    expect(stale.server_record.change_tag == second.change_tag, "14 brings the server's record")
    yield "saved with an old tag: 14, with the server's record"

    for total in (2, 4):
        add = save(everything, increments=[r.Increment(field=b"count", delta=2)])
        record = client.modify([add], policy=r.CHANGED_KEYS).saves[0].record
        expect([field.int64 for field in record.fields] == [total], "the answer has the sum")
    yield "incremented twice: 2, 4"

    large = [r.Field(name=b"string", string=b"x" * 100_000)]
    names = [f"large-{number}".encode() for number in range(8)]
    client.modify([save(r.RecordID(name=name, zone=zone), large) for name in names])
    request = r.ListRecordsRequest(database=c.PRIVATE, zone=zone)
    listed, parts = client.call(c.RECORDS_LIST, request, r.ListRecordsResponse())
    found = [record.id.name for record in listed.records]
    expect(found == [b"all", b"base", *names], "a list has all records in order of names")
    yield f"listed: {len(found)} records in {parts} messages, under credit"

    nobody = r.RecordID(name=b"nobody", zone=zone)
    gone = client.modify(deletes=[base, nobody]).deletes
    expect(not any(result.HasField("error") for result in gone), "deleting never misses")
    for identifier in (base, everything):
        expect(client.fetch(identifier, c.PRIVATE).error.code == 11, "what is deleted is 11")
    yield "deleted, and what refers to it with DELETE_SELF: 11"

    expect(not client.modify_zones(deletes=[zone]).deletes[0].HasField("error"), "it is deleted")
    expect(client.fetch(base, c.PRIVATE).error.code == 26, "a zone that is deleted is 26")
    yield "the zone is deleted: 26"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("address", metavar="HOST:PORT")
    parser.add_argument("--token", default="")
    parser.add_argument("--container", default="iCloud.dev.cumulus")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        generate(folder)
        try:
            client = Client(options.address, options.token, options.container)
            print(f"greeted by {client.server.software.decode()}")
            for part in [anonymous_steps] + [steps] * bool(options.token):
                for step in part(client):
                    print(step)
        except (AssertionError, OSError) as problem:
            print(f"client.py: {problem}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
