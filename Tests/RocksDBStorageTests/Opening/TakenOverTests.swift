// A store of a release before the journal is taken over: whatever it held is there, whenever the
// process is killed meanwhile, and an older program can't miss what the journal holds.

import CumulusModel
import CumulusStorage
import Foundation
import Testing

@testable import RocksDBStorage

@Suite struct TakenOverTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// What a kill of that release left: ten rows, five of them in the newest log only.
    private func oldStore() throws -> TemporaryStore {
        let store = folder.store()
        try TakenOverStore(store.path).commit(0..<10)
        let old = try TakenOverStore(store.path)
        try old.commit(10..<15)
        try old.noteNewest()
        return store
    }

    private let format = EngineBatch.writing(.meta, [([1], [12])])

    private func row(_ number: Int) -> EngineBatch {
        .writing(.records, [(bytes(number), Bytes(repeating: 1, count: 200))])
    }

    /// What a killed process would leave at each moment of a start, with the rows of `records` that
    /// were acknowledged by then.
    private func moments() throws -> [(store: TemporaryStore, rows: Int)] {
        let store = try oldStore()
        let log = try store.newestLog()
        let (logBytes, end) = (try store.contents(log), try store.contents("END"))
        var moments: [(store: TemporaryStore, rows: Int)] = [(try folder.copy(of: store), 15)]
        let engine = try store.open()
        func add(_ rows: Int) throws -> TemporaryStore {
            let copy = try folder.copy(of: store, openIn: engine)
            moments.append((store: copy, rows: rows))
            return copy
        }
        _ = try add(15)
        // RocksDB hadn't deleted the log that is in tables yet.
        try logBytes.write(to: URL(filePath: "\(try add(15).path)/\(log)"))
        try engine.write(format)
        _ = try add(15)
        try engine.flush()
        let inTables = try add(15)
        #expect(try inTables.files { $0 == "END" } == [])
        // END goes last.
        try end.write(to: URL(filePath: "\(try add(15).path)/END"))
        let before = try add(15)
        try before.remove("journal.end")
        try end.write(to: URL(filePath: "\(before.path)/END"))
        try logBytes.write(to: URL(filePath: "\(before.path)/\(log)"))
        for number in 15..<18 { try engine.commit(row(number)) }
        _ = try add(18)
        return moments
    }

    @Test func aKillAtAnyMomentLosesNothing() throws {
        for (index, moment) in try moments().enumerated() {
            for round in 0..<2 {
                let engine = try moment.store.open()
                let place = "moment \(index), round \(round)"
                #expect(engine.notes == [], "\(place)")
                #expect(!engine.isBackup, "\(place)")
                #expect(try engine.count(.records) == moment.rows + round, "\(place)")
                try engine.commit(format)
                try engine.commit(row(100 + round))
            }
        }
    }

    /// The format is in tables before there is a record of the journal: a program that reads tables
    /// and logs only finds it, and refuses the store.
    @Test func theFormatIsInTablesBeforeTheJournalBegins() throws {
        for store in try moments().map(\.store) + [newStore()] {
            let hasJournal = try store.segments().contains {
                JournalHead(try store.contents($0)) != nil
            }
            guard hasJournal else { continue }
            for file in try store.files({ $0.hasPrefix("journal") || $0.hasSuffix(".journal") }) {
                try store.remove(file)
            }
            let engine = try store.open()
            #expect(try engine.get(.meta, [1], reach: .disk) == [12])
        }
    }

    /// What a killed process leaves of a new store.
    private func newStore() throws -> TemporaryStore {
        let store = folder.store()
        let engine = try store.open()
        try engine.commit(format)
        for number in 0..<3 { try engine.commit(row(number)) }
        return try folder.copy(of: store, openIn: engine)
    }

    /// A torn end that was dropped stays dropped.
    @Test func aTornEndIsDroppedAtEachTry() throws {
        let store = folder.store()
        let old = try TakenOverStore(store.path)
        try old.note()
        try old.commit(0..<10)
        _ = consume old
        let log = try store.newestLog()
        try store.change(log) { $0 = $0.dropLast(5) }
        let torn = try store.contents(log)
        for _ in 0..<2 {
            try store.use { engine throws in
                #expect(try engine.count(.records) == 9)
                #expect(engine.notes.count == 1)
            }
            try torn.write(to: URL(filePath: "\(store.path)/\(log)"))
        }
    }

    /// A backup of that release has tables, perhaps a log, and no END.
    @Test func aBackupIsTakenOver() throws {
        let store = try oldStore()
        try store.remove("END")
        for _ in 0..<2 {
            try store.use { engine throws in
                #expect(engine.isBackup)
                #expect(engine.notes == [])
                #expect(try engine.count(.records) == 15)
            }
        }
        try store.use { try $0.commit(format) }
        try store.use { #expect(!$0.isBackup) }
    }

    // MARK: END

    /// Opening may change the files; the store is still refused afterwards.
    private func expectRefusals(of store: TemporaryStore) throws {
        for _ in 0..<2 {
            let refusal = RocksDBError.endMissing(directory: store.path, file: "END")
            #expect(try store.refusal() == refusal)
        }
    }

    @Test func aMissingOrCutLogIsRefused() throws {
        let store = try oldStore()
        let log = try store.newestLog()
        let size = try store.contents(log).count
        for end in [0, 1, size / 2, size - 1] {
            let copy = try folder.copy(of: store)
            try copy.change(log) { $0 = $0.prefix(end) }
            try expectRefusals(of: copy)
        }
        for log in try store.files({ $0.hasSuffix(".log") }) { try store.remove(log) }
        try expectRefusals(of: store)
        #expect("\(try store.refusal())".hasSuffix("delete \(store.path)/END"))
        // An operator who does that accepts the loss.
        try store.remove("END")
        try store.use { engine throws in #expect(try engine.count(.records) == 10) }
    }

    /// Nothing contradicts before the opening: its log could have been deleted by RocksDB.
    @Test func tablesOfAnEarlierTimeAreRefused() throws {
        let store = try oldStore()
        let earlier = folder.store()
        try TakenOverStore(earlier.path).commit(0..<5)
        for _ in 0..<2 { _ = try TakenOverStore(earlier.path) }
        try store.contents("END").write(to: URL(filePath: "\(earlier.path)/END"))
        try expectRefusals(of: earlier)
    }

    /// Each byte flipped, and each length: the rows may all be there, so it is only said.
    @Test func aDamagedENDIsSaid() throws {
        let store = try oldStore()
        let whole = try store.contents("END")
        for place in whole.indices {
            var flipped = whole
            flipped[place] ^= 0x04
            for end in [flipped, whole.prefix(place)] {
                let copy = try folder.copy(of: store)
                try end.write(to: URL(filePath: "\(copy.path)/END"))
                try copy.use { engine throws in
                    #expect(engine.notes.count == 1)
                    #expect(engine.notes.first?.contains("END is damaged") == true)
                    #expect(try engine.count(.records) == 15)
                }
            }
        }
    }
}
