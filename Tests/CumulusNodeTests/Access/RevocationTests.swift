// A caller who is shut out while it is connected: its next call, what it waits for, and its
// streams.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import CumulusWire
import Testing

@testable import CumulusNode

@Suite(.serialized) struct RevocationTests {
    /// What a refused call says.
    private func refusal(_ client: RawClient) throws -> ServiceError {
        try error { _ = try client.fetch("note") }
    }

    @Test func theNextCallIsRefusedAndOthersGoOn() async throws {
        try await withServer { server in
            let tokens = [try await server.makeUser("ada"), try await server.makeUser("bob")]
            let ada = try RawClient(greeting: server.endpoint, token: tokens[0])
            let bob = try RawClient(greeting: server.endpoint, token: tokens[1])
            for client in [ada, bob] { _ = try client.save([Record("note")])[0].get() }
            let admin = try RawClient.administering(server)
            #expect(try admin.revoke(of: "ada"))
            #expect(try refusal(ada).code == .notAuthenticated)
            let saved = try error { _ = try ada.save([Record("late")]) }
            #expect(saved.code == .notAuthenticated && saved.message == Sessions.refusal.message)
            _ = try bob.fetch("note")[0].get()
            // A new connection does not help, and another node of the same state does not either.
            let greeting = try error {
                _ = try RawClient(greeting: server.endpoint, token: tokens[0])
            }
            #expect(greeting.message == Sessions.refusal.message)
            // Tokens that are made afterwards are good.
            let again = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            _ = try again.fetch("note")[0].get()
        }
    }

    @Test func aDisabledUserComesBackWhenItIsEnabled() async throws {
        try await withServer { server in
            let token = try await server.makeUser("ada")
            let ada = try RawClient(greeting: server.endpoint, token: token)
            _ = try ada.save([Record("note")])[0].get()
            let admin = try RawClient.administering(server)
            #expect(try admin.setDisabled(true, "ada"))
            #expect(try refusal(ada).code == .notAuthenticated)
            #expect(try admin.setDisabled(false, "ada"))
            #expect(try !admin.setDisabled(false, "ada"))
            _ = try ada.fetch("note")[0].get()
            let unknown = try error { try admin.setDisabled(true, "eve") }
            #expect(unknown.code == .unknownItem)
            let user = try error { try ada.setDisabled(true, "ada") }
            #expect(user.code == .permissionFailure)
        }
    }

    /// Nothing happens in the zones that they follow.
    @Test func streamsEndThoughNothingIsToBeTold() async throws {
        try await withServer { server in
            let token = try await server.makeUser("ada")
            let bobs = try await server.makeUser("bob")
            let bob = try RawClient(greeting: server.endpoint, token: bobs)
            let writer = try RawClient(greeting: server.endpoint, token: bobs)
            let clients = try (0..<3).map { _ in
                try RawClient(greeting: server.endpoint, token: token)
            }
            let calls = try clients.map { try $0.followZone() }
            let other = try bob.followZone()
            let admin = try RawClient.administering(server)
            // Somebody else's change makes the node judge them again, and nothing else.
            _ = try await server.makeUser("eve")
            #expect(try admin.setDisabled(true, "eve"))
            for client in clients { #expect(try client.isSilent(for: 50)) }
            #expect(try admin.setDisabled(true, "ada"))
            for (client, call) in zip(clients, calls) {
                client.patience = 1_000
                #expect(try client.end(of: call).code == .notAuthenticated)
            }
            #expect(try bob.isSilent(for: 50))
            _ = try writer.save([Record("note")])
            while try bob.nextFrame().stream != other.stream {}
        }
    }

    /// The revocation is in the queue before the save, in the same batch.
    @Test func aSaveThatWaitsIsNotMade() async throws {
        let engine = MemoryEngine()
        let token = try await makeToken(in: engine)
        try await withServer(engine: engine, startsThreads: false) { server in
            let gate = server.node.gate
            let ada = try RawClient(greeting: server.endpoint, token: token)
            let revoke = WriteRequest(
                EndSessions(user: "ada"),
                caller: Caller(role: .operator)
            )
            let work = StoreGate.Request(
                revoke,
                CallToken(deadline: server.node.environment.now() + 60_000)
            ) { _ in }
            #expect(
                gate.submit(
                    StoreGate.QueuedWrite(work, byteCount: 0, loop: InPlaceLoop.shared)
                )
            )
            let save = ada.call(
                .recordsModify,
                RawRequest.save([Record("late")]),
                requestID: RawRequest.newID()
            )
            try ada.send(save)
            // Once this is answered, the save is in the queue.
            _ = try ada.perform(.accountsWhoAmI)
            _ = gate.runBatch()
            let refused = try error { _ = try ada.answer(to: save) }
            #expect(refused.code == .notAuthenticated)
            let scope = try #require(
                try gate.latest(reach: .disk).scope(
                    ScopeID(container: TestServer.container, environment: .development)
                )
            )
            #expect(try gate.latest(reach: .disk).vector(of: scope).isEmpty)
        }
    }

    /// Revoked on one node, used on another one: as soon as that has heard of it.
    @Test func whatOneNodeRevokesEndsStreamsOfAnother() async throws {
        let key = Bytes(repeating: 0x5B, count: 32)
        let first = try await TestServer(clusterKey: key)
        let second = try await TestServer(clusterKey: key)
        first.follow([second])
        second.follow([first])
        let token = try await first.makeUser("ada")
        let isThere = try await eventually {
            (try? RawClient(greeting: second.endpoint, token: token)) != nil
        }
        #expect(isThere)
        let ada = try RawClient(greeting: second.endpoint, token: token)
        let call = try ada.followZone()
        #expect(try RawClient.administering(first).revoke(of: "ada"))
        ada.patience = 60_000
        #expect(try ada.end(of: call).code == .notAuthenticated)
        #expect(try refusal(ada).code == .notAuthenticated)
        try await first.stop()
        try await second.stop()
    }

    /// The epoch belongs to the state that is shown, not to an earlier or later one.
    @Test func theEpochMovesWithTheState() throws {
        let store = try TestStore()
        let visible = VisibleState(try store.engine.snapshot(), store.state)
        var next = VisibleState.Next(
            reader: try store.engine.snapshot(),
            scopes: [:],
            changesZones: false,
            changesSchemas: false
        )
        #expect(!visible.advance(to: next))
        next.accounts = 3
        #expect(visible.advance(to: next))
        #expect(visible.epochs.accounts == 3)
        #expect(!visible.advance(to: next))
    }
}
