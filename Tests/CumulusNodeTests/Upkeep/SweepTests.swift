// The collector deletes children whose owner died when nobody was there to see it, and forgets all
// that nobody needs, however much it is.

import Cumulus
import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@testable import CumulusNode

@Suite(.serialized) struct SweepTests {
    @Test func aChildWithoutItsOwnerIsDeleted() async throws {
        let server = try await TestServer()
        let container = try await server.container(user: "ada")
        let database = container.privateCloudDatabase
        _ = try await database.save(Record("owner"))
        for (name, owner) in [("child", "owner"), ("other", "nobody")] {
            _ = try await database.save(Record(name, ["of": .owner(owner)]))
        }
        try await server.node.gate.change(.commits, Self.kill)
        try await Collector(server.node).sweep()
        var names: Set<String> = []
        for try await record in database.allRecords() { names.insert(record.recordID.recordName) }
        #expect(names == ["other"])
        await container.close()
        try await server.stop()
    }

    /// The owner dies, and nothing follows from it.
    private static func kill(_ transaction: inout WriteTransaction) throws(EngineError) {
        let scopes = try ScopeDirectory.all(in: transaction)
        guard let scope = scopes.first(where: { $0.scope != .cluster })?.number else { return }
        for (key, value) in try transaction.rows(.meta, .all(.zone)) {
            var parts = KeyReader(key)
            let database: DatabaseNumber = try parts.number()
            let zone = try transaction.decoding(key) { () throws(MalformedBytes) in
                try ZoneRow(row: value)
            }
            let rows = try transaction.lives(zone.number, "owner")
            guard let row = rows.first else { continue }
            var grave = RecordRow(type: row.type, birth: row.birth, createdBy: row.createdBy)
            grave.isDead = true
            grave.modified = row.modified
            grave.frontier = row.frontier
            let place = ZonePlace(
                scope: scope,
                database: database,
                number: zone.number,
                zone: Commit.Zone(
                    database: DatabaseID(kind: .private, owner: "_ada"),
                    name: Names.defaultZone,
                    generation: zone.generation
                )
            )
            _ = try transaction.replace(rows, with: [grave], of: "owner", at: place)
        }
    }

    /// More of them than one step drops.
    @Test func noOldIncrementStays() async throws {
        let server = try await TestServer()
        _ = try await server.makeUser("ada")
        func count() throws -> Int {
            try server.node.gate.latest(reach: .disk).rows(.log, .all(.increment)).count
        }
        try await server.node.gate.change(.commits, Self.addOldIncrements)
        #expect(try count() == Collector.entriesAtOnce + 1)
        try await Collector(server.node).purge()
        #expect(try count() == 0)
        try await server.stop()
    }

    /// Adds increments of a request from 1970, which no log holds any more.
    private static func addOldIncrements(
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        guard let scope = try ScopeDirectory.all(in: transaction).first?.number,
            let request = RequestID(Bytes(repeating: 0, count: 16))
        else { return }
        for number in 0...Collector.entriesAtOnce {
            transaction.put(
                .increment(scope, request, Dot(Incarnation(1), 1), "r\(number)", "n"),
                IncrementRow(stamp: .zero, delta: 1)
            )
        }
    }
}
