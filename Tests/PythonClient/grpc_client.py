#!/usr/bin/env python3
"""A client of gRPC, from stubs that grpcio-tools made of proto/; run by GRPCTests.

    python3 grpc_client.py STUBS ENDPOINT [--authority FILE] STEP [ARGUMENT...]

STUBS is a folder for the stubs, which are made if they are not there. Each step says what it saw,
and ends with an error where that is wrong.
"""
import argparse
import collections
import hashlib
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import time

import grpc

PROTO = pathlib.Path(__file__).resolve().parent.parent.parent / "proto"
CONTAINER = "iCloud.dev.cumulus"
MIB = 1 << 20

arguments = argparse.ArgumentParser()
arguments.add_argument("stubs")
arguments.add_argument("endpoint", help="of several, separated by commas, the first that answers")
arguments.add_argument("--authority")
arguments.add_argument("--token", default="")
arguments.add_argument("step")
arguments.add_argument("rest", nargs="*")
arguments = arguments.parse_args()


def make_stubs(folder):
    if not os.path.exists(f"{folder}/services_pb2_grpc.py"):
        os.makedirs(folder, exist_ok=True)
        files = [str(path) for path in PROTO.glob("*.proto")]
        tool = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO}"]
        subprocess.run(
            tool + [f"--python_out={folder}", f"--grpc_python_out={folder}"] + files, check=True
        )
    sys.path.insert(0, folder)


make_stubs(arguments.stubs)
import assets_pb2
import changes_pb2
import connection_pb2
import feeds_pb2
import operator_pb2
import pushes_pb2
import queries_pb2
import records_pb2
import services_pb2
import services_pb2_grpc as stubs
import subscriptions_pb2
import zones_pb2


def connect(endpoint):
    if arguments.authority:
        roots = pathlib.Path(arguments.authority).read_bytes()
        return grpc.secure_channel(endpoint, grpc.ssl_channel_credentials(roots))
    return grpc.insecure_channel(endpoint)


def metadata(token=None, **more):
    fields = [("cumulus-container", CONTAINER)]
    token = arguments.token if token is None else token
    if token:
        fields.append(("authorization", f"Bearer {token}"))
    return fields + [(key.replace("_", "-"), value) for key, value in more.items()]


def refusal(call):
    """What a call that fails is told: gRPC's code, and the node's own status."""
    try:
        call()
    except grpc.RpcError as error:
        status = dict(error.trailing_metadata()).get("cumulus-status-bin", b"")
        return error.code(), records_pb2.Status.FromString(status)
    raise AssertionError("the call was answered")


def note(name, text, zone):
    field = records_pb2.Field(name=b"text", string=text)
    identifier = records_pb2.RecordID(name=name, zone=zone)
    record = records_pb2.Record(id=identifier, type=b"Note", fields=[field])
    return records_pb2.ModifyRecordsRequest(
        database="PRIVATE", policy="ALL_KEYS", saves=[records_pb2.SaveRecord(record=record)]
    )


ZONE = records_pb2.ZoneID(name=b"grpc")
channel = connect(arguments.endpoint.split(",")[0])
records = stubs.RecordsStub(channel)


def is_text(text):
    value = records_pb2.Field(string=text)
    operand = queries_pb2.Operand(value=value)
    comparison = queries_pb2.Comparison(key=b"text", relation="EQUALS", operands=[operand])
    return [queries_pb2.PredicateNode(comparison=comparison)]


def make_zone():
    zone = zones_pb2.Zone(id=ZONE)
    request = zones_pb2.ModifyZonesRequest(database="PRIVATE", saves=[zone])
    stubs.ZonesStub(channel).Modify(request, metadata=metadata())


def story():
    """Saves, fetches, queries and lists; a change is repeated safely; causality goes along."""
    who = stubs.AccountsStub(channel).WhoAmI(operator_pb2.WhoAmIRequest(), metadata=metadata())
    assert who.caller.user, who
    make_zone()
    request_id = int(time.time() * 1000).to_bytes(6, "big") + os.urandom(10)
    fields = metadata(cumulus_request_id_bin=request_id)
    saved, call = records.Modify.with_call(note(b"hello", b"Hej", ZONE), metadata=fields)
    trailers = dict(call.trailing_metadata())
    assert trailers["cumulus-request-id-bin"] == request_id, trailers
    tag = saved.saves[0].record.change_tag
    again = records.Modify(note(b"hello", b"Hej", ZONE), metadata=fields)
    assert again.saves[0].record.change_tag == tag, again
    code, status = refusal(lambda: records.Modify(note(b"hello", b"?", ZONE), metadata=fields))
    assert code == grpc.StatusCode.INVALID_ARGUMENT, code
    assert status.reason == connection_pb2.REQUEST_ID_REUSED, status

    seen = trailers["cumulus-causal-bin"]
    identifier = records_pb2.RecordID(name=b"hello", zone=ZONE)
    request = records_pb2.FetchRecordsRequest(database="PRIVATE", ids=[identifier])
    fetched = records.Fetch(request, metadata=metadata(cumulus_causal_bin=seen))
    assert fetched.results[0].record.fields[0].string == b"Hej", fetched
    damaged = metadata(cumulus_causal_bin=b"x")
    code, status = refusal(lambda: records.Fetch(request, metadata=damaged))
    assert code == grpc.StatusCode.INVALID_ARGUMENT, code

    query = queries_pb2.QueryRecordsRequest(
        database="PRIVATE", zone=ZONE, record_type=b"Note", predicate=is_text(b"Hej")
    )
    found = records.Query(query, metadata=metadata()).records
    assert b"hello" in [record.id.name for record in found], found
    request = records_pb2.ListRecordsRequest(database="PRIVATE", zone=ZONE)
    listed = [r for part in records.List(request, metadata=metadata()) for r in part.records]
    assert b"hello" in [record.id.name for record in listed], listed
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    records.Query(query, metadata=metadata(traceparent=trace, cumulus_device="python"))
    print("story told")


def many(count):
    """A list that takes many parts comes whole."""
    make_zone()
    count, size = int(count), 100 << 10
    for first in range(0, count, 10):
        request = records_pb2.ModifyRecordsRequest(database="PRIVATE", policy="ALL_KEYS")
        for index in range(first, min(first + 10, count)):
            text = b"%06d" % index + b"x" * size
            request.saves.extend(note(b"many-%06d" % index, text, ZONE).saves)
        assert all(s.HasField("record") for s in records.Modify(request, metadata=metadata()).saves)
    request = records_pb2.ListRecordsRequest(database="PRIVATE", zone=ZONE)
    parts = list(records.List(request, metadata=metadata()))
    names = [r.id.name for part in parts for r in part.records if r.id.name.startswith(b"many-")]
    assert names == [b"many-%06d" % index for index in range(count)], names
    assert len(parts) > 1, len(parts)
    print("parts:", len(parts))


def causal(other, count):
    """What one node answered, and what it told, is found at another one with the token."""
    who, end = stubs.AccountsStub(connect(other)), time.monotonic() + 30
    while True:  # until the other node knows the user
        try:
            who.WhoAmI(operator_pb2.WhoAmIRequest(), metadata=metadata())
            break
        except grpc.RpcError:
            assert time.monotonic() < end
            time.sleep(0.1)
    make_zone()
    elsewhere = stubs.RecordsStub(connect(other))

    def find(name, seen):
        identifier = records_pb2.RecordID(name=name, zone=ZONE)
        request = records_pb2.FetchRecordsRequest(database="PRIVATE", ids=[identifier])
        found = elsewhere.Fetch(request, metadata=metadata(cumulus_causal_bin=seen), timeout=5)
        assert found.results[0].HasField("record"), (name, found)

    changes = stubs.ChangesStub(channel)
    request = changes_pb2.FetchZoneChangesRequest(database="PRIVATE", zone=ZONE)
    follow = changes.FollowZone(request, metadata=metadata())
    for number in range(int(count)):
        name = b"causal-%d" % number
        _, call = records.Modify.with_call(note(name, b"new", ZONE), metadata=metadata())
        find(name, dict(call.trailing_metadata())["cumulus-causal-bin"])
    told = {record.id.name for page in until(follow, name) for record in page.changed}
    assert name in told, told
    # A stream that goes on gives no token: a short call to its node does.
    _, call = stubs.AccountsStub(channel).WhoAmI.with_call(
        operator_pb2.WhoAmIRequest(), metadata=metadata()
    )
    find(name, dict(call.trailing_metadata())["cumulus-causal-bin"])
    follow.cancel()
    print("found:", count)


def until(follow, name):
    """The pages of a stream up to the one with a record."""
    for page in follow:
        yield page
        if any(record.id.name == name for record in page.changed):
            return


def feed(ready, count):
    """Follows a feed from node to node, until so many notes were told; each is told once."""
    endpoints = arguments.endpoint.split(",")
    make_zone()
    # The field has to be there before it can be asked for.
    records.Modify(note(b"before", b"old", ZONE), metadata=metadata())
    query = subscriptions_pb2.QuerySubscription(
        record_type=b"Note", predicate=is_text(b"new"), options=1
    )
    subscription = subscriptions_pb2.Subscription(id=b"notes", query=query)
    request = subscriptions_pb2.ModifySubscriptionsRequest(
        database="PRIVATE", saves=[subscription]
    )
    answer = stubs.SubscriptionsStub(channel).Modify(request, metadata=metadata())
    assert not answer.saves[0].HasField("error"), answer
    told, token, index, breaks = [], b"", 0, 0
    end = time.monotonic() + 60
    while len(told) < int(count) and time.monotonic() < end:
        with connect(endpoints[index % len(endpoints)]) as line:
            request = feeds_pb2.FollowFeedRequest(token=token)
            fields = metadata(cumulus_device="phone")
            try:
                for page in stubs.FeedsStub(line).Follow(request, metadata=fields):
                    token = page.token
                    told += [news.record.id.name.decode() for news in page.notifications]
                    pathlib.Path(ready).write_text(str(len(told)))
                    time.sleep(0.1)  # so that something is not told yet when the node is killed
                    if len(told) >= int(count):
                        break
            except grpc.RpcError as error:
                assert error.code() == grpc.StatusCode.UNAVAILABLE, error
                breaks += 1
                time.sleep(0.05)
        index += 1
    assert len(set(told)) == len(told) == int(count), told
    print("told:", len(told), "breaks:", breaks)


def save(first, count):
    """Saves notes one by one."""
    for number in range(int(first), int(first) + int(count)):
        answer = records.Modify(note(b"note-%d" % number, b"new", ZONE), metadata=metadata())
        assert answer.saves[0].HasField("record"), answer


def pieces(size):
    """Bytes in chunks of a mebibyte, each unlike the others."""
    for offset in range(0, size, MIB):
        block = hashlib.sha256(b"%d of %d" % (offset, size)).digest() * (MIB // 32)
        yield block[: min(MIB, size - offset)]


def asset(size):
    """Uploads a file, names it in a record, and downloads it again."""
    size, files = int(size), stubs.AssetsStub(channel)
    digests = [(hashlib.sha256(piece).digest(), len(piece)) for piece in pieces(size)]
    listing = b"".join(digest + length.to_bytes(4, "big") for digest, length in digests)
    name = hashlib.sha256(b"cumulus asset" + listing).digest()
    prepare = assets_pb2.PrepareAssetsRequest(database="PRIVATE", lists=[listing])
    missing = files.Prepare(prepare, metadata=metadata()).assets[0].missing.chunks
    assert len(missing) == len(digests), len(missing)

    def parts():
        begin = assets_pb2.UploadChunksRequest(database="PRIVATE")
        yield services_pb2.UploadPart(begin=begin)
        for (digest, length), piece in zip(digests, pieces(size)):
            chunk = assets_pb2.Chunk(digest=digest, size=length, content=piece)
            yield services_pb2.UploadPart(chunks=assets_pb2.Chunks(chunks=[chunk]))

    start = time.monotonic()
    sent = files.Upload(parts(), metadata=metadata())
    up = time.monotonic() - start
    assert sent.chunks == len(digests), sent
    make_zone()
    request = note(b"photo", b"of the sea", ZONE)
    photo = records_pb2.Asset(digest=name, size=size)
    request.saves[0].record.fields.append(records_pb2.Field(name=b"photo", asset=photo))
    answer = records.Modify(request, metadata=metadata())
    assert answer.saves[0].HasField("record"), answer

    download = assets_pb2.DownloadAssetRequest(database="PRIVATE", asset=name)
    start, come, wanted = time.monotonic(), 0, pieces(size)
    for part in files.Download(download, metadata=metadata(cumulus_chunks="plain")):
        for chunk in part.chunks:
            assert not chunk.is_compressed and chunk.content == next(wanted)
            come += len(chunk.content)
    down = time.monotonic() - start
    assert come == size, come
    print(f"up {size / MIB / up:.0f} MiB/s, down {size / MIB / down:.0f} MiB/s")


def refusals():
    """Who is not let in, what is not there, what is no request: gRPC's code and ours."""
    query = queries_pb2.QueryRecordsRequest(database="PRIVATE", record_type=b"Note")
    expected = grpc.StatusCode
    for fields, code, number in [
        (metadata("wrong"), expected.UNAUTHENTICATED, 9),
        (metadata(""), expected.UNAUTHENTICATED, 9),
        ([("authorization", f"Bearer {arguments.token}")], expected.INVALID_ARGUMENT, 12),
        (metadata(cumulus_environment="nowhere"), expected.INVALID_ARGUMENT, 12),
        (metadata(cumulus_replicas="x"), expected.INVALID_ARGUMENT, 12),
        ([("cumulus-container", "iCloud.not.there")], expected.NOT_FOUND, 5),
    ]:
        found, status = refusal(lambda: records.Query(query, metadata=fields))
        assert (found, status.code) == (code, number), (fields, found, status)
        assert status.message, status
    operators = stubs.OperatorsStub(channel)
    ask = operator_pb2.NodeStatusRequest()
    found, status = refusal(lambda: operators.Status(ask, metadata=metadata()))
    assert (found, status.code) == (expected.UNAUTHENTICATED, 9), (found, status)
    fields = metadata(cumulus_role="client")
    found, status = refusal(lambda: operators.Status(ask, metadata=fields))
    assert (found, status.code) == (expected.PERMISSION_DENIED, 10), (found, status)
    raw = channel.unary_unary("/cumulus.v1.Records/Query")
    found, status = refusal(lambda: raw(b"\xff\xff\xff", metadata=metadata()))
    assert (found, status.reason) == (expected.INVALID_ARGUMENT, 1), (found, status)
    raw = channel.unary_unary("/cumulus.v1.Peers/Pull")
    assert refusal(lambda: raw(b"", metadata=metadata()))[0] == expected.UNIMPLEMENTED
    wrong = channel.stream_unary("/cumulus.v1.Assets/Upload")
    found, status = refusal(lambda: wrong(iter([b"\x12\x00"]), metadata=metadata()))
    assert (found, status.reason) == (expected.INVALID_ARGUMENT, 1), (found, status)
    wrong = channel.stream_unary("/cumulus.v1.Records/Query")
    found, status = refusal(lambda: wrong(iter([b"", b""]), metadata=metadata()))
    assert (found, status.reason) == (expected.INVALID_ARGUMENT, 1), (found, status)
    print("refused as it should be")


def deadline():
    """A stream that nothing ends, ends when its time is up; so does a call that waits."""
    make_zone()
    request = changes_pb2.FetchZoneChangesRequest(database="PRIVATE", zone=ZONE)
    start = time.monotonic()
    follow = stubs.ChangesStub(channel).FollowZone
    code, _ = refusal(lambda: list(follow(request, metadata=metadata(), timeout=0.5)))
    took = time.monotonic() - start
    assert code == grpc.StatusCode.DEADLINE_EXCEEDED, code
    assert 0.4 < took < 5, took
    # Two more nodes are asked for than there are: the change is made, and that is not known. The
    # node says so before the time is up.
    fields = metadata(cumulus_replicas="2")
    code, status = refusal(
        lambda: records.Modify(note(b"far", b"?", ZONE), metadata=fields, timeout=3)
    )
    assert code == grpc.StatusCode.DEADLINE_EXCEEDED, code
    assert status.reason == connection_pb2.NOT_REPLICATED, status
    print("in time")


def operate(token):
    """What an operator is told."""
    operators = stubs.OperatorsStub(channel)
    ask = operator_pb2.NodeStatusRequest()
    status = operators.Status(ask, metadata=[("authorization", f"Bearer {token}")])
    parts = operators.ListContainers(
        operator_pb2.ListContainersRequest(), metadata=[("authorization", f"Bearer {token}")]
    )
    names = [name.decode() for part in parts for name in part.containers]
    assert CONTAINER in names, names
    print("asked", status.ByteSize() > 0)


def push():
    """A device registers its address, lists it, and ends it."""
    pushes = stubs.PushesStub(channel)
    offers = pushes.Services(pushes_pb2.PushServicesRequest(), metadata=metadata()).offers
    assert [list(offer.topics) for offer in offers] == [[b"com.example.notes"]], offers
    request = pushes_pb2.RegisterPushRequest(
        service="APNS", token=b"ab" * 32, topic=b"com.example.notes", label=b"phone"
    )
    made = pushes.Register(request, metadata=metadata(cumulus_device="python"))
    assert made.changed and len(made.id) == 16, made
    again = pushes.Register(request, metadata=metadata(cumulus_device="python"))
    assert again.id == made.id and not again.changed, again

    def listed():
        parts = pushes.List(pushes_pb2.ListPushesRequest(), metadata=metadata())
        return [push for part in parts for push in part.pushes]

    assert [(push.id, push.label) for push in listed()] == [(made.id, b"phone")], listed()
    request.topic = b"com.example.other"
    code, status = refusal(lambda: pushes.Register(request, metadata=metadata()))
    assert code == grpc.StatusCode.INVALID_ARGUMENT, (code, status)
    ended = pushes.End(pushes_pb2.EndPushesRequest(id=made.id), metadata=metadata())
    assert ended.count == 1 and not listed(), ended
    print("registered, listed and ended")


def reflect():
    """What the services are is told, by both versions of the service, and as proto/ says."""
    from google.protobuf import descriptor_pb2, descriptor_pool
    from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
    from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
        ProtoReflectionDescriptorDatabase as Database,
    )

    pool = descriptor_pool.DescriptorPool(Database(channel))
    method = pool.FindServiceByName("cumulus.v1.Records").FindMethodByName("Query")
    assert method.input_type.full_name == "cumulus.v1.QueryRecordsRequest", method
    assert pool.FindMessageTypeByName("cumulus.v1.Record").fields_by_name["change_tag"]
    check = pool.FindServiceByName("grpc.health.v1.Health").FindMethodByName("Check")
    assert check.output_type.fields_by_name["status"].number == 1, check
    names = Database(channel).get_services()
    assert "cumulus.v1.Assets" in names and "grpc.health.v1.Health" in names, names
    path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
    request = reflection_pb2.ServerReflectionRequest
    newer = channel.stream_stream(
        path,
        request_serializer=request.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )
    asked = [request(file_containing_symbol="cumulus.v1.Zones.List"), request(file_by_filename="?")]
    found, missing = list(newer(iter(asked)))
    files = found.file_descriptor_response.file_descriptor_proto
    last = descriptor_pb2.FileDescriptorProto.FromString(files[-1])
    assert last.name == "services.proto", last.name
    assert missing.error_response.error_code == 5, missing
    print("services:", len(names))


def health():
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    service = health_pb2_grpc.HealthStub(channel)
    for name in ["", "cumulus.v1.Records"]:
        status = service.Check(health_pb2.HealthCheckRequest(service=name)).status
        assert status == health_pb2.HealthCheckResponse.SERVING, status
    ask = health_pb2.HealthCheckRequest(service="nobody")
    assert refusal(lambda: service.Check(ask))[0] == grpc.StatusCode.NOT_FOUND
    watch = service.Watch(health_pb2.HealthCheckRequest())
    assert next(watch).status == health_pb2.HealthCheckResponse.SERVING
    watch.cancel()
    print("healthy")


def damaged(dice, data):
    """The bytes with one to three bits, bytes or stretches changed."""
    data = bytearray(data)
    for _ in range(dice.randint(1, 3)):
        place = dice.randrange(len(data) + 1)
        what = dice.randrange(5)
        if what == 0 and place < len(data):
            data[place] ^= 1 << dice.randrange(8)
        elif what == 1 and place < len(data):
            data[place] = dice.choice([0, 1, 0x7F, 0x80, 0xFF])
        elif what == 2:
            data[place:place] = dice.randbytes(dice.randint(1, 8))
        elif what == 3:
            del data[place : place + dice.randint(1, 8)]
        else:
            data[place:place] = data[: dice.randrange(64)]
    return bytes(data)


def goldens():
    """The path of each method, and the golden examples of its request."""
    stated = re.findall(
        r"^service (\w+)|^  rpc (\w+)\((stream )?(\w+)\) returns \((stream )?",
        (PROTO / "services.proto").read_text(), re.M,
    )
    service, found = "", []
    for name, method, is_upload, request, is_stream in stated:
        service = name or service
        for path in sorted((PROTO / "golden").glob(f"{request}*.hex")) if method else []:
            if path.stem.split("-")[0] == request:
                lines = [line for line in path.read_text().splitlines() if "#" not in line]
                yield f"/cumulus.v1.{service}/{method}", bytes.fromhex("".join(lines)), is_stream


def frame(kind, flags, stream, payload):
    head = len(payload).to_bytes(3, "big") + bytes([kind, flags])
    return head + stream.to_bytes(4, "big") + payload


def http2(path, message):
    """A connection with one call, as its first bytes."""
    fields = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "x")]
    fields += [("content-type", "application/grpc"), ("te", "trailers")] + metadata()
    block = b""
    for name, value in fields:  # literal, never indexed, without Huffman's code
        for text in (name.encode(), value.encode()):
            first = b"\x10" if text == name.encode() else b""
            length = len(text)
            prefix = bytes([length]) if length < 127 else bytes([127, length - 127])
            block += first + prefix + text
    data = b"\0" + len(message).to_bytes(4, "big") + message
    return (
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        + frame(4, 0, 0, b"") + frame(1, 4, 1, block) + frame(0, 1, 1, data)
    )


def attack(seed, count):
    """Sends damage of three kinds; each call ends, and none says that the node is at fault."""
    dice, verdicts = random.Random(int(seed)), collections.Counter()
    requests = list(goldens())
    assert len(requests) > 60, len(requests)
    host, port = arguments.endpoint.rsplit(":", 1)
    for _ in range(int(count)):
        path, request, is_stream = dice.choice(requests)
        kind = dice.randrange(10)
        if kind == 0:
            with socket.create_connection((host, int(port)), 10) as raw:
                whole = http2(path, request)
                raw.sendall(damaged(dice, whole) if dice.random() < 0.9 else whole)
                raw.settimeout(0.02)
                try:
                    while raw.recv(65536):
                        pass
                    verdicts["http2 closed"] += 1
                except (TimeoutError, ConnectionError):
                    verdicts["http2 open"] += 1
            continue
        fields = metadata(cumulus_role="client")
        if kind == 1:
            name, value = dice.choice(
                [("cumulus-causal-bin", dice.randbytes(20)), ("cumulus-replicas", "99999"),
                 ("cumulus-request-id-bin", dice.randbytes(dice.randrange(20))),
                 ("cumulus-container", "x" * dice.randrange(300)), ("traceparent", "00-zz"),
                 ("cumulus-device", "d" * dice.randrange(100)), ("cumulus-role", "operator"),
                 ("authorization", "Bearer " + "a" * dice.randrange(2000))]
            )
            fields = [field for field in fields if field[0] != name] + [(name, value)]
        else:
            request = damaged(dice, request)
        try:
            if is_stream:
                call = channel.unary_stream(path)(request, metadata=fields, timeout=0.3)
            else:
                call = [channel.unary_unary(path)(request, metadata=fields, timeout=5)]
            for _ in call:
                pass
            verdicts["answered"] += 1
        except grpc.RpcError as error:
            verdicts[error.code().name] += 1
            assert error.code() not in (
                grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.UNAVAILABLE
            ), (path, request.hex(), error)
            is_late = error.code() == grpc.StatusCode.DEADLINE_EXCEEDED
            assert is_stream or not is_late, (path, request.hex(), error)
    assert verdicts["answered"] > 0 and verdicts["INVALID_ARGUMENT"] > 0, verdicts
    print("verdicts:", dict(verdicts))


globals()[arguments.step](*arguments.rest)
