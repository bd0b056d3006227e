// The engine and its journal: what a crash leaves is there, and what is lost is noticed.
//
// The copy of an open store is what a killed process leaves.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Foundation
import Synchronization
import Testing

@testable import RocksDBStorage

@Suite struct JournalEngineTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func commit(_ rows: Range<Int>, to engine: RocksDBEngine) throws {
        for number in rows {
            let value = Bytes(repeating: UInt8(number % 251), count: 200)
            try engine.commit(.writing(.records, [(bytes(number), value)]))
        }
    }

    /// The first batch has no record: it goes to tables.
    private func begin(_ engine: RocksDBEngine) throws {
        try engine.commit(.writing(.meta, [([1], [1])]))
    }

    /// What a process leaves that was killed after ten records, within a second of its start.
    private func killedStore() throws -> TemporaryStore {
        let store = folder.store()
        let engine = try store.open()
        try begin(engine)
        let opened = try store.contents("journal.end")
        try commit(0..<10, to: engine)
        let copy = try folder.copy(of: store, openIn: engine)
        try opened.write(to: URL(filePath: "\(copy.path)/journal.end"))
        return copy
    }

    /// The one segment with records, and the records.
    private func written(_ store: TemporaryStore) throws -> (file: String, records: [JournalRecord])
    {
        for file in try store.segments() {
            let data = try store.contents(file)
            guard let head = JournalHead(data) else { continue }
            let scan = data.withUnsafeBytes { JournalScan($0, head: head, successor: nil) }
            return (file, scan.records)
        }
        return try #require(nil, "no segment was begun")
    }

    @Test func aKilledProcessLosesNothing() throws {
        var store = try killedStore()
        // Killed again and again before anything of it is in tables.
        for round in 1...3 {
            let engine = try store.open()
            #expect(engine.notes == [])
            #expect(try engine.count(.records) == 10 * round)
            try commit(10 * round..<10 * round + 10, to: engine)
            store = try folder.copy(of: store, openIn: engine)
        }
        let engine = try store.open()
        #expect(try engine.count(.records) == 40)
        #expect(try engine.get(.records, bytes(39), reach: .disk)?.first == 39)
    }

    @Test func deletedRowsAndRangesStayDeleted() throws {
        let store = folder.store()
        let engine = try store.open()
        try commit(0..<10, to: engine)
        var batch = EngineBatch()
        batch.deletedRanges = [(.records, KeyRange(start: bytes(2), end: bytes(5)))]
        batch.writes = [
            EngineBatch.Write(family: .records, key: bytes(3), value: [1]),
            EngineBatch.Write(family: .records, key: bytes(7), value: nil),
        ]
        try engine.commit(batch)
        let copy = try folder.copy(of: store, openIn: engine).open()
        #expect(try copy.count(.records) == 7)
        #expect(try copy.get(.records, bytes(3), reach: .disk) == [1])
    }

    @Test func aClosedStoreHasEverythingInTables() throws {
        let store = folder.store()
        try store.use { try commit(0..<10, to: $0) }
        for segment in try store.segments() { try store.remove(segment) }
        try store.remove("journal.end")
        try store.use { engine throws in #expect(try engine.count(.records) == 10) }
    }

    /// Eighty megabytes, and room for a quarter of them in memory.
    @Test func segmentsAreUsedAgain() throws {
        let store = folder.store()
        let engine = try store.open()
        for round in 0..<80 {
            let value = Bytes(repeating: UInt8(round), count: 10_000)
            let rows = (0..<100).map { (bytes(round * 100 + $0), value) }
            try engine.commit(.writing(round % 2 == 0 ? .records : .log, rows))
        }
        // They would fill twenty.
        #expect(try store.segments().count <= 16)
        for family in [Family.records, .log] { try engine.reclaim(family, .everything) }
        try engine.commit(.writing(.meta, [([1], [1])]))
        let copy = try folder.copy(of: store, openIn: engine).open()
        #expect(copy.notes == [])
        #expect(try copy.count(.records) + copy.count(.log) == 8_000)
        #expect(try copy.get(.meta, [1], reach: .disk) == [1])
    }

    @Test func aBatchMayBeLargerThanASegment() throws {
        let store = folder.store()
        let engine = try store.open()
        try commit(0..<1, to: engine)
        let value = Bytes(repeating: 1, count: MemoryProfile.small.segmentBytes + 1)
        for number in 1...2 { try engine.commit(.writing(.records, [(bytes(number), value)])) }
        try commit(3..<4, to: engine)
        let copy = try folder.copy(of: store, openIn: engine).open()
        #expect(try copy.count(.records) == 4)
        #expect(try copy.get(.records, bytes(2), reach: .disk) == value)
    }

    /// Each start leaves a segment with few records, and rows that are in no table.
    @Test func segmentsOfManyStartsDoNotPileUp() throws {
        let profile = MemoryProfile.small
        let most = profile.journalBytes / profile.segmentBytes
        var store = folder.store()
        for round in 0..<most + 4 {
            let engine = try store.open()
            try commit(round * 2..<round * 2 + 2, to: engine)
            let copy = try folder.copy(of: store, openIn: engine)
            _ = consume engine
            try FileManager.default.removeItem(atPath: store.path)
            store = copy
        }
        // One may be spare, and one was just begun.
        #expect(try store.segments().count <= most + 3)
        #expect(try store.open().count(.records) == 2 * (most + 4))
    }

    // MARK: Damage

    @Test func aTornEndIsDroppedOnceAndSaid() throws {
        let store = try killedStore()
        let (file, records) = try written(store)
        let last = try #require(records.last).payload
        try store.change(file) { data in
            let lost = last.dropFirst(20)
            data.replaceSubrange(lost, with: Data(count: lost.count))
        }
        let engine = try store.open()
        #expect(try engine.count(.records) == 9)
        #expect(engine.notes.count == 1)
        #expect(engine.notes.first?.contains("not whole from byte \(records[8].end) on") == true)
        // The next record has the number of the one that was dropped.
        try commit(20..<21, to: engine)
        let copy = try folder.copy(of: store, openIn: engine).open()
        #expect(copy.notes == [])
        #expect(try copy.count(.records) == 10)
    }

    @Test func aFlippedByteInTheMiddleIsDamage() throws {
        let store = try killedStore()
        let (file, records) = try written(store)
        let place = UInt64(records[5].end)
        try store.change(file) { $0[records[6].payload.lowerBound + 5] ^= 0x40 }
        let damage = RocksDBError.damaged(file: "\(store.path)/\(file)", offset: place)
        #expect(try store.refusal() == damage)
        #expect(try store.refusal() == damage, "still refused the second time")
    }

    /// It had been noted that the record is there.
    @Test func aFlippedByteInTheLastRecordIsNoticed() throws {
        let store = try killedStore()
        try store.change("journal.end") { $0 = Data(JournalEnd(sequence: 11).bytes) }
        try folder.copy(of: store).use { engine throws in
            #expect(try engine.count(.records) == 10)
        }
        let (file, records) = try written(store)
        try store.change(file) { $0[records[9].payload.lowerBound] ^= 1 }
        let refusal = RocksDBError.endMissing(directory: store.path, file: "journal.end")
        #expect(try store.refusal() == refusal)
    }

    // MARK: Backups

    @Test func aBackupNeedsNoJournal() throws {
        let store = folder.store()
        let engine = try store.open()
        try commit(0..<10, to: engine)
        let backup = folder.store()
        try engine.copy(to: backup.path)
        #expect(try backup.segments() == [])
        let copy = try backup.open()
        #expect(copy.isBackup)
        #expect(try copy.count(.records) == 10)
        try commit(10..<20, to: copy)
        #expect(try folder.copy(of: backup, openIn: copy).open().count(.records) == 20)
    }

    /// It has what was acknowledged before it began, and all of each batch.
    @Test func aBackupUnderWritesHoldsWhatWasAcknowledged() throws {
        let engine = try folder.store().open()
        let acknowledged = Atomic<Int>(0)
        let isOver = Atomic<Bool>(false)
        let ended = DispatchSemaphore(value: 0)
        Thread {
            var batches = 0
            while !isOver.load(ordering: .acquiring) {
                let rows = (0..<10).map {
                    (bytes(batches * 10 + $0), Bytes(repeating: 1, count: 2_000))
                }
                var batch = EngineBatch.writing(.records, rows)
                batch.writes += EngineBatch.writing(.log, rows).writes
                guard (try? engine.commit(batch)) != nil else { break }
                batches += 1
                acknowledged.store(batches, ordering: .releasing)
            }
            ended.signal()
        }.start()
        defer {
            isOver.store(true, ordering: .releasing)
            ended.wait()
        }
        for _ in 0..<5 {
            usleep(50_000)
            let before = acknowledged.load(ordering: .acquiring)
            let backup = folder.store()
            try engine.copy(to: backup.path)
            let after = acknowledged.load(ordering: .acquiring)
            let copy = try backup.open()
            let rows = try copy.count(.records)
            #expect(rows % 10 == 0 && (before...after + 1).contains(rows / 10))
            #expect(try copy.count(.log) == rows)
            // None is left out: the last one has the last number.
            let last = try copy.get(.records, bytes(max(rows, 1) - 1), reach: .disk)
            #expect((last != nil) == (rows > 0))
        }
        #expect(acknowledged.load(ordering: .acquiring) > 0)
    }

    // MARK: Reading only

    /// Nothing changes but RocksDB's own lists, however often it is done.
    @Test func whoReadsOnlyChangesNothing() throws {
        let store = try killedStore()
        func kept() throws -> [String: Data] {
            let files = try store.files {
                $0.hasSuffix(".journal") || $0.hasPrefix("journal") || $0.hasSuffix(".sst")
            }
            return try Dictionary(
                uniqueKeysWithValues: files.map { ($0, try store.contents($0)) }
            )
        }
        let before = try kept()
        for _ in 0..<2 {
            let engine = try store.open(readOnly: true)
            #expect(try engine.count(.records) == 10)
            // What it writes is there until it ends.
            try commit(10..<12, to: engine)
            #expect(try engine.count(.records) == 12)
            _ = consume engine
            #expect(try kept() == before)
        }
        try store.use { engine throws in #expect(try engine.count(.records) == 10) }
    }

    @Test func whoReadsOnlyLearnsOfALoss() throws {
        let store = try killedStore()
        try store.change("journal.end") { $0 = Data(JournalEnd(sequence: 12).bytes) }
        #expect(throws: RocksDBError.self) { try store.open(readOnly: true) }
    }
}
