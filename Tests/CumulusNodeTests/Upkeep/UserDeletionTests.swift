// Users that an operator deletes, on nodes with real sockets: what the call says, who comes in, and
// what becomes of data on nodes that were cut off meanwhile.

import Cumulus
import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import CumulusWire
import Synchronization
import Testing

@testable import CumulusNode

@Suite(.serialized) struct UserDeletionTests {
    private static let scope = ScopeID(
        container: TestServer.container,
        environment: .development
    )

    /// The names of the zones in private databases.
    private func zones(at server: TestServer) throws -> [String] {
        let reader = server.node.gate.latest(reach: .disk)
        guard let number = try reader.scope(Self.scope) else { return [] }
        return try reader.zones(of: number).filter { $0.database.kind == .private }.map(\.name)
    }

    @Test func theCallSaysWhatGoesAndThenDeletesIt() async throws {
        let lines = Mutex<[String]>([])
        let server = try await TestServer(
            audit: { line in lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) } }
        )
        let token = try await server.makeUser("ada")
        let ada = try RawClient(greeting: server.endpoint, token: token)
        _ = try ada.save([Record("note")])[0].get()
        _ = try ada.save([Record("public note")], in: .public)[0].get()
        let admin = server.nodeOperator()
        let shown = try await admin.deleteUser("ada", onlyShows: true)
        #expect(shown.counts[.zones] == 1 && shown.counts[.records] == 1)
        #expect(shown.counts[.sessions] == 1 && shown.counts[.bytes] ?? 0 > 0)
        _ = try ada.fetch("note")[0].get()
        _ = try await admin.deleteUser("ada", onlyShows: false)
        #expect(try error { _ = try ada.fetch("note") }.code == .notAuthenticated)
        #expect(try await eventually { try zones(at: server).isEmpty })
        await #expect(throws: ServiceError.self) {
            try await admin.deleteUser("ada", onlyShows: false)
        }
        // Another user of the name finds what is public, and nothing else.
        let again = try RawClient(
            greeting: server.endpoint,
            token: try await server.makeUser("ada")
        )
        #expect(try again.fetch("note")[0].refusal?.code == .unknownItem)
        _ = try again.fetch("public note", in: .public)[0].get()
        let acts = lines.withLock { $0.filter { $0.contains("OPERATOR_DELETE_USER") } }
        #expect(acts.count == 3)
        #expect(acts[0].contains("nothing deleted") && !acts[1].contains("nothing deleted"))
        await admin.close()
        try await server.stop()
    }

    @Test func whatACutOffNodeWroteGoesOnBoth() async throws {
        let key = Bytes(repeating: 0x6A, count: 32)
        let first = try await TestServer(clusterKey: key)
        let second = try await TestServer(clusterKey: key)
        first.follow([second])
        second.follow([first])
        let token = try await first.makeUser("ada")
        try await waitForUser(token, at: second)
        let ada = try RawClient(greeting: second.endpoint, token: token)
        _ = try ada.save([Record("note")])[0].get()
        #expect(try await eventually { try zones(at: first) == ["_defaultZone"] })
        let admin = first.nodeOperator()
        // Both have to know that the other one knows deletions.
        #expect(
            try await eventually {
                try Feature.deletion.refusal(in: first.node.gate.latest(reach: .disk)) == nil
            }
        )
        await second.unfollow()
        await first.unfollow()
        _ = try await admin.deleteUser("ada", onlyShows: false)
        #expect(try await eventually { try zones(at: first).isEmpty })
        // The other node has not heard of it.
        let container = second.container(token: token)
        try await container.privateCloudDatabase.save(
            RecordZone(zoneID: RecordZone.ID(zoneName: "Late"))
        )
        await container.close()
        first.follow([second])
        second.follow([first])
        #expect(
            try await eventually {
                (try? RawClient(greeting: second.endpoint, token: token)) == nil
            }
        )
        #expect(try await eventually { try zones(at: first) == ["Late"] })
        #expect(try await eventually { try zones(at: second) == ["Late"] })
        // The node that took the deletion looks at everything again, as each hour.
        try await DeletionKeeper(first.node).lookAtAll()
        #expect(try await eventually { try zones(at: second).isEmpty })
        #expect(try await eventually { try zones(at: first).isEmpty })
        await admin.close()
        try await first.stop()
        try await second.stop()
    }
}
