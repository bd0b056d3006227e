// Saves of so many values that a node writes their rows of indexes in later turns: what callers see
// meanwhile, and after a restart.

import Cumulus
import CumulusModel
import CumulusNode
import CumulusStorage
import CumulusTesting
import CumulusWire
import Testing

@Suite struct OwedIndexRowsTests {
    private static let records = 100

    /// Limits for records of 20 values, few of which fit into a turn.
    private static let tight = limits {
        $0.indexRowsPerTurn = 200
        $0.owedRecordsPerZone = 150
    }

    private func save(_ prefix: String, by client: RawClient) throws {
        let records = (0..<Self.records).map { number in
            var record = Record(
                recordType: "Note",
                recordID: Record.ID(recordName: "\(prefix)\(number)")
            )
            for field in 0..<20 { record["field\(field)"] = .int64(Int64(number % 10)) }
            return record
        }
        for result in try client.save(records) { _ = try result.get() }
    }

    /// How many records of the default zone have a value.
    private func count(_ value: Int64, by client: RawClient) throws -> UInt64 {
        let query = Query(recordType: "Note", predicate: .field("field7") == value)
        var request = QueryRecordsRequest(query, database: .private, zone: nil)
        request.counts = true
        let answer = try client.perform(.recordsQuery, request.encoded())
        return try QueryRecordsResponse(wire: answer[0]).count
    }

    private func owes(_ server: TestServer) throws -> Bool {
        let reader = server.node.gate.latest(reach: .disk)
        return try ScopeDirectory.all(in: reader).contains { try reader.owesIndexRows(of: $1) }
    }

    @Test func aQueryBehindALargeSaveSeesIt() async throws {
        let engine = MemoryEngine()
        try await withServer(engine: engine, limits: Self.tight) { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            try save("r", by: client)
            #expect(try count(3, by: client) == 10)
            #expect(try await eventually { try !owes(server) })
            #expect(try count(3, by: client) == 10)
            #expect(try DerivedRows.differences(in: engine) == [])
        }
    }

    @Test func aNodeGoesOnAfterARestart() async throws {
        let engine = MemoryEngine()
        let first = try await TestServer(
            engine: engine,
            limits: Self.tight,
            paysIndexRows: false
        )
        let token = try await first.makeUser("ada")
        let client = try RawClient(greeting: first.endpoint, token: token)
        try save("r", by: client)
        #expect(try owes(first))
        #expect(try count(3, by: client) == 10)
        let refusal = try error { try save("s", by: client) }
        #expect(refusal.code == .requestRateLimited && refusal.reason == .overloaded)
        #expect(refusal.retryAfterMilliseconds != nil)
        // A smaller one is taken.
        _ = try client.save([Record("other")])[0].get()
        try await first.stop()
        let again = MemoryEngine(reopening: engine)
        try await withServer(engine: again, limits: Self.tight) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            #expect(try count(3, by: client) == 10)
            #expect(try await eventually { try !owes(server) })
            try save("s", by: client)
            #expect(try count(3, by: client) == 20)
            #expect(try await eventually { try !owes(server) })
            #expect(try DerivedRows.differences(in: again) == [])
        }
    }
}
