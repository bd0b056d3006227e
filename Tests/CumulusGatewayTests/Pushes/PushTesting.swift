// What tests of couriers share: services on a socket, a node that knows them, and a runner that
// pushes for the length of a body.

import Cumulus
import CumulusGateway
import CumulusModel
import CumulusNode
import CumulusStorage
import CumulusTesting
import CumulusTransport
import Logging
import Testing

/// The three services of a `PushEndpoint`, as an operator sets them up.
struct TestPushServices: Sendable {
    var all: [PushSetup]

    /// - Parameters:
    ///   - url: Where they are.
    ///   - others: Where other browsers' services are.
    init(at url: String, _ others: String...) throws {
        let hosts = try ([url] + others).map { try #require(WebAddress($0)).authority }
        all = [
            try PushSamples.apns(at: url), try PushSamples.webPush(hosts),
            try PushSamples.fcm(at: url),
        ]
    }

    func server(engine: any StorageEngine = MemoryEngine()) async throws -> TestServer {
        let offers = all.map(\.offer)
        return try await TestServer(engine: engine, pushOffers: { _ in offers })
    }
}

protocol PushTesting {}

extension PushTesting {
    /// Pushes while the body runs.
    ///
    /// - Parameter door: The couriers' way to the node; nil means the node's own door.
    func pushing(
        _ services: TestPushServices,
        of server: TestServer,
        _ meter: PushMeter = PushMeter(),
        through door: (any PushDoor)? = nil,
        milliseconds: Int64 = 15_000,
        _ body: () async throws -> Void
    ) async throws {
        let loops = EventLoops(threads: 1)
        let group = loops.group
        let runner = PushRunner(
            door ?? NodeDoor(server.node) { _ in nil },
            setups: { services.all },
            client: { _ in try OutboundPushClient(on: group, milliseconds: milliseconds) },
            meter: meter,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let task = Task { await runner.run() }
        do {
            try await body()
        } catch {
            Issue.record(error)
        }
        task.cancel()
        await task.value
        try await loops.stop()
    }

    func wait(_ what: Comment, until isSo: () async throws -> Bool) async throws {
        for _ in 0..<4_000 {
            if try await isSo() { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        Issue.record(what)
    }

    func text(_ meter: PushMeter, now: Int64 = 0) -> String {
        MetricsText.text(meter.metrics(now: now))
    }

    func subscribe(
        _ container: Container,
        _ id: String = "notes",
        where format: String = "TRUEPREDICATE",
        options: Subscription.Options = .standard,
        _ change: (inout Subscription.NotificationInfo) -> Void = { $0.alertBody = "New note" }
    ) async throws {
        var info = Subscription.NotificationInfo()
        change(&info)
        let subscription = Subscription(
            id: id,
            kind: .query(recordType: "Note", predicate: try Query.Predicate(format: format)),
            options: options,
            notificationInfo: info
        )
        try await container.privateCloudDatabase.save(subscription)
    }

    func save(_ names: String..., in container: Container) async throws {
        for name in names {
            var note = Record(recordType: "Note", recordID: Record.ID(recordName: name))
            note["title"] = .string(name)
            try await container.privateCloudDatabase.save(note)
        }
    }

    func delete(_ name: String, in container: Container) async throws {
        try await container.privateCloudDatabase.deleteRecord(
            withID: Record.ID(recordName: name)
        )
    }

    func user(
        _ name: String = "ada",
        at server: TestServer,
        deviceID: String = ""
    ) async throws -> Container {
        let token = try await server.makeUser(name)
        return server.container(token: token, deviceID: deviceID)
    }
}
