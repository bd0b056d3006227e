// A store of a release before the journal, after a crash of that release: a torn end of RocksDB's
// log is no damage, anything else is.

import CumulusModel
import CumulusStorage
import Foundation
import RocksDBStorage
import Testing

@Suite struct TakenOverLogTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A store with one log that holds `count` commits of one row each.
    ///
    /// It is what a kill or a power cut left within a second: END still says what it said when
    /// the store was opened, so that an end may be torn.
    private func store(commits count: Int, valueSize: Int = 200) throws -> TemporaryStore {
        let store = folder.store()
        let old = try TakenOverStore(store.path)
        try old.note()
        try old.commit(0..<count, valueSize: valueSize)
        return store
    }

    @Test func aWholeLogOpensWithoutANote() throws {
        // Over several blocks of 32 KB, so that entries stand in pieces.
        let store = try store(commits: 400, valueSize: 1_000)
        let engine = try store.open()
        #expect(engine.notes == [])
        #expect(try engine.count(.records) == 400)
    }

    /// Each byte of the last three commits as the end of the file.
    @Test func aLogCutAnywhereKeepsTheCommitsBeforeTheCut() throws {
        let store = try store(commits: 10)
        let log = try store.newestLog()
        let size = try store.contents(log).count
        let entry = size / 10
        for end in stride(from: size - 3 * entry, to: size, by: 5) {
            let copy = try folder.copy(of: store)
            try copy.change(log) { $0 = $0.prefix(end) }
            let engine = try copy.open()
            let whole = end / entry
            #expect(try engine.count(.records) == whole)
            #expect(engine.notes.isEmpty == (end == whole * entry), "cut at \(end)")
        }
    }

    /// The disk may have kept the length and not the bytes.
    @Test func aTornEndIsDroppedOnceAndSaid() throws {
        let store = try store(commits: 10)
        let log = try store.newestLog()
        let entry = try store.contents(log).count / 10
        try store.change(log) { $0.replaceSubrange((9 * entry + 20)..., with: Data(count: 500)) }
        let torn = try store.contents(log)
        try store.use { engine throws in
            #expect(try engine.count(.records) == 9)
            #expect(engine.notes.count == 1)
            #expect(engine.notes[0].contains("not whole from byte \(9 * entry) on"))
            try engine.commit(.writing(.records, [(bytes(100), [])]))
        }
        // As if that opening had died before it deleted the old log.
        try torn.write(to: URL(filePath: "\(store.path)/\(log)"))
        try store.use { engine throws in #expect(try engine.count(.records) == 10) }
        try store.use { engine throws in
            #expect(engine.notes == [])
            #expect(try engine.count(.records) == 10)
        }
    }

    /// A log that lost its last commits, though a younger one goes on after them.
    @Test func aGapBetweenLogsIsDamage() throws {
        let store = try store(commits: 10)
        let log = try store.newestLog()
        let whole = try store.contents(log)
        try TakenOverStore(store.path).commit(100..<101)
        let younger = "\(store.path)/\(try store.newestLog())"
        for kept in 0...10 {
            let copy = try folder.copy(of: store)
            let file = younger.replacing(store.path, with: copy.path)
            let rest = whole.prefix(kept * whole.count / 10)
            try rest.write(to: URL(filePath: "\(copy.path)/\(log)"))
            switch kept {
            case 1..<10: #expect(try copy.refusal() == .logGap(file: file))
            default: try copy.use { engine throws in #expect(try engine.count(.records) == 11) }
            }
        }
    }

    @Test func aStoreWithoutItsLogIsDamaged() throws {
        let store = try store(commits: 10)
        try store.remove(store.newestLog())
        #expect(try store.refusal() == .logMissing(directory: store.path))
    }

    /// Every byte of the seventh of ten commits, its length included, which RocksDB alone takes for
    /// the end.
    @Test func aFlippedByteInTheMiddleIsDamage() throws {
        let store = try store(commits: 10)
        let log = try store.newestLog()
        let entry = try store.contents(log).count / 10
        for offset in 6 * entry..<7 * entry {
            let copy = try folder.copy(of: store)
            try copy.change(log) { $0[offset] ^= 0x40 }
            let place = RocksDBError.damaged(file: "\(copy.path)/\(log)", offset: UInt64(6 * entry))
            #expect(try copy.refusal() == place)
            #expect(try copy.refusal() == place, "still refused the second time")
        }
    }

    @Test func aFlippedByteFarFromTheEndIsDamage() throws {
        let store = try store(commits: 200, valueSize: 1_000)
        let log = try store.newestLog()
        try store.change(log) { $0[40_000] ^= 1 }
        let refusal = try store.refusal()
        guard case .damaged("\(store.path)/\(log)", let offset) = refusal else { throw refusal }
        #expect((38_000...40_000).contains(offset))
    }

    /// A disk may keep the last block of a flush and lose the one before.
    @Test func aLostBlockOfTheLastCommitIsATornEnd() throws {
        let store = try store(commits: 3, valueSize: 100_000)
        let log = try store.newestLog()
        try store.change(log) { $0.replaceSubrange(220_000..<225_000, with: Data(count: 5_000)) }
        let engine = try store.open()
        #expect(try engine.count(.records) == 2)
        #expect(engine.notes.count == 1)
    }

    @Test func aDamagedEndBeforeANewerLogIsDamage() throws {
        let store = try store(commits: 10)
        let first = try store.newestLog()
        let kept = try store.contents(first)
        try TakenOverStore(store.path).commit(100..<101)
        // The older log again, its last commit damaged; the newer one goes on after it.
        try kept.write(to: URL(filePath: "\(store.path)/\(first)"))
        try store.change(first) { $0[$0.count - 1] ^= 1 }
        let refusal = try store.refusal()
        guard case .damaged("\(store.path)/\(first)", _) = refusal else { throw refusal }
    }
}
