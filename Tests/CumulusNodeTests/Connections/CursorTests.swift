// Cursors on real nodes: whatever is done to one, it never shows another caller's data.

import Cumulus
import CumulusModel
import CumulusNode
import CumulusStorage
import CumulusTesting
import CumulusWire
import Testing

@Suite(.serialized) struct CursorTests {
    private static func request(
        _ cursor: Bytes = [],
        in database: DatabaseScope = .private,
        equals value: FieldValue = "some text"
    ) -> Bytes {
        let query = Query(
            recordType: "Note",
            predicate: Query.Predicate(nodes: [
                .comparison(Query.Comparison("text", .equals, [.value(value)]))
            ])
        )
        var request = QueryRecordsRequest(query, database: database, zone: nil)
        request.cursor = cursor
        request.limit = 2
        return request.encoded()
    }

    private static func save(_ client: RawClient, _ names: [String]) throws {
        let records = names.map { name in
            var record = Record(recordType: "Note", recordID: .init(recordName: name))
            record["text"] = "some text"
            return record
        }
        _ = try client.perform(
            .recordsModify,
            RawRequest.save(records),
            requestID: RawRequest.newID()
        )
    }

    private static func page(
        _ client: RawClient,
        _ request: Bytes
    ) throws -> QueryRecordsResponse {
        try QueryRecordsResponse(wire: client.perform(.recordsQuery, request)[0])
    }

    @Test func nobodyGoesOnWithAnothersCursor() async throws {
        try await withServer { server in
            let ada = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            let bob = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("bob")
            )
            try Self.save(ada, ["a1", "a2", "a3"])
            try Self.save(bob, ["b1", "b2", "b3"])
            let first = try Self.page(ada, Self.request())
            #expect(first.records.map(\.recordID.recordName) == ["a1", "a2"])
            let error = #expect(throws: ServiceError.self) {
                try Self.page(bob, Self.request(first.cursor))
            }
            #expect(error?.message.hasPrefix("the cursor is of another query") == true)
            let rest = try Self.page(ada, Self.request(first.cursor))
            #expect(rest.records.map(\.recordID.recordName) == ["a3"])
            #expect(rest.cursor.isEmpty)
        }
    }

    @Test func aCursorGoesOnAfterARestart() async throws {
        let (engine, key) = (MemoryEngine(), Bytes(repeating: 9, count: 32))
        var token = ""
        var cursor: Bytes = []
        for run in 0...1 {
            let server = try await TestServer(engine: engine, clusterKey: key)
            if run == 0 { token = try await server.makeUser("ada") }
            let client = try RawClient(greeting: server.endpoint, token: token)
            if run == 0 { try Self.save(client, ["a1", "a2", "a3"]) }
            let page = try Self.page(client, Self.request(cursor))
            let names = page.records.map(\.recordID.recordName)
            #expect(names == (run == 0 ? ["a1", "a2"] : ["a3"]))
            cursor = page.cursor
            try await server.stop()
        }
        #expect(cursor.isEmpty)
    }

    @Test func aKeyThatIsNoNameIsNotSentBack() async throws {
        try await withServer { server in
            let client = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            let key = String(repeating: "k", count: 300)
            let query = Query(
                recordType: "Note",
                predicate: Query.Predicate(nodes: [
                    .comparison(Query.Comparison(key, .equals, [.value(1)]))
                ])
            )
            let request = QueryRecordsRequest(query, database: .private, zone: nil).encoded()
            let error = #expect(throws: ServiceError.self) { try Self.page(client, request) }
            #expect(error?.reason == .invalidName)
            #expect(error?.message.utf8.count ?? 0 < 200)
        }
    }

    @Test func aDamagedCursorIsRefused() async throws {
        try await withServer { server in
            let client = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            try Self.save(client, ["a1", "a2", "a3"])
            let whole = try Self.page(client, Self.request()).cursor
            var dice = SeededGenerator(seed: 31)
            for _ in 0..<1_000 {
                let damaged = Damage.mutation(of: whole, using: &dice)
                if damaged == whole || damaged.isEmpty { continue }
                let error = #expect(throws: ServiceError.self) {
                    try Self.page(client, Self.request(damaged))
                }
                #expect(error?.code == .invalidArguments)
                #expect(error?.message.hasPrefix("the cursor can't be used") == true)
            }
            let other = #expect(throws: ServiceError.self) {
                try Self.page(client, Self.request(whole, equals: "other"))
            }
            #expect(other?.message.hasPrefix("the cursor is of another query") == true)
            #expect(try Self.page(client, Self.request(whole)).records.count == 1)
        }
    }
}
