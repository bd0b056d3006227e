// The same request id again: after a restart of the node, with another body, by another user; and
// what the client makes of it.

import Cumulus
import CumulusModel
import CumulusNode
import CumulusStorage
import CumulusTesting
import CumulusWire
import Testing

@Suite(.serialized) struct RetryTests {
    private let engine = MemoryEngine()
    private let request = RawRequest.save([Record("first")])
    private let id = RawRequest.newID()

    @Test func aRequestThatIsRepeatedAfterARestartIsNotMadeAgain() async throws {
        let token = try await makeToken(in: engine)
        var first: Record?
        try await withServer(engine: engine) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            first = try client.modify(request, id: id).saves[0].get()
        }
        let counting = CountingEngine(MemoryEngine(reopening: engine))
        try await withServer(engine: counting) { server in
            let flushes = counting.flushes
            let client = try RawClient(greeting: server.endpoint, token: token)
            let again = try client.modify(request, id: id).saves[0].get()
            #expect(again.recordChangeTag == first?.recordChangeTag)
            #expect(counting.flushes == flushes)
            #expect(try client.fetch("first")[0].get().recordChangeTag == first?.recordChangeTag)
        }
    }

    @Test func anIncrementThatIsRepeatedCountsOnce() async throws {
        let token = try await makeToken(in: engine)
        var counter = Record(recordType: "Counter", recordID: Record.ID(recordName: "c"))
        counter.increment("count", by: 5)
        let save = RawRequest.save(encoded: [counter.encodedSave(allKeys: true)], policy: 1)
        try await withServer(engine: engine) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            for _ in 0..<3 { _ = try client.modify(save, id: id).saves[0].get() }
            #expect(try client.fetch("c")[0].get()["count"]?.int64 == 5)
        }
    }

    /// Twice in one batch of the writer.
    @Test func anIncrementThatIsRepeatedAtOnceCountsOnce() async throws {
        let token = try await makeToken(in: engine)
        var counter = Record(recordType: "Counter", recordID: Record.ID(recordName: "c"))
        counter.increment("count", by: 5)
        let save = RawRequest.save(encoded: [counter.encodedSave(allKeys: true)], policy: 1)
        try await withServer(engine: engine, startsThreads: false) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            let calls = (0..<2).map { _ in client.call(.recordsModify, save, requestID: id) }
            try client.send(calls)
            #expect(try await eventually { server.node.callsInProgress == 2 })
            #expect(server.node.gate.runBatch())
            for call in calls { #expect(try client.answer(to: call).count == 1) }
        }
        try await withServer(engine: engine) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            #expect(try client.fetch("c")[0].get()["count"]?.int64 == 5)
        }
    }

    @Test func aRequestIDIsNotForAnotherBody() async throws {
        let token = try await makeToken(in: engine)
        try await withServer(engine: engine) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            _ = try client.modify(request, id: id)
            let other = RawRequest.save([Record("second")])
            let error = try error { _ = try client.modify(other, id: id) }
            #expect(error.code == .invalidArguments && error.reason == .requestIDReused)
            #expect(try client.fetch("second")[0].refusal?.code == .unknownItem)
        }
    }

    /// The bytes of a request for two deletions ask for nothing as a request for zones.
    @Test func aRequestIDIsNotForAnotherMethod() async throws {
        let token = try await makeToken(in: engine)
        try await withServer(engine: engine) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            let deletes = ModifyRecordsRequest(
                database: .private,
                policy: 0,
                isAtomic: true,
                saves: [],
                deletes: ["first", "second"].map { WireRecordID(name: Bytes($0.utf8), zone: nil) }
            ).encoded()
            try client.save([Record("first"), Record("second")])
            _ = try client.modify(deletes, id: id)
            let error = try error {
                _ = try client.perform(.zonesModify, deletes, requestID: id)
            }
            #expect(error.code == .invalidArguments && error.reason == .requestIDReused)
        }
    }

    @Test func aRequestIDOfAnotherUserMeansNothing() async throws {
        let ada = try await makeToken(in: engine, user: "ada")
        let bob = try await makeToken(in: engine, user: "bob")
        try await withServer(engine: engine) { server in
            let first = try RawClient(greeting: server.endpoint, token: ada)
            let second = try RawClient(greeting: server.endpoint, token: bob)
            let mine = try first.modify(request, id: id).saves[0].get()
            let theirs = try second.modify(request, id: id).saves[0].get()
            #expect(mine.creatorUserRecordName != theirs.creatorUserRecordName)
            #expect(mine.recordChangeTag != theirs.recordChangeTag)
        }
    }

    @Test(arguments: [0, 8, 15, 17]) func aRequestIDHasSixteenBytes(count: Int) async throws {
        let token = try await makeToken(in: engine)
        try await withServer(engine: engine) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            let id = Bytes(repeating: 1, count: count)
            let error = try error { _ = try client.modify(request, id: id) }
            #expect(error.code == .invalidArguments && error.message.contains("16 bytes"))
        }
    }

    @Test(arguments: [-25 * 3_600_000, 11 * 60_000]) func aRequestIDOfAnotherDayIsRefused(
        milliseconds: Int64
    ) async throws {
        let token = try await makeToken(in: engine)
        try await withServer(engine: engine) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            let now = try #require(RequestID(id)).milliseconds
            var dice = SeededGenerator(seed: 1)
            let id = RequestID(milliseconds: now + milliseconds, using: &dice).bytes
            let error = try error { _ = try client.modify(request, id: id) }
            #expect(error.code == .invalidArguments && error.reason == .requestIDExpired)
        }
    }

    // MARK: The client

    /// Once its first attempt was lost, a refusal of the second one says nothing about the first.
    @Test func aSaveThatWasLostAndThenRefusedHasAnUnknownOutcome() async throws {
        let token = try await makeToken(in: engine)
        let port = TestPort.free()
        let first = try await TestServer(engine: engine, startsThreads: false, port: port)
        let container = first.container(token: token, timeout: .seconds(2))
        async let saved = container.privateCloudDatabase.save(Record("first"))
        #expect(try await eventually { first.node.callsInProgress == 1 })
        try await first.stop()
        let reopened = MemoryEngine(reopening: engine)
        let second = try await TestServer(engine: reopened, port: port)
        second.node.beginDraining()
        do {
            _ = try await saved
            Issue.record("a draining node saved")
        } catch let error as ServiceError {
            #expect(error.code == .serverResponseLost, "\(error)")
        }
        await container.close()
        try await second.stop()
    }

    /// Nothing is left behind by an attempt to connect.
    @Test func aContainerMayBeClosedWhileItConnects() async throws {
        for _ in 0..<20 {
            let server = try await TestServer(engine: MemoryEngine())
            let container = server.container(connections: 4)
            let fetch = Task {
                try await container.publicCloudDatabase.record(for: .init(recordName: "a"))
            }
            await Task.yield()
            await container.close()
            await #expect(throws: ServiceError.self) { try await fetch.value }
            try await server.stop()
        }
    }
}
