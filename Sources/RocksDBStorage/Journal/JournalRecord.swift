// A record of the journal: one batch, with a head that ties it to the record before.
//
// Sealed by `Journal` for each batch, and read by `JournalScan`. hot: once per batch.
//
//     checksum   XXH3 of all that follows but the padding, seeded with the segment's salt 8 B
//     length     bytes of the payload                                                     8 B
//     sequence   1 more than that of the record before                                    8 B
//     before     checksum of the record before                                            8 B
//     payload    the batch, see `JournalPayload`
//     padding    zeros, up to a multiple of 16 bytes
//
// All numbers are big-endian.

import CXXHash
import CumulusModel

struct JournalRecord: Equatable {
    let sequence: UInt64
    let before: UInt64
    let checksum: UInt64
    /// The bytes of its segment that are its payload.
    let payload: Range<Int>

    static let headSize = 32
    /// Records begin at multiples of it.
    static let alignment = 16
    private static let checksumSize = 8

    /// Where the next record begins.
    var end: Int { Self.aligned(payload.upperBound) }

    static func aligned(_ place: Int) -> Int { (place + alignment - 1) / alignment * alignment }

    /// nil unless all of the record is there and its checksum is right.
    init?(at place: Int, in segment: UnsafeRawBufferPointer, salt: UInt64) {
        guard place <= segment.count - Self.headSize else { return nil }
        let start = place + Self.headSize
        let length = Self.number(in: segment, at: place + 8)
        guard length <= UInt64(segment.count - start) else { return nil }
        payload = start..<start + Int(length)
        sequence = Self.sequence(at: place, in: segment)
        before = Self.number(in: segment, at: place + 24)
        checksum = Self.number(in: segment, at: place)
        let covered = place + Self.checksumSize..<payload.upperBound
        guard Self.checksum(of: .init(rebasing: segment[covered]), salt) == checksum else {
            return nil
        }
    }

    /// What stands in the place of a record's sequence number, whether or not a record is there.
    ///
    /// A whole head must fit behind `place`.
    static func sequence(at place: Int, in segment: UnsafeRawBufferPointer) -> UInt64 {
        number(in: segment, at: place + 16)
    }

    /// Makes a record of a payload that stands behind `headSize` bytes; returns its checksum.
    static func seal(
        _ bytes: inout Bytes,
        sequence: UInt64,
        before: UInt64,
        salt: UInt64
    ) -> UInt64 {
        let checksum = bytes.withUnsafeMutableBytes { record in
            put(UInt64(record.count - headSize), in: record, at: 8)
            put(sequence, in: record, at: 16)
            put(before, in: record, at: 24)
            let covered = UnsafeRawBufferPointer(rebasing: record[checksumSize...])
            let sum = Self.checksum(of: covered, salt)
            put(sum, in: record, at: 0)
            return sum
        }
        bytes.append(contentsOf: repeatElement(0, count: aligned(bytes.count) - bytes.count))
        return checksum
    }

    private static func checksum(of bytes: UnsafeRawBufferPointer, _ salt: UInt64) -> UInt64 {
        XXH3_64bits_withSeed(bytes.baseAddress, bytes.count, salt)
    }

    private static func number(in bytes: UnsafeRawBufferPointer, at place: Int) -> UInt64 {
        UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
    }

    private static func put(
        _ number: UInt64,
        in bytes: UnsafeMutableRawBufferPointer,
        at place: Int
    ) {
        bytes.storeBytes(of: number.bigEndian, toByteOffset: place, as: UInt64.self)
    }
}
