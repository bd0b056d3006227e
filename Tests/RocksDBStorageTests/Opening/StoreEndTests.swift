// A log that is gone or cut looks to RocksDB like one that was never written: the file END tells.

import CumulusModel
import CumulusStorage
import Foundation
import RocksDBStorage
import Testing

@Suite struct StoreEndTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func commit(_ rows: Range<Int>, to engine: RocksDBEngine) throws {
        for number in rows {
            let value = Bytes(repeating: UInt8(number), count: 200)
            try engine.commit(.writing(.records, [(bytes(number), value)]))
        }
    }

    /// A store of ten rows that was closed; all of them stand in its only log.
    private func closedStore() throws -> TemporaryStore {
        let store = folder.store()
        try store.use { try commit(0..<10, to: $0) }
        return store
    }

    /// What a kill leaves a second after the last commit.
    ///
    /// Tables hold ten rows and so does an older log, as if nothing had deleted it yet; the newest
    /// log alone holds five more.
    private func killedStore() throws -> TemporaryStore {
        let store = try closedStore()
        let older = try store.newestLog()
        let rows = try store.contents(older)
        var killed = store
        try store.use { engine throws in
            let first = try store.noted()
            try commit(10..<15, to: engine)
            try store.waitForEnd(at: first + 5)
            killed = try folder.copy(of: store)
        }
        try rows.write(to: URL(filePath: "\(killed.path)/\(older)"))
        return killed
    }

    /// Opening may change the files; the store is still refused afterwards.
    private func expectRefusals(of store: TemporaryStore) throws {
        for _ in 0..<2 {
            #expect(try store.refusal() == .endMissing(directory: store.path))
        }
    }

    // MARK: Logs

    @Test func aKilledStoreOpensWithoutANote() throws {
        let store = try killedStore()
        try store.use { engine throws in
            #expect(engine.notes == [])
            #expect(try engine.count(.records) == 15)
        }
    }

    @Test func aMissingNewestLogIsRefused() throws {
        let store = try killedStore()
        try store.remove(store.newestLog())
        try expectRefusals(of: store)
        let line = "\(try store.refusal())"
        #expect(line.contains("newest log is missing or cut"))
        #expect(line.hasSuffix("delete \(store.path)/END"))
        // An operator who does that accepts the loss.
        try store.remove("END")
        try store.use { engine throws in #expect(try engine.count(.records) == 10) }
    }

    @Test func aCutNewestLogIsRefused() throws {
        let store = try killedStore()
        let log = try store.newestLog()
        let size = try store.contents(log).count
        for end in [0, 1, size / 2, size - 1] {
            let copy = try folder.copy(of: store)
            try copy.change(log) { $0 = $0.prefix(end) }
            try expectRefusals(of: copy)
        }
    }

    /// Tables are there, as in a backup, which has no END.
    @Test func aStoreThatLostAllLogsIsRefused() throws {
        let store = try killedStore()
        for log in try store.files({ $0.hasSuffix(".log") }) { try store.remove(log) }
        #expect(try !store.files { $0.hasSuffix(".sst") }.isEmpty)
        try expectRefusals(of: store)
    }

    /// A clean end is noted at once, and to the last row.
    @Test func aLogThatLostItsEndAfterACleanCloseIsRefused() throws {
        let store = try closedStore()
        try store.change(store.newestLog()) { $0 = $0.dropLast() }
        try expectRefusals(of: store)
    }

    /// Nothing contradicts before the opening: its log could have been deleted by RocksDB.
    @Test func tablesOfAnEarlierTimeAreRefused() throws {
        let store = try closedStore()
        let earlier = try folder.copy(of: store)
        try store.use { try commit(10..<15, to: $0) }
        for _ in 0..<2 { try earlier.use { _ in } }
        try store.contents("END").write(to: URL(filePath: "\(earlier.path)/END"))
        try expectRefusals(of: earlier)
    }

    // MARK: END

    @Test func aStoreWithoutEndOpens() throws {
        let store = try closedStore()
        try store.remove("END")
        try store.use { engine throws in
            #expect(engine.notes == [])
            #expect(try engine.count(.records) == 10)
            #expect(try store.noted() > 0)
        }
    }

    @Test func aBackupOpens() throws {
        let store = try closedStore()
        let backup = folder.store()
        try store.use { try $0.copy(to: backup.path) }
        #expect(try backup.files { $0.hasPrefix("END") } == [])
        try backup.use { engine throws in
            #expect(engine.isBackup)
            #expect(try engine.count(.records) == 10)
        }
        try backup.use { #expect(!$0.isBackup) }
        try store.use { #expect(!$0.isBackup) }
    }

    /// Each byte flipped, and each length: the rows may all be there, so it is only said.
    @Test func aDamagedEndIsSaid() throws {
        let store = try closedStore()
        let whole = try store.contents("END")
        var damaged = [whole + Data([0])]
        for place in whole.indices {
            var flipped = whole
            flipped[place] ^= 0x04
            damaged += [flipped, whole.prefix(place)]
        }
        for end in damaged {
            let copy = try folder.copy(of: store)
            try end.write(to: URL(filePath: "\(copy.path)/END"))
            try copy.use { engine throws in
                #expect(engine.notes.count == 1)
                #expect(engine.notes.first?.contains("END is damaged") == true)
                #expect(try engine.count(.records) == 10)
            }
            #expect(try copy.contents("END").prefix(8) == whole.prefix(8), "written anew")
        }
    }

    /// The store goes on meanwhile.
    @Test func whatCantBeNotedIsNotedLater() throws {
        let store = try closedStore()
        let first = try store.noted()
        let obstacle = "\(store.path)/END.new"
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

    /// What isn't flushed may be gone after a power cut.
    @Test func withoutFlushingNothingIsNoted() throws {
        let store = folder.store()
        let engine = try RocksDBEngine(
            directory: store.path,
            profile: .small,
            reserve: 0,
            flushing: false
        )
        try commit(0..<10, to: engine)
        _ = consume engine
        #expect(try store.files { $0.hasPrefix("END") } == [])
    }
}
