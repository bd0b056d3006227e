// The journal to the byte, and which of its segments a start reads.

import CumulusModel
import CumulusStorage
import Testing

@testable import RocksDBStorage

@Suite struct JournalFormatTests {
    private func bytes(of hex: String) -> Bytes {
        hex.split(separator: " ").flatMap { word in
            stride(from: 0, to: word.count, by: 2).compactMap {
                UInt8(word.dropFirst($0).prefix(2), radix: 16)
            }
        }
    }

    private let head = JournalHead(salt: 77, first: 5, before: 0x0102_0304_0506_0708)

    @Test func aHeadHasThisForm() {
        let wanted = bytes(
            of: """
                63756d756c757331 000000000000004d 0000000000000005 0102030405060708 \
                e1f1637ca3c40a11
                """
        )
        #expect(Bytes(head.bytes.prefix(40)) == wanted)
        #expect(head.bytes.count == JournalHead.room)
        #expect(JournalHead(head.bytes) == head)
        for place in 0..<40 {
            var changed = head.bytes
            changed[place] ^= 1
            #expect(JournalHead(changed) == nil, "byte \(place)")
            #expect(JournalHead(head.bytes.prefix(place)) == nil, "\(place) bytes")
        }
    }

    @Test func aRecordHasThisForm() throws {
        var batch = EngineBatch()
        batch.deletedRanges = [(.log, KeyRange(start: [1], end: [9]))]
        batch.writes = [
            EngineBatch.Write(family: .records, key: [7], value: [8, 9]),
            EngineBatch.Write(family: .meta, key: [4], value: nil),
        ]
        let record = JournalSample.record(batch, sequence: 5, before: head.before, salt: 77)
        let wanted = bytes(
            of: """
                31a483148769d148 000000000000000f 0000000000000005 0102030405060708 \
                010301010109 030107020809 000104 00
                """
        )
        #expect(record.bytes == wanted)
        #expect(record.checksum == 0x31a4_8314_8769_d148)
        let read = try JournalPayload.read(Bytes(record.bytes[32..<47]))
        #expect(read.deletedRanges.map(\.family) == [.log])
        #expect(read.deletedRanges.map(\.range) == batch.deletedRanges.map(\.range))
        #expect(read.writes.map(\.family) == [.records, .meta])
        #expect(read.writes.map(\.key) == [[7], [4]])
        #expect(read.writes.map(\.value) == [[8, 9], nil])
    }

    /// A release that can't read a batch must not skip it.
    @Test(arguments: [[], [1], [0, 8], [0, 3, 1], [0, 3, 1, 7, 2, 8]] as [Bytes])
    func whatIsNoBatchIsRefused(payload: Bytes) {
        #expect(throws: MalformedBytes.self) { try JournalPayload.read(payload) }
    }

    // MARK: Segments

    private func chain(_ firsts: [(String, UInt64?)], flushed: UInt64) throws -> JournalChain {
        try JournalChain(
            firsts.map { name, first in
                (name, first.map { JournalHead(salt: 1, first: $0, before: 0) })
            },
            flushed: flushed
        )
    }

    @Test(arguments: [(0, "a b c"), (9, "a b c"), (10, "b c"), (19, "b c"), (20, "c"), (99, "c")])
    func segmentsBeforeTheTablesEndAreSpare(flushed: UInt64, live: String) throws {
        let files: [(String, UInt64?)] = [("c", 21), ("d", nil), ("a", 1), ("b", 11)]
        let chain = try chain(files, flushed: flushed)
        #expect(chain.live.map(\.file).joined(separator: " ") == live)
        #expect(Set(chain.spare + chain.live.map(\.file)) == ["a", "b", "c", "d"])
        #expect(chain.spare.count + chain.live.count == 4)
    }

    @Test func recordsThatStandNowhereAreAGap() throws {
        #expect(throws: JournalChain.Gap(file: "b")) {
            try chain([("b", 11), ("c", 21)], flushed: 9)
        }
        #expect(try chain([], flushed: 9).live.isEmpty)
        #expect(try chain([("d", nil)], flushed: 9).spare == ["d"])
    }
}
