// Segments of a journal in memory, for tests of what reads them.

import CumulusModel
import CumulusStorage

@testable import RocksDBStorage

/// A segment with some records, as the journal writes it.
struct JournalSample {
    private(set) var bytes: Bytes
    let head: JournalHead
    /// Where each record begins, and where the last one ends.
    private(set) var places = [JournalHead.room]
    private(set) var checksum: UInt64

    /// - Parameter old: What stands in the segment before.
    init(_ batches: [EngineBatch], head: JournalHead, over old: Bytes) {
        self.head = head
        bytes = old
        checksum = head.before
        bytes.replaceSubrange(..<JournalHead.room, with: head.bytes)
        for (index, batch) in batches.enumerated() {
            let place = places[index]
            let record = seal(batch, sequence: head.first + UInt64(index), salt: head.salt)
            bytes.replaceSubrange(place..<place + record.count, with: record)
            places.append(place + record.count)
        }
    }

    private mutating func seal(_ batch: EngineBatch, sequence: UInt64, salt: UInt64) -> Bytes {
        let record = Self.record(batch, sequence: sequence, before: checksum, salt: salt)
        checksum = record.checksum
        return record.bytes
    }

    /// One record.
    static func record(
        _ batch: EngineBatch,
        sequence: UInt64,
        before: UInt64,
        salt: UInt64
    ) -> (bytes: Bytes, checksum: UInt64) {
        var writer = CanonicalWriter()
        writer.raw(repeatElement(0, count: JournalRecord.headSize))
        JournalPayload.write(batch, to: &writer)
        let checksum = JournalRecord.seal(
            &writer.bytes,
            sequence: sequence,
            before: before,
            salt: salt
        )
        return (writer.bytes, checksum)
    }

    /// A batch of one row with so many bytes.
    static func batch(_ number: UInt8, bytes count: Int = 60) -> EngineBatch {
        .writing(.records, [([number], Bytes(repeating: number, count: count))])
    }

    /// A segment of 16 KB with records 101 to 105.
    static func sample(over old: Bytes = older.bytes) -> JournalSample {
        JournalSample(
            (1...5).map { batch($0) },
            head: JournalHead(salt: 77, first: 101, before: 9),
            over: old
        )
    }

    /// An earlier use of the same file, with records of the same size.
    static let older = JournalSample(
        (101...110).map { batch($0) },
        head: JournalHead(salt: 78, first: 51, before: 8),
        over: Bytes(repeating: 0, count: 16_384)
    )

    func scan(_ bytes: Bytes? = nil, successor: JournalHead? = nil) -> JournalScan {
        (bytes ?? self.bytes).withUnsafeBytes {
            JournalScan($0, head: head, successor: successor)
        }
    }
}
