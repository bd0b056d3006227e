"""Cuts and names the sample assets of proto/golden/chunks.txt, from the words of proto/assets.md.

    python3 chunks.py GOLDEN     compares; says what differs
    python3 chunks.py --print    prints the file
"""

import hashlib
import sys

SMALLEST, AVERAGE, LARGEST = 64 << 10, 256 << 10, 1 << 20
GEAR = [
    int.from_bytes(hashlib.sha256(b"cumulus gear" + bytes([byte])).digest()[:8], "big")
    for byte in range(256)
]


def cut(data, start):
    """The end of the chunk that begins at `start`."""
    end = min(len(data), start + LARGEST)
    fingerprint = 0
    for position in range(start + SMALLEST, end):
        fingerprint = (fingerprint << 1) + GEAR[data[position]] & 0xFFFFFFFFFFFFFFFF
        zeros = 20 if position < start + AVERAGE else 16
        if fingerprint >> (64 - zeros) == 0:
            return position + 1
    return end


def chunks(data):
    start = 0
    while start < len(data):
        end = cut(data, start)
        yield hashlib.sha256(data[start:end]).digest(), end - start
        start = end


def stream(length):
    """Bytes that are random enough, and the same everywhere."""
    blocks = (
        hashlib.sha256(b"cumulus sample" + number.to_bytes(8, "big")).digest()
        for number in range(length // 32 + 1)
    )
    return b"".join(blocks)[:length]


def samples():
    yield "empty", b""
    yield "one byte", b"a"
    yield "smallest", stream(SMALLEST)
    yield "smallest and one", stream(SMALLEST + 1)
    yield "zeros", bytes(2_500_000)
    yield "stream", stream(4_000_000)
    whole = stream(4_000_000)
    yield "stream with a byte inserted", whole[:1_000] + b"!" + whole[1_000:]
    yield "stream twice", stream(700_000) * 2


def lines():
    for name, data in samples():
        listed = list(chunks(data))
        joined = b"".join(digest + size.to_bytes(4, "big") for digest, size in listed)
        asset = hashlib.sha256(b"cumulus asset" + joined).hexdigest()
        yield f"asset {asset} {len(data)} {name}"
        for digest, size in listed:
            yield f"chunk {digest.hex()} {size}"


def main():
    made = "\n".join(lines()) + "\n"
    if sys.argv[1] == "--print":
        return sys.stdout.write(made)
    with open(sys.argv[1]) as file:
        kept = "".join(line for line in file if not line.startswith("#"))
    if made != kept:
        sys.exit("the golden file and chunks.py differ: " + sys.argv[1])


main()
