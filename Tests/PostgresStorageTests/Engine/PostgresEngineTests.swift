// The engine on a database: the seam's promises, long scans, and what it leaves to the database.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@testable import PostgresStorage

@Suite(.enabled(if: PostgresServer.isInstalled, noServer))
struct PostgresEngineTests {
    @Test(arguments: [UInt64(1), 2])
    func conforms(seed: UInt64) throws {
        // Each check begins with a store of its own; the one made last is opened again.
        var databases: [TestDatabase] = []
        let conformance = StoreConformance(
            open: {
                let database = try TestDatabase()
                databases.append(database)
                return try database.open()
            },
            reopen: { engine in
                _ = consume engine
                return try #require(databases.last).open()
            }
        )
        try conformance.check(seed: seed, steps: 120)
    }

    @Test func noReadEndsInMemory() throws {
        let engine = try TestDatabase().open()
        try engine.commit(.writing(.meta, [([1], [1])]))
        for reader in [engine, try engine.snapshot()] as [any EngineReader] {
            #expect(throws: EngineError.notInMemory) {
                try reader.get(.meta, [1], reach: .memory)
            }
            #expect(try reader.get(.meta, [1], reach: .disk) == [1])
        }
    }

    /// Rows of all sizes over many pages, while the visitor reads others by the same reader.
    @Test func aLongScanGoesOnFromPageToPage() throws {
        let engine = try TestDatabase().open()
        let rows = (0..<2_500).map { number in
            let count = number.isMultiple(of: 500) ? 600_000 : number % 700
            let value = Bytes(repeating: UInt8(truncatingIfNeeded: number), count: count)
            return (bytes(number), value)
        }
        try engine.commit(.writing(.records, rows))
        for reader in [engine, try engine.snapshot()] as [any EngineReader] {
            for backwards in [false, true] {
                var seen = 0
                try reader.scan(.records, .everything, backwards: backwards) {
                    key,
                    value in
                    let (wantedKey, wanted) = rows[backwards ? rows.count - 1 - seen : seen]
                    let isRight = key == wantedKey && value == wanted
                    #expect(isRight, "row \(seen)")
                    seen += 1
                    if seen.isMultiple(of: 400) {
                        let again = try? reader.get(.records, key, reach: .disk)
                        #expect(again == value)
                    }
                    return isRight
                }
                #expect(seen == rows.count)
            }
        }
    }

    @Test func aSnapshotOutlivesItsEngine() throws {
        let database = try TestDatabase()
        var engine: PostgresEngine? = try database.open()
        try engine?.commit(.writing(.meta, [([1], [1])]))
        let snapshot = try engine?.snapshot()
        engine = nil
        #expect(try snapshot?.get(.meta, [1], reach: .disk) == [1])
    }

    /// A node takes a snapshot after each batch: their sessions are used again.
    @Test func manySnapshotsNeedFewSessions() throws {
        let database = try TestDatabase()
        let engine = try database.open()
        for number in 0..<50 {
            try engine.commit(.writing(.meta, [([1], bytes(number))]))
            let snapshot = try engine.snapshot()
            #expect(try snapshot.get(.meta, [1], reach: .disk) == bytes(number))
        }
        let sessions = try database.run(
            "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'cumulusd %'"
                + " AND datname = current_database()"
        )
        // The writer's, one for snapshots, and one that may give a sign of life just then.
        #expect(sessions.count <= 3)
    }

    @Test func sizesAreThoseOfRowsAndTables() throws {
        let engine = try TestDatabase().open()
        let rows = (0..<100).map { (bytes($0), Bytes(repeating: 7, count: 10_000)) }
        try engine.commit(.writing(.log, rows))
        let half = KeyRange(start: [], end: bytes(50))
        #expect(try engine.byteCount(of: .log, half) == 50 * 10_004)
        #expect(try engine.byteCount(of: .log, .everything) > 1_000_000)
        #expect(try engine.byteCount(of: .meta, half) == 0)
        #expect(engine.freeBytes() == nil)
    }

    /// Many rows are counted in a sample, and deleted rows are no longer in it.
    @Test func sizesOfManyRowsAreEstimates() throws {
        let engine = try TestDatabase().open()
        for part in 0..<4 {
            let rows = (0..<5_000).map { number in
                let count = (number * 37) % 1_900
                return (bytes(part * 5_000 + number), Bytes(repeating: 7, count: count))
            }
            try engine.commit(.writing(.log, rows))
        }
        func size(_ numbers: Range<Int>) throws -> Double {
            let (start, end) = (bytes(numbers.lowerBound), bytes(numbers.upperBound))
            return Double(try engine.byteCount(of: .log, KeyRange(start: start, end: end)))
        }
        // About 954 bytes each.
        let (first, all) = (try size(0..<10_000), try size(0..<20_000))
        #expect(abs(all / (20_000 * 954) - 1) < 0.2)
        #expect(abs(first / all - 0.5) < 0.1)
        var deletion = EngineBatch()
        deletion.deletedRanges = [(.log, KeyRange(start: [], end: bytes(15_000)))]
        try engine.commit(deletion)
        #expect(try size(0..<15_000) == 0)
        #expect(abs(try size(0..<20_000) / all - 0.25) < 0.1)
    }

    @Test func backupsAreTheDatabases() throws {
        let engine = try TestDatabase().open()
        let text = try failure { try engine.copy(to: "/tmp/none") }
        #expect(text.contains("pg_dump"))
    }

    /// PostgreSQL has no longer keys; ours have 1,600 bytes at most.
    @Test func aKeyThatIsTooLongEndsTheProcess() throws {
        let engine = try TestDatabase().open()
        var dice = SeededGenerator(seed: 1)
        let long = (0..<3_000).map { _ in UInt8.random(in: 0...255, using: &dice) }
        let text = try failure { try engine.commit(.writing(.index, [(long, [])])) }
        #expect(text.contains("larger than PostgreSQL takes"))
        let fits = Bytes(long.prefix(1_600))
        try engine.commit(.writing(.index, [(fits, [1])]))
        #expect(try engine.get(.index, fits, reach: .disk) == [1])
    }
}
