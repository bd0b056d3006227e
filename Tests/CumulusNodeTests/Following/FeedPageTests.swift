// Where a page of a feed is read: on the event loop if it is in memory and short, else on a reader
// thread; and that devices of one user share it, each with what it is told.
//
// The node runs without threads, so what waits for a thread is seen.

import CumulusModel
import CumulusStorage
import CumulusTesting
import CumulusWire
import Testing

@testable import CumulusNode

@Suite(.timeLimit(.minutes(1))) struct FeedPageTests {
    private let engine = CountingEngine()

    /// A device that follows its user's feed.
    private struct Device {
        let client: RawClient
        let call: Frame

        /// The names of the records that the next page tells of.
        func told() throws -> [String] {
            while true {
                let frame = try client.nextFrame()
                guard frame.stream == call.stream else { continue }
                if frame.kind == .status { throw try ServiceError(wire: frame.payload) }
                let page = try WireFeedPage(wire: frame.payload)
                #expect(page.isCheckpoint && page.reset == nil)
                return page.notifications.map { notification in
                    guard case .record(let news) = notification.news else { return "?" }
                    return news.recordID.recordName
                }
            }
        }
    }

    private func note(_ name: String) -> Record {
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: name))
        record["stars"] = 5
        return record
    }

    /// Runs a test against a node without threads, and a user who subscribes to notes.
    private func withUser(_ body: (TestServer, String) async throws -> Void) async throws {
        var token = ""
        try await withServer(engine: engine) { server in
            token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            try client.save([note("first")])
            let subscription = Subscription(
                id: "s",
                kind: .query(recordType: "Note", predicate: .field("stars") > Int64(1))
            )
            let request = ModifySubscriptionsRequest(
                database: .private,
                saves: [WireSubscription(subscription)],
                deletes: []
            )
            _ = try client.perform(
                .subscriptionsModify,
                request.encoded(),
                requestID: RawRequest.newID()
            )
        }
        try await withServer(engine: engine, startsThreads: false) { try await body($0, token) }
    }

    private func connect(_ server: TestServer, _ token: String, device: UInt8) throws -> RawClient {
        let client = try RawClient(server.endpoint)
        var hello = Hello()
        hello.container = Bytes(TestServer.container.utf8)
        hello.environment = UInt32(Environment.development.rawValue)
        hello.deviceID = [device]
        hello.token = Bytes(token.utf8)
        try client.send(RawClient.greeting(hello))
        try client.readHello()
        return client
    }

    /// A device that is up to date; a thread has read that it is.
    private func follow(_ server: TestServer, _ client: RawClient) async throws -> Device {
        let call = client.call(.feedsFollow, FollowFeedRequest(token: []).encoded())
        try client.send(call)
        try await read(server)
        let device = Device(client: client, call: call)
        #expect(try device.told() == [])
        return device
    }

    /// Does what waits for a reader thread, which is one page.
    private func read(_ server: TestServer) async throws {
        #expect(try await eventually { server.node.gate.hasReads })
        #expect(server.node.gate.runRead())
    }

    private func save(
        _ names: [String],
        by client: RawClient,
        _ server: TestServer
    ) async throws {
        let call = client.call(
            .recordsModify,
            RawRequest.save(names.map(note)),
            requestID: RawRequest.newID()
        )
        try client.send(call)
        #expect(try await eventually { server.node.gate.hasWrites })
        #expect(server.node.gate.runBatch())
    }

    @Test func whatIsInMemoryIsReadOnTheLoop() async throws {
        try await withUser { server, token in
            var devices: [Device] = []
            for number in 1...3 as ClosedRange<UInt8> {
                devices.append(try await follow(server, connect(server, token, device: number)))
            }
            let writer = try connect(server, token, device: 9)
            for name in ["a", "b"] {
                try await save([name], by: writer, server)
                for device in devices { #expect(try device.told() == [name]) }
            }
            #expect(!server.node.gate.hasReads)
        }
    }

    /// The device that made a change has a page of its own, whichever of them is read first.
    @Test func theAuthorSharesNoPage() async throws {
        try await withUser { server, token in
            var devices: [Device] = []
            for number in 1...3 as ClosedRange<UInt8> {
                devices.append(try await follow(server, connect(server, token, device: number)))
            }
            for (author, name) in [(0, "a"), (1, "b"), (2, "c")] {
                try await save([name], by: devices[author].client, server)
                for (index, device) in devices.enumerated() where index != author {
                    #expect(try device.told() == [name])
                }
            }
            let writer = try connect(server, token, device: 9)
            try await save(["d"], by: writer, server)
            for device in devices { #expect(try device.told() == ["d"]) }
            #expect(!server.node.gate.hasReads)
        }
    }

    @Test func whatIsNotInMemoryIsReadByAThread() async throws {
        try await withUser { server, token in
            let device = try await follow(server, connect(server, token, device: 1))
            let writer = try connect(server, token, device: 9)
            engine.setCold(true)
            try await save(["a"], by: writer, server)
            try await read(server)
            #expect(try device.told() == ["a"])
            engine.setCold(false)
            try await save(["b"], by: writer, server)
            #expect(try device.told() == ["b"])
            #expect(!server.node.gate.hasReads)
        }
    }

    @Test func manyRowsAreReadByAThread() async throws {
        try await withUser { server, token in
            let device = try await follow(server, connect(server, token, device: 1))
            let writer = try connect(server, token, device: 9)
            let names = (0...FeedSearch.mostRowsOnLoop).map { "n\($0)" }
            try await save(names, by: writer, server)
            try await read(server)
            #expect(try Set(device.told()) == Set(names))
            try await save(["one"], by: writer, server)
            #expect(try device.told() == ["one"])
            #expect(!server.node.gate.hasReads)
        }
    }
}
