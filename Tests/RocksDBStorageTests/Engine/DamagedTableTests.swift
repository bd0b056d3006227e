// A flipped bit in a table: what of it can't be read is found, what is written over it can be, and
// the node goes on.

import CumulusModel
import CumulusStorage
import Foundation
import Testing

@testable import RocksDBStorage

@Suite struct DamagedTableTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let count = 4_000
    private static let all = KeyRange(start: [], end: [0xFF])

    private static func key(_ number: Int) -> Bytes { [65] + bytes(number) }
    private static func value(_ number: Int) -> Bytes {
        Bytes("row \(number) ".utf8) + Bytes(repeating: 7, count: 200)
    }

    /// A store with a table in which bits are wrong where these rows stand.
    private func damaged(_ rows: [Int]) throws -> TemporaryStore {
        let store = folder.store()
        let written = (0..<Self.count).map { (Self.key($0), Self.value($0)) }
        try store.use { try $0.commit(.writing(.index, written)) }
        try store.use { engine throws in #expect(try engine.count(.index) == Self.count) }
        for row in rows { try store.flip(near: Self.value(row)) }
        return store
    }

    private func survey(_ engine: RocksDBEngine) throws -> [StoreDamage] {
        var survey = StoreSurvey(ReadTransaction(engine.snapshot(), reach: .disk))
        var damages: [StoreDamage] = []
        while !survey.isFinished { damages += try survey.step(limit: 500) }
        return damages
    }

    private func number(_ key: Bytes?) throws -> Int {
        try #require(key).dropFirst().reduce(0) { $0 << 8 | Int($1) }
    }

    /// Rewrites the rows at the edges and in the stretch, above its deletion.
    private func mend(_ damage: StoreDamage, in engine: RocksDBEngine) throws {
        let rows = try number(damage.before)...number(damage.after)
        var batch = EngineBatch()
        let end = try #require(damage.after) + [0]
        let range = KeyRange(start: try #require(damage.before), end: end)
        batch.deletedRanges = [(.index, range)]
        batch.writes = rows.map {
            .init(family: .index, key: Self.key($0), value: Self.value($0))
        }
        try engine.commit(batch)
    }

    private func expectWhole(_ engine: RocksDBEngine) throws {
        for backwards in [false, true] {
            var keys: [Bytes] = []
            try engine.scan(.index, Self.all, backwards: backwards) { key, value in
                keys.append(key)
                return true
            }
            #expect((backwards ? keys.reversed() : keys) == (0..<Self.count).map(Self.key))
        }
        #expect(try survey(engine).isEmpty)
    }

    @Test func aFlippedBitHidesItsBlockOnly() throws {
        let store = try damaged([500, 560, 3_000])
        let engine = try store.open()
        let found = try survey(engine)
        #expect(found.count == 3 && found.allSatisfy { !$0.isRow && $0.family == .index })
        for (damage, row) in zip(found, [500, 560, 3_000]) {
            let (first, last) = (try number(damage.before) + 1, try number(damage.after) - 1)
            // A block has 4 KB.
            #expect((first...last).contains(row) && last - first < 25)
            #expect(throws: EngineError.self) {
                _ = try engine.get(.index, Self.key(row), reach: .disk)
            }
            #expect(try engine.get(.index, Self.key(first - 1), reach: .disk) != nil)
            #expect(try engine.get(.index, Self.key(last + 1), reach: .disk) != nil)
        }
    }

    /// Rows that are read together with it are there.
    @Test func aFlippedBitLeavesItsRowUnread() throws {
        let engine = try damaged([500]).open()
        let keys = [10, 500, 2_000, 9_999].map { RowKey(.change, bytes: Self.key($0)) }
        let rows = try engine.read(ReadPlan(keys: keys))
        #expect(
            rows.values == [
                .found(Self.value(10)), .unread, .found(Self.value(2_000)), .missing,
            ]
        )
    }

    @Test func whatIsWrittenOverItIsRead() throws {
        let store = try damaged([500, 560, 3_000])
        try store.use { engine in
            for damage in try survey(engine) { try mend(damage, in: engine) }
            try expectWhole(engine)
        }
        // From tables, too; they were written anew.
        for _ in 0..<2 { try store.use { try expectWhole($0) } }
    }

    /// A merge of tables that meets the damage would stop all writes.
    @Test func tablesAreMergedOnceTheyWereWrittenAnew() throws {
        let store = try damaged([500])
        try store.use { engine in
            // A table with noticed damage is not merged.
            let damage = try #require(try survey(engine).first)
            try engine.reclaim(.index, Self.all)
            try engine.commit(.writing(.index, [(Self.key(0), Self.value(0))]))
            #expect(try survey(engine).count == 1)
            try mend(damage, in: engine)
        }
        #expect(try store.files { $0 == "DAMAGED" } == ["DAMAGED"])
        try store.use { engine in
            #expect(engine.notes.contains { $0.contains("written anew, with 4000 rows") })
            try engine.reclaim(.index, Self.all)
            try engine.commit(.writing(.index, [(Self.key(0), Self.value(0))]))
            try expectWhole(engine)
        }
        try store.use { engine in
            #expect(engine.notes.isEmpty, "\(engine.notes)")
            try expectWhole(engine)
        }
    }

    /// A merge comes upon the damage before anybody reads it: the process ends, and the next one
    /// goes on without merging, until the rows are mended.
    @Test func damageThatAMergeMeetsStopsTheNodeOnce() throws {
        let store = try damaged([500])
        // RocksDB moves a table that overlaps with no other: each opening makes one that does.
        var isStopped = false
        for _ in 0..<4 where !isStopped {
            try store.use { engine in
                try engine.reclaim(.index, Self.all)
                do {
                    try engine.commit(.writing(.index, [(Self.key(0), Self.value(0))]))
                } catch EngineError.failed {
                    isStopped = true
                }
            }
        }
        #expect(isStopped)
        try store.use { engine in
            #expect(engine.notes.contains { $0.contains("a table of index is damaged") })
            try engine.reclaim(.index, Self.all)
            try engine.commit(.writing(.index, [(Self.key(0), Self.value(0))]))
            for damage in try survey(engine) { try mend(damage, in: engine) }
            try expectWhole(engine)
        }
        try store.use { engine in
            try engine.reclaim(.index, Self.all)
            try engine.commit(.writing(.index, [(Self.key(0), Self.value(0))]))
            try expectWhole(engine)
        }
    }

    /// A copy that was cut short is dropped, and made again.
    @Test func anUnfinishedCopyIsDropped() throws {
        let names = FamilyRenewal.Names(["default", "meta", "records-2", "index", "index-2", "log"])
        #expect(names[.records] == "records-2" && names.next(after: .records) == "records-3")
        #expect(names[.index] == "index" && names.unfinished == ["index-2"])
        #expect(names[.log] == "log" && names.next(after: .log) == "log-2")
    }
}

extension TemporaryStore {
    /// Flips a bit of a table where it holds these bytes.
    func flip(near bytes: Bytes) throws {
        for table in try files({ $0.hasSuffix(".sst") }) {
            guard let found = try contents(table).firstRange(of: Data(bytes)) else { continue }
            return try change(table) { $0[found.lowerBound + 100] ^= 4 }
        }
        Issue.record("no table holds the row")
    }
}
