// Plans that a database reads in one round trip, beside what all engines are asked about them.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@testable import PostgresStorage

@Suite(.enabled(if: PostgresServer.isInstalled, noServer))
struct PlanTests {
    private let database: TestDatabase
    private let engine: PostgresEngine

    init() throws {
        database = try TestDatabase()
        engine = try database.open()
    }

    private func values(_ plan: ReadPlan) throws -> [ReadRows.Value] {
        try engine.read(plan).values
    }

    @Test func aPlanIsOneQuestionForEachFamilyAndRange() throws {
        let keys = [Subspace.commit, .scope, .commit].map { RowKey($0, bytes: [1]) }
        let ranges = [RowRange(.index, .everything, limit: 2)]
        let questions = PlanQuestions(ReadPlan(keys: keys, ranges: ranges)).all
        #expect(questions.map(\.statement.name) == ["values0", "values3", "page2ASC"])
        let none = PlanQuestions(ReadPlan(keys: keys, ranges: ranges, byteLimit: 0)).all
        #expect(none.map(\.statement.name) == ["page2ASC"])
    }

    @Test func rangesGoOnBehindTheirFirstPage() throws {
        let rows = (0..<2_500).map { (bytes($0), Bytes([1])) }
        try engine.commit(.writing(.index, rows))
        let ranges = [
            RowRange(.index, .everything, limit: .max),
            RowRange(.index, .everything, backwards: true, limit: 1_500),
            RowRange(.index, .everything, backwards: true, limit: 1_024),
            RowRange(.index, KeyRange(start: [9], end: [1]), limit: 5),
        ]
        for reader in [engine, try engine.snapshot()] as [any EngineReader] {
            let read = try reader.read(ReadPlan(ranges: ranges)).ranges
            #expect(read.map(\.count) == [2_500, 1_500, 1_024, 0])
            #expect(read[0].map(\.key) == rows.map(\.0))
            #expect(read[1].map(\.key) == rows.reversed().prefix(1_500).map(\.0))
        }
    }

    /// A value is read as long as those before it in its family have less than the limit.
    @Test func valuesBeyondTheLimitAreUnread() throws {
        try engine.commit(.writing(.records, [([1], [1, 1]), ([2], [2, 2]), ([3], [3, 3])]))
        let keys = [[3], [1], [9], [3], [2]].map { RowKey(.record, bytes: $0) }
        let first = ReadRows.Value.found([3, 3])
        #expect(
            try values(ReadPlan(keys: keys, byteLimit: 3))
                == [first, .found([1, 1]), .missing, .unread, .unread]
        )
        #expect(
            try values(ReadPlan(keys: keys, byteLimit: 7))
                == [first, .found([1, 1]), .missing, first, .found([2, 2])]
        )
    }

    /// A view takes the place of the table, and one row of it is damaged.
    @Test func aDamagedRowIsLeftUnread() throws {
        try engine.commit(.writing(.index, [([1], [1]), ([2], [2]), ([3], [3])]))
        try database.run(
            """
            ALTER TABLE cumulus_index RENAME TO whole;
            CREATE FUNCTION damage() RETURNS bytea LANGUAGE plpgsql
            AS $$ BEGIN RAISE 'torn page' USING ERRCODE = 'XX001'; END $$;
            CREATE VIEW cumulus_index AS
            SELECT key, CASE WHEN key = '\\x02' THEN damage() ELSE value END AS value FROM whole
            """
        )
        let plan = ReadPlan(keys: [[1], [2], [3], [4]].map { RowKey(.change, bytes: $0) })
        let wanted: [ReadRows.Value] = [.found([1]), .unread, .found([3]), .missing]
        for reader in [engine, try engine.snapshot()] as [any EngineReader] {
            #expect(try reader.read(plan).values == wanted)
            #expect(throws: EngineError.corrupt("the database says: torn page")) {
                try reader.get(.index, [2], reach: .disk)
            }
            #expect(try reader.get(.index, [3], reach: .disk) == [3])
        }
    }

    /// PostgreSQL answers nothing more in a transaction that had an error.
    @Test func aSnapshotOutlivesAnError() throws {
        try engine.commit(.writing(.meta, [([1], [1])]))
        let snapshot = try engine.snapshot()
        try database.run("ALTER TABLE cumulus_index RENAME TO gone")
        let text = try failure { _ = try snapshot.get(.index, [1], reach: .disk) }
        #expect(text.contains("were the tables dropped"))
        #expect(try snapshot.get(.meta, [1], reach: .disk) == [1])
        try database.run("ALTER TABLE gone RENAME TO cumulus_index")
        #expect(try snapshot.get(.index, [1], reach: .disk) == nil)
        try engine.commit(.writing(.meta, [([1], [2])]))
        #expect(try snapshot.get(.meta, [1], reach: .disk) == [1])
    }
}
