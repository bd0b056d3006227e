// Segments that were cut, torn or damaged at any byte: what was acknowledged is read or missed, and
// what was not is dropped.

import CumulusModel
import CumulusStorage
import Testing

@testable import RocksDBStorage

@Suite struct JournalScanTests {
    private let sample = JournalSample.sample()

    @Test func aWholeSegmentHasAllRecords() throws {
        let scan = sample.scan()
        #expect(scan.end == .whole)
        #expect(scan.records.map(\.sequence) == [101, 102, 103, 104, 105])
        #expect(scan.next == 106)
        #expect(scan.checksum == sample.checksum)
        for (index, record) in scan.records.enumerated() {
            let batch = try JournalPayload.read(Bytes(sample.bytes[record.payload]))
            let wanted = JournalSample.batch(UInt8(index + 1))
            #expect(batch.writes.map(\.key) == wanted.writes.map(\.key))
            #expect(batch.writes.map(\.value) == wanted.writes.map(\.value))
        }
    }

    @Test func aSegmentThatWasJustBegunIsEmpty() {
        let head = JournalHead(salt: 79, first: 201, before: 9)
        let scan = JournalSample([], head: head, over: sample.bytes).scan()
        #expect(scan.end == .whole)
        #expect(scan.records.isEmpty)
        #expect(scan.next == 201)
        #expect(scan.checksum == 9)
    }

    /// Only the first bytes of the last record are on the disk; behind them are zeros, or what
    /// stood there before.
    @Test(arguments: [true, false])
    func aCutRecordIsTheTornEnd(overZeros: Bool) {
        let zeros = Bytes(repeating: 0, count: 16_384)
        let before = overZeros ? zeros : JournalSample.older.bytes
        let sample = JournalSample.sample(over: before)
        let (start, end) = (sample.places[4], sample.places[5])
        let padding = sample.scan().records[4].payload.upperBound
        for cut in start..<end {
            var bytes = sample.bytes
            bytes.replaceSubrange(cut..<end, with: before[cut..<end])
            let scan = sample.scan(bytes)
            let isWhole = cut >= padding
            #expect(scan.records.count == (isWhole ? 5 : 4), "cut at \(cut - start)")
            #expect(scan.end != .damaged, "cut at \(cut - start)")
            let hasSequence = cut >= start + 24
            #expect((scan.end == .torn) == (hasSequence && !isWhole), "cut at \(cut - start)")
        }
    }

    /// Each byte of all records but the last: what follows proves that it had been acknowledged.
    @Test func aFlippedByteBeforeARecordIsDamage() {
        for index in 0..<4 {
            let payload = sample.scan().records[index].payload
            for place in sample.places[index]..<payload.upperBound {
                var bytes = sample.bytes
                bytes[place] ^= 0x40
                let scan = sample.scan(bytes)
                #expect(scan.end == .damaged, "byte \(place)")
                #expect(scan.place == sample.places[index], "byte \(place)")
            }
        }
    }

    /// It can't be told from one that was cut: the file `journal.end` knows more.
    @Test func aFlippedByteInTheLastRecordDropsIt() {
        let payload = sample.scan().records[4].payload
        for place in sample.places[4]..<payload.upperBound {
            var bytes = sample.bytes
            bytes[place] ^= 0x40
            let scan = sample.scan(bytes)
            #expect(scan.records.count == 4, "byte \(place)")
            #expect(scan.end != .damaged, "byte \(place)")
        }
    }

    /// A disk may keep the last block of a flush and lose the one before.
    @Test func aLostBlockOfTheLastRecordIsATornEnd() {
        let sample = JournalSample(
            [JournalSample.batch(1), JournalSample.batch(2, bytes: 10_000)],
            head: JournalHead(salt: 1, first: 1, before: 0),
            over: Bytes(repeating: 0, count: 32_768)
        )
        var bytes = sample.bytes
        bytes.replaceSubrange(8_192..<12_288, with: repeatElement(0, count: 4_096))
        let scan = sample.scan(bytes)
        #expect(scan.records.count == 1)
        #expect(scan.end == .torn)
    }

    /// The next segment is begun once all records are on the disk.
    @Test func aSegmentWithASuccessorIsWholeOrDamaged() {
        let next = JournalHead(salt: 80, first: 106, before: sample.checksum)
        #expect(sample.scan(successor: next).end == .whole)
        var bytes = sample.bytes
        bytes[sample.places[4]] ^= 1
        #expect(sample.scan(bytes, successor: next).end == .damaged)
        for other in [
            JournalHead(salt: 80, first: 107, before: sample.checksum),
            JournalHead(salt: 80, first: 106, before: 1),
        ] {
            #expect(sample.scan(successor: other).end == .damaged)
        }
    }

    /// A row may hold the bytes of a record, but who sends it doesn't know the salt.
    @Test(arguments: [(76, JournalScan.End.torn), (77, .damaged)] as [(UInt64, JournalScan.End)])
    func aRecordWithinARowProvesNothing(salt: UInt64, end: JournalScan.End) {
        let batch = JournalSample.batch(9)
        let forged = JournalSample.record(batch, sequence: 2, before: 0, salt: salt).bytes
        var value = Bytes(repeating: 0, count: 4_096)
        // At each of the places where a record may begin, whatever stands before it in the row.
        for shift in 0..<JournalRecord.alignment {
            let place = shift * 161
            value.replaceSubrange(place..<place + forged.count, with: forged)
        }
        let sample = JournalSample(
            [.writing(.records, [([1], value)])],
            head: JournalHead(salt: 77, first: 1, before: 0),
            over: Bytes(repeating: 0, count: 16_384)
        )
        var bytes = sample.bytes
        bytes[JournalHead.room] ^= 1
        let scan = sample.scan(bytes)
        #expect(scan.records.isEmpty)
        #expect(scan.end == end)
    }
}
