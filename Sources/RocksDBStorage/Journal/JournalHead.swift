// The head of a segment: which records stand in it, and the salt of their checksums.
//
// Written by `JournalFile` when a segment is begun, and read by `JournalReplay`. It has a page of
// its own, so that no later write touches it.
//
//     mark       "cumulus1"                                                              8 B
//     salt       drawn anew whenever the segment is begun                                8 B
//     first      sequence number of the first record                                     8 B
//     before     checksum of the record before the first one                             8 B
//     checksum   XXH3 of the 32 bytes before                                             8 B
//
// All numbers are big-endian.

import CXXHash
import CumulusModel

struct JournalHead: Equatable {
    /// The seed of all checksums in the segment: what stood there before, or in a stored value,
    /// never passes for a record.
    var salt: UInt64
    var first: UInt64
    var before: UInt64

    /// Where the first record begins.
    static let room = 4_096
    private static let size = 40
    private static let mark = Bytes("cumulus1".utf8)

    init(salt: UInt64, first: UInt64, before: UInt64) {
        self.salt = salt
        self.first = first
        self.before = before
    }

    /// nil unless the head is whole: the segment was made and never begun.
    init?(_ segment: some Collection<UInt8>) {
        let bytes = Bytes(segment.prefix(Self.size))
        var reader = CanonicalReader(bytes, min(Self.mark.count, bytes.count)..<bytes.count)
        guard
            let salt = try? reader.bigEndian(),
            let first = try? reader.bigEndian(),
            let before = try? reader.bigEndian()
        else { return nil }
        self.init(salt: salt, first: first, before: before)
        guard self.bytes.starts(with: bytes), bytes.count == Self.size else { return nil }
    }

    /// The whole page.
    var bytes: Bytes {
        var writer = CanonicalWriter(reserving: Self.room)
        writer.raw(Self.mark)
        writer.bigEndian(salt)
        writer.bigEndian(first)
        writer.bigEndian(before)
        let checksum = writer.bytes.withUnsafeBytes { XXH3_64bits($0.baseAddress, $0.count) }
        writer.bigEndian(checksum)
        writer.raw(repeatElement(0, count: Self.room - Self.size))
        return writer.bytes
    }
}
