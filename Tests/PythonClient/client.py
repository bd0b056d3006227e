#!/usr/bin/env python3
"""Checks a node against the wire contract; needs protoc. A failed run leaves its zone behind.

usage: client.py HOST:PORT [--token TOKEN] [--container NAME] [--proto FOLDER]
"""
import argparse
import importlib
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
from functools import partial

HELLO, CALL, MESSAGE, STATUS, CREDIT, PING, PONG, END = 1, 2, 3, 4, 6, 7, 8, 0x80
METHODS = {"FetchRecords": 1, "ModifyRecords": 2, "ListRecords": 3, "ModifyZones": 18, "WhoAmI": 32}


def step(text, actual, expected):
    if actual != expected:
        sys.exit(f"failed: {text}; the answer was\n{actual}\ninstead of\n{expected}")
    print(f"ok: {text}", flush=True)


def load_protocol(folder):
    files = (
        "connection.proto", "accounts.proto", "records.proto", "zones.proto", "assets.proto",
        "operator.proto",
    )
    with tempfile.TemporaryDirectory() as out:
        subprocess.run(["protoc", f"-I{folder}", f"--python_out={out}", *files], check=True)
        sys.path.insert(0, out)
        modules = [vars(importlib.import_module(file.replace(".proto", "_pb2"))) for file in files]
    return argparse.Namespace(**{k: v for m in modules for k, v in m.items() if k[0] != "_"})


class Connection:
    def __init__(self, pb, address, **hello):
        self.pb, self.stream = pb, -1
        self.socket = socket.create_connection(address.rsplit(":", 1), timeout=30)
        self.input = self.socket.makefile("rb")
        self.socket.sendall(b"CUMULUS\x01")
        self.send(HELLO, pb.Hello(protocol_version=1, role="CLIENT", **hello).SerializeToString())
        step("preface", self.input.read(8), b"CUMULUS\x01")
        self.server = pb.ServerHello.FromString(self.receive(HELLO)[0])
        self.clock = self.server.clock - time.monotonic() * 1000

    def new_id(self):
        return int(self.clock + time.monotonic() * 1000).to_bytes(6, "big") + os.urandom(10)

    def send(self, kind, payload, stream=0):
        self.socket.sendall(struct.pack(">IBI", len(payload) + 5, kind, stream) + payload)

    def receive(self, wanted, stream=0):
        """Payload and end bit of the next frame wanted; answers PING, fails on STATUS."""
        while True:
            length, kind, on = struct.unpack(">IBI", self.input.read(9) or bytes(9))
            if not 5 <= length <= 4 << 20:
                sys.exit(f"a frame of length {length} (0 also if the server closed the connection)")
            kind, end, payload = kind & ~END, kind & END, self.input.read(length - 5)
            if (kind, on) == (wanted, stream):
                return payload, end
            if kind == STATUS:
                sys.exit(f"STATUS on stream {on}: {self.pb.Status.FromString(payload)}")
            if kind == PING:
                self.send(PONG, payload)

    def call(self, method, request_id=b"", **request):
        """The answer, its parts joined; self.parts holds their sizes."""
        request_id = request_id or (self.new_id() if method.startswith("Modify") else b"")
        head = self.pb.CallHeader(method=METHODS[method], request_id=request_id).SerializeToString()
        body = getattr(self.pb, method + "Request")(**request).SerializeToString()
        answer, end, self.parts = getattr(self.pb, method + "Response")(), 0, []
        self.stream += 2
        self.send(CALL | END, bytes([len(head)]) + head + body, self.stream)  # a varint below 128
        while not end:
            payload, end = self.receive(MESSAGE, self.stream)
            answer.MergeFromString(payload)
            self.parts.append(len(payload))
            if not end:
                self.send(CREDIT, struct.pack(">I", len(payload)), self.stream)
        return answer


def fields_of_all_kinds():
    place = {"latitude": 59.9, "longitude": -10.7, "altitude": 0, "course": 90, "timestamp": -1}
    target = {"record_name": b"target", "action": "DELETE_SELF"}
    values = {"bytes": b"\0\xff", "double": 0.1, "int64": -2**63, "location": place,
              "reference": target, "string": "Grüße".encode(), "timestamp": -62135596800000}
    lists = [{"name": b"all_" + k.encode(), "list": {k: [v, v]}} for k, v in values.items()]
    return lists + [{"name": b"one_" + k.encode(), k: v} for k, v in values.items()]


def codes(*answers):
    return [item.error.code for a in answers for _, items in a.ListFields() for item in items]


def save(key, *increments, **members):
    return {"record": {"id": key, "type": b"EveryKind", **members}, "increments": increments}


def save_steps(conn, modify, fetch, source, target):
    fields = fields_of_all_kinds()
    batch = {"saves": [save(source, fields=fields), save(target)], "request_id": conn.new_id()}
    first = modify(**batch)
    step("atomic batch, fields of all kinds", codes(first), [0, 0])
    step("same request id, same answer", modify(**batch), first)
    step("fetched as saved", fetch().results[0].record.fields, conn.pb.Record(fields=fields).fields)
    update = [save(target, change_tag=first.saves[1].record.change_tag)]
    tag = modify(saves=update).saves[0].record.change_tag
    error = modify(saves=update).saves[0].error
    step("old tag: 14", (error.code, error.server_record.change_tag), (14, tag))
    add = partial(modify, policy="CHANGED_KEYS", saves=[save(target, {"field": b"n", "delta": 5})])
    totals = [add().saves[0].record.fields[0].int64 for _ in range(2)]
    step("incremented twice", totals, [5, 10])


def private_steps(conn, zone):
    call = partial(conn.call, database="PRIVATE")
    names = [b"big%d" % number for number in range(8)] + [b"source", b"target"]
    ids = [{"name": name, "zone": zone} for name in names]
    modify, fetch = partial(call, "ModifyRecords"), partial(call, "FetchRecords", ids=ids[8:])
    step("zone made", codes(call("ModifyZones", saves=[{"id": zone}])), [0])
    save_steps(conn, modify, fetch, *ids[8:])
    big = [save(key, fields=[{"name": b"data", "bytes": bytes(60000)}]) for key in ids[:8]]
    step("large records saved", codes(modify(saves=big)), [0] * 8)
    listed = [record.id.name for record in call("ListRecords", zone=zone).records]
    step(f"list in parts of {conn.parts}", (listed, len(conn.parts) > 1), (names, True))
    step("target deleted, source with it: 11", codes(modify(deletes=ids[9:]), fetch()), [0, 11, 11])
    step("zone deleted: 26", codes(call("ModifyZones", deletes=[zone]), fetch()), [0, 26, 26])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("address", metavar="HOST:PORT")
    parser.add_argument("--token", type=str.encode, default=b"")
    parser.add_argument("--container", type=str.encode, default=b"iCloud.dev.cumulus")
    parser.add_argument("--proto", default=os.path.join(sys.path[0], "..", "..", "proto"))
    args = parser.parse_args()
    conn = Connection(load_protocol(args.proto), args.address, environment="DEVELOPMENT",
                      container=args.container, token=args.token)
    me, name = conn.call("WhoAmI").caller, b"python-" + os.urandom(8).hex().encode()
    step(f"who am I: {me.user}", (me, me.user > b""), (conn.server.caller, args.token > b""))
    answer = conn.call("FetchRecords", database="PUBLIC", ids=[{"name": name}])
    step("no such public record: 11", codes(answer), [11])
    if args.token:
        private_steps(conn, {"name": name})


if __name__ == "__main__":
    main()
