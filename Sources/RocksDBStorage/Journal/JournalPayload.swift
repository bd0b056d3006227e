// A batch as the bytes of a record.
//
// Written by `Journal` for each batch, read when a start replays it. hot: once per row.
//
//     ranges   their number, varint; of each the family 1 B, its start and its end
//     rows     up to the end of the payload; of each 2 × the family + 1, or + 0 to delete  1 B,
//              the key, and the value unless it is deleted
//
// Keys and values stand behind their lengths, varints.

import CumulusModel
import CumulusStorage

enum JournalPayload {
    /// Appends a batch.
    static func write(_ batch: EngineBatch, to writer: inout CanonicalWriter) {
        writer.varint(UInt64(batch.deletedRanges.count))
        for (family, range) in batch.deletedRanges {
            writer.bytes.append(family.rawValue)
            writer.delimited(range.start)
            writer.delimited(range.end)
        }
        for row in batch.writes {
            writer.bytes.append(row.family.rawValue << 1 | (row.value == nil ? 0 : 1))
            writer.delimited(row.key)
            if let value = row.value { writer.delimited(value) }
        }
    }

    /// The batch in a range of bytes; throws where another release wrote what this one can't read.
    static func read(_ bytes: Bytes) throws(MalformedBytes) -> EngineBatch {
        var reader = CanonicalReader(bytes)
        var batch = EngineBatch()
        for _ in 0..<(try reader.count(limit: bytes.count)) {
            let family = try family(try reader.byte())
            let start = try reader.delimitedBytes()
            let end = try reader.delimitedBytes()
            batch.deletedRanges.append((family, KeyRange(start: start, end: end)))
        }
        while !reader.isAtEnd {
            let kind = try reader.byte()
            let family = try family(kind >> 1)
            let key = try reader.delimitedBytes()
            let value = kind & 1 == 0 ? nil : try reader.delimitedBytes()
            batch.writes.append(EngineBatch.Write(family: family, key: key, value: value))
        }
        return batch
    }

    private static func family(_ number: UInt8) throws(MalformedBytes) -> Family {
        guard let family = Family(rawValue: number) else {
            throw MalformedBytes("there is no family \(number)")
        }
        return family
    }
}
