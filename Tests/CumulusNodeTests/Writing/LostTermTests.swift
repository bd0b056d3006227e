// A node whose store another process has taken over: what it has in memory is shown to nobody,
// nobody is told of a change, and other nodes take it for dead.
//
// The engine says so; what it reads would still be there.

import CumulusModel
import CumulusStorage
import CumulusTesting
import CumulusWire
import Synchronization
import Testing

@testable import CumulusNode

@Suite(.serialized) struct LostTermTests {
    private static let loss = EngineError.unavailable("another process has it")

    /// What the node said when it ended.
    private final class Words: Sendable {
        private let words = Mutex<[String]>([])

        var all: [String] { words.withLock { $0 } }

        func add(_ text: String) { words.withLock { $0.append(text) } }
    }

    private func use(
        _ body: (TestServer, CountingEngine, RawClient, Words) async throws -> Void
    ) async throws {
        let (engine, words) = (CountingEngine(), Words())
        let server = try await TestServer(engine: engine, onFailure: { words.add($0) })
        do {
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            try await body(server, engine, client, words)
        } catch {
            try await server.stop()
            throw error
        }
        try await server.stop()
    }

    @Test func nothingIsReadFromMemory() async throws {
        try await use { server, engine, client, _ in
            _ = try client.save([Record("first")])[0].get()
            #expect(try client.fetch("first")[0].get()["title"] == "a note")
            #expect(server.node.state == "ready")
            engine.setTerm(lost: Self.loss)
            #expect(server.node.state == "database away")
            let error = try error { _ = try client.fetch("first") }
            #expect(error.code == .serviceUnavailable)
            #expect(error.reason == .draining)
            #expect(error.message.contains("try again, or another node"))
            engine.setTerm(lost: nil)
            #expect(try client.fetch("first")[0].get()["title"] == "a note")
        }
    }

    /// A change that was made before needs no row to be written.
    @Test func aRepeatedChangeIsNotAnswered() async throws {
        try await use { _, engine, client, words in
            let (request, id) = (RawRequest.save([Record("first")]), RawRequest.newID())
            _ = try client.modify(request, id: id).saves[0].get()
            _ = try client.modify(request, id: id).saves[0].get()
            engine.setTerm(lost: Self.loss)
            let call = client.call(.recordsModify, request, requestID: id)
            try client.send(call)
            #expect(try await eventually { !words.all.isEmpty })
            #expect(words.all.first == "another process has it")
            #expect(throws: RawClient.Failure.silence) { try client.nextFrame(within: 100) }
        }
    }

    /// Its successor has the id of the node, and is let in at other nodes.
    ///
    /// A sign of life is waited for on both connections, for two seconds each.
    @Test func aProcessThatWasCutOffFromItsDatabaseGivesNoSignOfLife() async throws {
        let (engine, key) = (CountingEngine(), Bytes(repeating: 0x5A, count: 32))
        let node = try await TestServer(engine: engine, clusterKey: key, onFailure: { _ in })
        let peer = try await TestServer(clusterKey: key)
        node.follow([peer])
        peer.follow([node])
        let (id, runs) = (node.node.nodeID, peer.node.peerRuns)
        #expect(try await eventually { runs.isConnected(id) })
        let living = await enters(Incarnation(1), of: id, runs)
        #expect(!living)
        engine.setTerm(lost: .notInMemory)
        let away = await enters(Incarnation(2), of: id, runs)
        #expect(away)
        engine.setTerm(lost: nil)
        try await node.stop()
        try await peer.stop()
    }

    private func enters(_ run: Incarnation, of id: Bytes, _ runs: PeerRuns) async -> Bool {
        await withCheckedContinuation { waiting in
            runs.enter(run, of: id, at: "", Silent()) { waiting.resume(returning: $0) }
        }
    }

    private final class Silent: PeerLink {
        func challenge(_ answer: @escaping @Sendable (Bool) -> Void) { answer(false) }
    }
}
