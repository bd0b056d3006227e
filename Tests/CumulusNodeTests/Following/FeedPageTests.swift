// Where a page of a feed is read: on a reader thread for the first of the devices that share it, on
// the event loop for the others; and that each is told what it may know.
//
// The node runs without threads, so what waits for a thread is seen. A device has credit for one
// page at a time, so a test says when it asks.

import CumulusModel
import CumulusStorage
import CumulusTesting
import CumulusWire
import Testing

@testable import CumulusNode

@Suite(.timeLimit(.minutes(1))) struct FeedPageTests {
    private let engine = CountingEngine()

    /// A device that follows its user's feed.
    private final class Device {
        let client: RawClient
        let call: Frame
        /// The bytes that it was told and has given no credit for.
        private var owed = 0

        init(client: RawClient, call: Frame) {
            self.client = client
            self.call = call
        }

        /// Gives credit for the next page.
        func ask() throws {
            try client.credit(UInt32(owed), on: call)
            owed = 0
        }

        /// The names of the records that the next page tells of.
        func told() throws -> [String] {
            while true {
                let frame = try client.nextFrame()
                guard frame.stream == call.stream else { continue }
                if frame.kind == .status { throw try ServiceError(wire: frame.payload) }
                owed += frame.payload.count
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

    /// Runs a test against a node without threads, and two users with equal subscriptions.
    private func withUsers(
        _ body: (TestServer, _ ada: String, _ bob: String) async throws -> Void
    ) async throws {
        var tokens: [String] = []
        try await withServer(engine: engine) { server in
            for user in ["ada", "bob"] {
                tokens.append(try await server.makeUser(user))
                let client = try RawClient(greeting: server.endpoint, token: tokens.last ?? "")
                try client.save([note("first of \(user)")], in: .public)
                try subscribe(client)
            }
        }
        let limits = limits { $0.initialCredit = 1 }
        try await withServer(engine: engine, limits: limits, startsThreads: false) { server in
            try await body(server, tokens[0], tokens[1])
        }
    }

    private func subscribe(_ client: RawClient) throws {
        let subscription = Subscription(
            id: "s",
            kind: .query(recordType: "Note", predicate: .field("stars") > Int64(1))
        )
        let request = ModifySubscriptionsRequest(
            database: .public,
            saves: [WireSubscription(subscription)],
            deletes: []
        )
        _ = try client.perform(
            .subscriptionsModify,
            request.encoded(),
            requestID: RawRequest.newID()
        )
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
    private func follow(
        _ server: TestServer,
        _ token: String,
        device: UInt8
    ) async throws -> Device {
        let client = try connect(server, token, device: device)
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

    private func save(_ name: String, by client: RawClient, _ server: TestServer) async throws {
        let call = client.call(
            .recordsModify,
            RawRequest.save([note(name)], in: .public),
            requestID: RawRequest.newID()
        )
        try client.send(call)
        #expect(try await eventually { server.node.gate.hasWrites })
        #expect(server.node.gate.runBatch())
    }

    /// What a page that another device was told needs is in memory, even if no row is.
    @Test func onePageIsReadForAllDevicesOfAUser() async throws {
        try await withUsers { server, ada, _ in
            var devices: [Device] = []
            for number in 1...3 as ClosedRange<UInt8> {
                devices.append(try await follow(server, ada, device: number))
            }
            let writer = try connect(server, ada, device: 9)
            for name in ["a", "b"] {
                try await save(name, by: writer, server)
                try devices[0].ask()
                try await read(server)
                #expect(try devices[0].told() == [name])
                engine.setCold(true)
                for device in devices.dropFirst() {
                    try device.ask()
                    #expect(try device.told() == [name])
                }
                engine.setCold(false)
            }
            #expect(!server.node.gate.hasReads)
        }
    }

    @Test func usersWithEqualSubscriptionsShareWhatIsNew() async throws {
        try await withUsers { server, ada, bob in
            let first = try await follow(server, ada, device: 1)
            let second = try await follow(server, bob, device: 1)
            let writer = try connect(server, ada, device: 9)
            try await save("a", by: writer, server)
            try first.ask()
            try await read(server)
            #expect(try first.told() == ["a"])
            try second.ask()
            #expect(try second.told() == ["a"])
            #expect(!server.node.gate.hasReads)
        }
    }

    /// The device that made a change has a page of its own, whether it is read first or last.
    @Test(arguments: [true, false]) func theAuthorSharesNoPage(authorIsFirst: Bool) async throws {
        try await withUsers { server, ada, _ in
            let author = try await follow(server, ada, device: 1)
            let others = [
                try await follow(server, ada, device: 2),
                try await follow(server, ada, device: 3),
            ]
            try await save("a", by: author.client, server)
            if authorIsFirst {
                try author.ask()
                try await read(server)
            }
            // The author's read has found what the others are told.
            try others[0].ask()
            if !authorIsFirst { try await read(server) }
            #expect(try others[0].told() == ["a"])
            try others[1].ask()
            #expect(try others[1].told() == ["a"])
            if !authorIsFirst {
                try author.ask()
                try await read(server)
            }
            let writer = try connect(server, ada, device: 9)
            try await save("b", by: writer, server)
            // The author was not told of its change, so it still has credit.
            try await read(server)
            #expect(try author.told() == ["b"])
            #expect(!server.node.gate.hasReads)
        }
    }
}
