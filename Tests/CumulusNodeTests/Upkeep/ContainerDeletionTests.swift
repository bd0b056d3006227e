// Containers that an operator deletes, on nodes with real sockets.

import Cumulus
import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import CumulusWire
import Testing

@testable import CumulusNode

@Suite(.serialized) struct ContainerDeletionTests {
    private static let name = TestServer.container
    private static let scope = ScopeID(container: name, environment: .development)

    private func zones(at server: TestServer) throws -> [String] {
        let reader = server.node.gate.latest(reach: .disk)
        guard let number = try reader.scope(Self.scope) else { return [] }
        return try reader.zones(of: number).map(\.name)
    }

    @Test func nobodyIsLetInAndEverythingGoes() async throws {
        try await withServer { server in
            let token = try await server.makeUser("ada")
            let ada = try RawClient(greeting: server.endpoint, token: token)
            let stranger = try RawClient(greeting: server.endpoint)
            _ = try ada.save([Record("note")])[0].get()
            _ = try ada.save([Record("note")], in: .public)[0].get()
            _ = try stranger.fetch("note", in: .public)[0].get()
            let admin = server.nodeOperator()
            let shown = try await admin.deleteContainer(Self.name, onlyShows: true)
            #expect(shown.counts[.zones] == 2 && shown.counts[.records] == 2)
            #expect(shown.counts[.users] == 1)
            _ = try stranger.fetch("note", in: .public)[0].get()
            _ = try await admin.deleteContainer(Self.name, onlyShows: false)
            // Who is connected is shut out, with a session and without.
            #expect(try error { _ = try ada.fetch("note") }.code == .badContainer)
            #expect(try error { _ = try stranger.fetch("note") }.code == .badContainer)
            #expect(try error { _ = try ada.save([Record("late")]) }.code == .badContainer)
            let greeting = try error { _ = try RawClient(greeting: server.endpoint) }
            #expect(greeting.code == .badContainer && greeting.message.contains("deleted"))
            #expect(try await eventually { try zones(at: server).isEmpty })
            #expect(try await admin.containers().isEmpty)
            for work in [
                { _ = try await admin.deleteContainer(Self.name, onlyShows: true) },
                { _ = try await admin.createContainer(Self.name) },
                { try await server.importSchema("DEFINE SCHEMA RECORD TYPE A (n INT64);") },
            ] as [() async throws -> Void] {
                let refused = await #expect(throws: ServiceError.self) { try await work() }
                #expect(refused?.code == .badContainer)
            }
            // Other containers and the users go on.
            #expect(try await !admin.createContainer("iCloud.other"))
            #expect(try await admin.users(in: nil).map(\.name) == ["ada"])
            await admin.close()
        }
    }

    @Test func whatACutOffNodeWroteGoesOnBoth() async throws {
        let key = Bytes(repeating: 0x6C, count: 32)
        let first = try await TestServer(clusterKey: key)
        let second = try await TestServer(clusterKey: key)
        first.follow([second])
        second.follow([first])
        let token = try await first.makeUser("ada")
        try await waitForUser(token, at: second)
        #expect(
            try await eventually {
                try Feature.deletion.refusal(in: first.node.gate.latest(reach: .disk)) == nil
            }
        )
        await second.unfollow()
        await first.unfollow()
        let admin = first.nodeOperator()
        _ = try await admin.deleteContainer(Self.name, onlyShows: false)
        let ada = try RawClient(greeting: second.endpoint, token: token)
        _ = try ada.save([Record("late")])[0].get()
        first.follow([second])
        second.follow([first])
        #expect(
            try await eventually { (try? RawClient(greeting: second.endpoint)) == nil }
        )
        #expect(try await eventually { try !zones(at: first).isEmpty })
        // The node that took the deletion looks at everything again, as each hour.
        try await DeletionKeeper(first.node).lookAtAll()
        #expect(try await eventually { try zones(at: second).isEmpty })
        #expect(try await eventually { try zones(at: first).isEmpty })
        await admin.close()
        try await first.stop()
        try await second.stop()
    }
}
