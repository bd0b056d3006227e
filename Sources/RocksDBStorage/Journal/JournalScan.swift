// The records of one segment, and whether they are all that was acknowledged: without I/O.
//
// Run by `JournalReplay` over each segment that tables may not hold. The writer flushes each record
// before it writes the next one. So a whole record proves that all records before it were durable.
// One that is missing in front of it is damage, and one that is missing behind the last is the torn
// end of a batch that nobody was told of. What stood in the segment before can't be mistaken for a
// later record: its checksums have another salt.

import CumulusModel

struct JournalScan {
    enum End: Equatable {
        /// Nothing stands behind the last record.
        case whole
        /// The beginning of a record stands behind it.
        case torn
        /// A record was lost that had been acknowledged.
        case damaged
    }

    let head: JournalHead
    private(set) var records: [JournalRecord] = []
    private(set) var end = End.whole

    /// The sequence number that has to follow.
    var next: UInt64 { head.first + UInt64(records.count) }
    /// The checksum of the last record.
    var checksum: UInt64 { records.last?.checksum ?? head.before }
    /// Where the first record stands, or should stand, that isn't whole.
    var place: Int { records.last?.end ?? JournalHead.room }

    /// - Parameter successor: The head of the next segment; it was written once the last record of
    ///   this one was durable.
    init(_ segment: UnsafeRawBufferPointer, head: JournalHead, successor: JournalHead?) {
        self.head = head
        while let record = JournalRecord(at: place, in: segment, salt: head.salt),
            record.sequence == next, record.before == checksum
        {
            records.append(record)
        }
        if let successor {
            let isWhole = successor.first == next && successor.before == checksum
            end = isWhole ? .whole : .damaged
        } else if goesOn(segment) {
            end = .damaged
        } else if place <= segment.count - JournalRecord.headSize,
            JournalRecord.sequence(at: place, in: segment) == next
        {
            end = .torn
        }
    }

    /// Whether a later record stands behind the first one that isn't whole.
    ///
    /// The length of that one can't be trusted, so each place is looked at where one may begin.
    private func goesOn(_ segment: UnsafeRawBufferPointer) -> Bool {
        let places = stride(
            from: place + JournalRecord.alignment,
            through: segment.count - JournalRecord.headSize,
            by: JournalRecord.alignment
        )
        let later = 1...UInt64(segment.count)
        return places.contains { place in
            later.contains(JournalRecord.sequence(at: place, in: segment) &- next)
                && JournalRecord(at: place, in: segment, salt: head.salt) != nil
        }
    }
}
