// A journal whose end is gone or cut looks like one that was never longer: its file `journal.end`
// tells.

import CumulusModel
import CumulusStorage
import Foundation
import Testing

@testable import RocksDBStorage

@Suite struct JournalEndTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func commit(_ rows: Range<Int>, to engine: RocksDBEngine) throws {
        for number in rows {
            let value = Bytes(repeating: UInt8(number), count: 200)
            try engine.commit(.writing(.records, [(bytes(number), value)]))
        }
    }

    /// A store of ten rows that was closed, so that all of them are in tables.
    private func closedStore() throws -> TemporaryStore {
        let store = folder.store()
        try store.use { try commit(0..<10, to: $0) }
        return store
    }

    /// What a kill leaves a second after the last commit: the journal alone holds five more rows.
    private func killedStore() throws -> TemporaryStore {
        let store = try closedStore()
        let engine = try store.open()
        let first = try store.noted()
        try commit(10..<15, to: engine)
        try store.waitForEnd(at: first + 5)
        return try folder.copy(of: store, openIn: engine)
    }

    /// Opening may change the files; the store is still refused afterwards.
    private func expectRefusals(of store: TemporaryStore) throws {
        let refusal = RocksDBError.endMissing(directory: store.path, file: "journal.end")
        for _ in 0..<2 { #expect(try store.refusal() == refusal) }
    }

    /// The segment that begins last.
    private func newestSegment(of store: TemporaryStore) throws -> String {
        let begun = try store.segments().compactMap { file in
            JournalHead(try store.contents(file)).map { (first: $0.first, file: file) }
        }
        return try #require(begun.max { $0.first < $1.first }).file
    }

    // MARK: Segments

    @Test func aKilledStoreOpensWithoutANote() throws {
        let store = try killedStore()
        try store.use { engine throws in
            #expect(engine.notes == [])
            #expect(try engine.count(.records) == 15)
        }
    }

    @Test func aMissingNewestSegmentIsRefused() throws {
        let store = try killedStore()
        try store.remove(newestSegment(of: store))
        try expectRefusals(of: store)
        let line = "\(try store.refusal())"
        #expect(line.contains("the end of its journal is missing or cut"))
        #expect(line.hasSuffix("delete \(store.path)/journal.end"))
        // An operator who does that accepts the loss.
        try store.remove("journal.end")
        try store.use { engine throws in #expect(try engine.count(.records) == 10) }
    }

    @Test func aCutNewestSegmentIsRefused() throws {
        let store = try killedStore()
        let segment = try newestSegment(of: store)
        let data = try store.contents(segment)
        let head = try #require(JournalHead(data))
        let end = data.withUnsafeBytes { JournalScan($0, head: head, successor: nil) }.place
        for place in [0, 1, JournalHead.room, (JournalHead.room + end) / 2, end - 16] {
            for isShorter in [true, false] {
                let copy = try folder.copy(of: store)
                try copy.change(segment) { data in
                    let rest = isShorter ? Data() : Data(count: data.count - place)
                    data = data.prefix(place) + rest
                }
                try expectRefusals(of: copy)
            }
        }
    }

    /// Tables are there, as in a backup, which has no `journal.end`.
    @Test func aStoreThatLostAllSegmentsIsRefused() throws {
        let store = try killedStore()
        for segment in try store.segments() { try store.remove(segment) }
        #expect(try !store.files { $0.hasSuffix(".sst") }.isEmpty)
        try expectRefusals(of: store)
    }

    /// Nothing contradicts before the opening: the segments could have been begun anew.
    @Test func tablesOfAnEarlierTimeAreRefused() throws {
        let store = try closedStore()
        let earlier = try folder.copy(of: store)
        try store.use { try commit(10..<15, to: $0) }
        try store.contents("journal.end")
            .write(to: URL(filePath: "\(earlier.path)/journal.end"))
        try expectRefusals(of: earlier)
    }

    // MARK: The file

    @Test func aStoreWithoutTheFileOpens() throws {
        let store = try closedStore()
        let last = try store.noted()
        try store.remove("journal.end")
        try store.use { engine throws in
            #expect(engine.notes == [])
            #expect(try engine.count(.records) == 10)
            try commit(10..<11, to: engine)
            #expect(try store.noted() == last + 1)
        }
    }

    /// It is one until something was written to it.
    @Test func aBackupOpens() throws {
        let store = try closedStore()
        let backup = folder.store()
        try store.use { try $0.copy(to: backup.path) }
        #expect(try backup.files { $0.hasPrefix("journal") || $0.hasSuffix("journal") } == [])
        for _ in 0..<2 {
            try backup.use { engine throws in
                #expect(engine.isBackup)
                #expect(engine.notes == [])
                #expect(try engine.count(.records) == 10)
            }
        }
        try backup.use { try commit(10..<11, to: $0) }
        try backup.use { #expect(!$0.isBackup) }
        try store.use { #expect(!$0.isBackup) }
    }

    /// Each byte flipped, and each length: the rows may all be there, so it is only said.
    @Test func aDamagedFileIsSaid() throws {
        let store = try closedStore()
        let whole = try store.contents("journal.end")
        let last = try store.noted()
        var damaged = [whole + Data([0])]
        for place in whole.indices {
            var flipped = whole
            flipped[place] ^= 0x04
            damaged += [flipped, whole.prefix(place)]
        }
        for end in damaged {
            let copy = try folder.copy(of: store)
            try end.write(to: URL(filePath: "\(copy.path)/journal.end"))
            try copy.use { engine throws in
                #expect(engine.notes.count == 1)
                #expect(engine.notes.first?.contains("journal.end is damaged") == true)
                #expect(try engine.count(.records) == 10)
                try commit(10..<11, to: engine)
            }
            #expect(try copy.noted() == last + 1, "written anew")
        }
    }

    /// The store goes on meanwhile.
    @Test func whatCantBeNotedIsNotedLater() throws {
        let store = try closedStore()
        let first = try store.noted()
        let obstacle = "\(store.path)/journal.end.new"
        try FileManager.default.createDirectory(
            atPath: obstacle,
            withIntermediateDirectories: false
        )
        try store.use { engine throws in
            try commit(10..<11, to: engine)
            usleep(1_500_000)
            #expect(try store.noted() == first)
            try FileManager.default.removeItem(atPath: obstacle)
            try store.waitForEnd(at: first + 1)
        }
    }
}
