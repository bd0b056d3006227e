// Packs in a database: the seam's promises, how they lie in rows, and what a start finds of them.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@testable import PostgresStorage

@Suite(.enabled(if: PostgresServer.isInstalled, noServer))
struct SQLPacksTests {
    private let database: TestDatabase

    init() throws { database = try TestDatabase() }

    @Test(arguments: [UInt64(1), 2]) func conforms(seed: UInt64) throws {
        let engine = try database.open()
        try PackConformance(engine.packs) { engine.packs }.check(seed: seed)
    }

    @Test func aPackIsRowsOfAFixedSize() throws {
        let engine = try database.open()
        try engine.packs.write(7, [Bytes(repeating: 1, count: 600_000)[...], [2]])
        let answer = try database.run(
            "SELECT part, octet_length(bytes) FROM cumulus_pack WHERE pack = 7 ORDER BY part"
        )
        let rows = (0..<answer.count).map { [answer.text($0, 0), answer.text($0, 1)] }
        #expect(rows == [["0", "262144"], ["1", "262144"], ["2", "75713"]])
        // Nothing of the parts is compressed, so a stretch is read without the rest.
        let sizes = try database.run("SELECT sum(pg_column_size(bytes)) FROM cumulus_pack")
        #expect(sizes.text(0, 0) == "600001")
    }

    /// A part in the middle is gone, as where rows were lost: nothing before or behind it is shown.
    @Test func aPackWithAHoleIsNotThere() throws {
        let packs = try database.open().packs
        let bytes = SampleAsset.stream(4 * PackParts.size)
        try packs.write(1, [bytes[...]])
        try database.run("DELETE FROM cumulus_pack WHERE part = 2")
        #expect(try packs.read(1, 0..<bytes.count) == nil)
        #expect(try packs.read(1, 0..<2 * PackParts.size) == Bytes(bytes[..<(2 * PackParts.size)]))
        #expect(try packs.read(1, 600_000..<600_001) == nil)
        // As a damaged row may ask.
        #expect(try packs.read(1, .max - 1 ..< .max) == nil)
    }

    /// A start finds them page by page.
    @Test func manyPacksAreListed() throws {
        let packs = try database.open().packs
        try database.run(
            "INSERT INTO cumulus_pack SELECT n, 0, 'abc' FROM generate_series(1, 20000) n"
        )
        let all = try packs.all()
        #expect(all.count == 20_000)
        #expect(all.values.allSatisfy { $0 == 3 })
    }

    @Test func aStartRemovesWhatNoRowNames() throws {
        let engine = try database.open()
        let store = try TestStore(engine: engine)
        let packs = engine.packs
        #expect(try store.recover(packs) == 1)
        for pack: PackNumber in 1...3 { try packs.write(pack, [[1, 2, 3]]) }
        try name([1, 2], engine)
        try store.restart()
        packs.remove(2)
        #expect(try store.recover(packs) == 4)
        #expect(try packs.all() == [1: 3])
        #expect(try store.reader.rows(.records, .all(.pack)).count == 1)
        let origin: PackOriginRow? = try store.reader.row(.packOrigin)
        #expect(try packs.origin() == origin?.run)
    }

    /// Enters packs of three bytes.
    private func name(_ packs: [PackNumber], _ engine: PostgresEngine) throws {
        var batch = EngineBatch()
        for pack in packs {
            let key = RowKey.pack(pack)
            let row = PackRow(length: 3).rowBytes
            batch.writes.append(.init(family: key.family, key: key.bytes, value: row))
        }
        try engine.commit(batch)
    }

    @Test func backupsAreTheDatabases() throws {
        let packs = try database.open().packs
        let error = try #require(throws: PackError.self) { try packs.copy(to: "/tmp/none") }
        #expect("\(error)".contains("pg_dump"))
    }

    /// What a database without our tables is good for: not to be looked at.
    @Test func aStoreThatIsOnlyShownIsNotMade() throws {
        let address = try database.address()
        let error = #expect(throws: PostgresError.self) {
            try PostgresEngine(address, makesTables: false)
        }
        guard case .noStore? = error else { throw try #require(error) }
        let tables = try database.run("SELECT 1 FROM pg_tables WHERE tablename LIKE 'cumulus%'")
        #expect(tables.count == 0)
    }

    @Test func secretsAreKeptWithTheStore() throws {
        try {
            let engine = try database.open()
            #expect(try engine.secret(.clusterKey) == nil)
            #expect(try engine.secret(.operatorToken) == nil)
            try engine.keep("0a1b", as: .clusterKey)
            try engine.keep("token", as: .operatorToken)
            try engine.keep("another", as: .operatorToken)
        }()
        let engine = try database.open()
        #expect(try engine.secret(.clusterKey) == "0a1b")
        #expect(try engine.secret(.operatorToken) == "another")
    }
}
