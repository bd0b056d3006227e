// One file in RocksDB's log format, read record by record: is it whole, and if not, does it go on?
//
// Called by `StoreInspection` for the list of tables (MANIFEST), which has this format, and by
// `TakenOverLogs` for the logs of earlier releases, before RocksDB opens them.
//
//     file    blocks of 32 KB
//     block   records, then fewer than 7 bytes of padding
//     record  checksum 4 B, length of the payload 2 B, kind 1 B (all little-endian), payload
//     kind    1 whole · 2 first · 3 middle · 4 last piece of an entry
//     entry   in logs: a batch, which starts with its sequence number (8 B) and its row count (4 B)

import CumulusSystem

struct LogScan {
    /// The place of the first incomplete record.
    private(set) var wound: UInt64?
    /// An entry begins after the wound, so what is wounded had been acknowledged.
    ///
    /// An entry is written only when the one before it was flushed. Later pieces of the same entry
    /// prove nothing: a disk may write the blocks of one flush in any order.
    private(set) var goesOn = false
    /// The sequence number of the first entry.
    private(set) var first: UInt64?
    /// The sequence number that has to follow the last whole entry before the wound.
    private(set) var next: UInt64?

    /// The start of the entry whose last piece wasn't seen yet, and its first bytes.
    private var open: (start: UInt64, head: [UInt8])?

    private static let blockSize = 32 << 10
    private static let headSize = 7
    private static let entryHeadSize = 12

    /// The logs among these files, oldest first.
    static func logs(among files: [String]) -> [(number: UInt64, file: String)] {
        files
            .filter { $0.hasSuffix(".log") }
            .compactMap { file in UInt64(file.dropLast(4)).map { (number: $0, file: file) } }
            .sorted { $0.number < $1.number }
    }

    init(_ file: Data) {
        file.withUnsafeBytes { file in
            for start in stride(from: 0, to: file.count, by: Self.blockSize) where !goesOn {
                let end = min(start + Self.blockSize, file.count)
                scan(UnsafeRawBufferPointer(rebasing: file[start..<end]), at: UInt64(start))
            }
        }
        if let open { hurt(at: open.start) }
    }

    private mutating func scan(_ block: UnsafeRawBufferPointer, at start: UInt64) {
        var position = 0
        while position + Self.headSize <= block.count, !goesOn {
            let rest = UnsafeRawBufferPointer(rebasing: block[position...])
            if let (kind, payload) = Self.record(rest) {
                take(kind, payload, at: start + UInt64(position))
                position += Self.headSize + payload.count
            } else {
                // Its length can't be trusted either: look for a record at each byte that follows.
                hurt(at: start + UInt64(position))
                position += 1
            }
        }
        // Less than a head is padding at the end of a block, and a cut head at the end of the file.
        if position < block.count, block.count < Self.blockSize {
            hurt(at: start + UInt64(position))
        }
    }

    /// The record at the beginning of `bytes`, nil unless all of it is there and its checksum is
    /// right.
    private static func record(
        _ bytes: UnsafeRawBufferPointer
    ) -> (kind: Kind, payload: UnsafeRawBufferPointer)? {
        let end = headSize + Int(bytes.number(UInt16.self, at: 4))
        guard
            let kind = Kind(rawValue: bytes[6]),
            end <= bytes.count,
            CRC32C.masked(.init(rebasing: bytes[6..<end])) == bytes.number(UInt32.self, at: 0)
        else { return nil }
        return (kind, UnsafeRawBufferPointer(rebasing: bytes[headSize..<end]))
    }

    private enum Kind: UInt8 {
        case whole = 1
        case first = 2
        case middle = 3
        case last = 4
    }

    private mutating func take(_ kind: Kind, _ payload: UnsafeRawBufferPointer, at place: UInt64) {
        switch (kind, open) {
        case (.whole, nil), (.first, nil):
            guard wound == nil else {
                goesOn = true
                return
            }
            open = (place, [])
        case (.middle, .some), (.last, .some):
            break
        case (.whole, .some), (.first, .some):
            // The last piece of the entry before is missing.
            hurt(at: place)
            goesOn = true
            return
        case (.middle, nil), (.last, nil):
            hurt(at: place)
            return
        }
        open?.head += payload.prefix(Self.entryHeadSize)
        if kind == .whole || kind == .last { close() }
    }

    private mutating func close() {
        if let head = open?.head, head.count >= Self.entryHeadSize {
            head.withUnsafeBytes { head in
                let sequence = head.number(UInt64.self, at: 0)
                first = first ?? sequence
                next = sequence &+ UInt64(head.number(UInt32.self, at: 8))
            }
        }
        open = nil
    }

    /// An entry that lacks pieces is damaged from its first one on.
    private mutating func hurt(at place: UInt64) {
        wound = wound ?? open?.start ?? place
        open = nil
    }
}

extension UnsafeRawBufferPointer {
    /// The little-endian number at `offset`.
    fileprivate func number<Number: FixedWidthInteger>(
        _ type: Number.Type,
        at offset: Int
    ) -> Number {
        Number(littleEndian: loadUnaligned(fromByteOffset: offset, as: type))
    }
}
