// Webhooks from a save to the endpoint: a node, a real socket, failures, and a restart.
//
// The first test takes three seconds: these are the pauses after two failures.

import Cumulus
import CumulusGateway
import CumulusModel
import CumulusNode
import CumulusStorage
import CumulusTesting
import CumulusTransport
import Logging
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(2))) struct WebhookRunTests {
    private static let secret = "0123456789abcdef"

    private static func webhook(
        _ address: String,
        _ token: String,
        isPrivate: Bool = true,
        name: String = "notes"
    ) throws -> Webhook {
        let list = """
            [{"name": "\(name)", "url": "\(address)", "private": \(isPrivate), "secretFile": "s",
              "tokenFile": "t", "container": "\(TestServer.container)",
              "environment": "development"}]
            """
        let entry = try #require(try Webhook.entries(Bytes(list.utf8)).first)
        return try Webhook(entry, secret: secret, token: token)
    }

    /// Delivers while the body runs.
    private func delivering(
        _ webhooks: @escaping @Sendable () -> [Webhook],
        of server: TestServer,
        _ meter: WebhookMeter = WebhookMeter(),
        isFirst: @escaping @Sendable () async throws -> Bool = { true },
        _ body: () async throws -> Void
    ) async throws {
        let loops = EventLoops(threads: 1)
        let group = loops.group
        let runner = WebhookRunner(
            NodeDoor(server.node) { _ in nil },
            webhooks: webhooks,
            isFirst: isFirst,
            client: { webhook in
                let judge = webhook.entry.isPrivate ? nil : PublicAddress.isPublic
                return OutboundWebClient(on: group, judge: judge)
            },
            meter: meter,
            patience: 0,
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

    private func text(_ meter: WebhookMeter, now: Int64 = 0) -> String {
        MetricsText.text(meter.metrics(now: now))
    }

    private func wait(_ what: Comment, until isSo: () async throws -> Bool) async throws {
        for _ in 0..<4_000 {
            if try await isSo() { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        Issue.record(what)
    }

    private func subscribe(_ container: Container) async throws {
        let predicate = try Query.Predicate(format: "TRUEPREDICATE")
        let subscription = Subscription(
            id: "notes",
            kind: .query(recordType: "Note", predicate: predicate)
        )
        try await container.privateCloudDatabase.save(subscription)
    }

    private func save(_ names: String..., in container: Container) async throws {
        for name in names {
            var note = Record(recordType: "Note", recordID: Record.ID(recordName: name))
            note["title"] = .string(name)
            try await container.privateCloudDatabase.save(note)
        }
    }

    /// What is told to the user, and not read yet.
    private func unread(_ container: Container) async throws -> Int {
        var count = 0
        for try await page in container.notificationHistory() {
            count += page.notifications.filter { !$0.isRead }.count
        }
        return count
    }

    @Test func nothingIsLostByFailuresAndRestarts() async throws {
        try await WebhookEndpoint.serve { endpoint, address in
            let engine = MemoryEngine()
            let meter = WebhookMeter()
            var server = try await TestServer(engine: engine)
            try await server.importSchema(WebUser.schema)
            let token = try await server.makeUser("hook")
            let webhook = try Self.webhook(address, token)
            var user = server.container(token: token)
            try await subscribe(user)
            try await save("a", "b", in: user)
            endpoint.fail(2)
            try await delivering({ [webhook] }, of: server, meter) {
                try await wait("two are taken") { endpoint.records.count == 2 }
                try await wait("the feed is marked") { try await unread(user) == 0 }
            }
            // The first one came three times, and the second one behind it.
            #expect(endpoint.arrivals.map(\.record) == ["a", "a", "a", "b"])
            #expect(Set(endpoint.arrivals.map(\.id)).count == 2)
            for arrival in endpoint.arrivals {
                let parts = arrival.signature.split(separator: ",")
                let seconds = try #require(parts.first.flatMap { Int64($0.dropFirst(2)) })
                #expect(webhook.signature(of: arrival.body, seconds: seconds) == arrival.signature)
                #expect(abs(seconds - server.node.environment.wallClock() / 1_000) < 60)
            }
            let metrics = text(meter, now: server.node.environment.wallClock())
            for line in [
                #"cumulus_webhook_taken_total{webhook="notes"} 2"#,
                #"cumulus_webhook_failed_total{webhook="notes"} 2"#,
                #"cumulus_webhook_failures_in_a_row{webhook="notes"} 0"#,
                #"cumulus_webhook_lag_seconds{webhook="notes"} 0"#,
            ] {
                #expect(metrics.contains(line + "\n"), "\(metrics)")
            }

            // What happens while no node delivers is told by the next one, and nothing else is.
            try await save("c", in: user)
            await user.close()
            try await server.stop()
            server = try await TestServer(engine: MemoryEngine(reopening: engine))
            user = server.container(token: token)
            try await delivering({ [webhook] }, of: server) {
                try await wait("the third is taken") { endpoint.records.count == 3 }
                try await save("d", in: user)
                try await wait("the fourth is taken") { endpoint.records.count == 4 }
                try await wait("the feed is marked again") { try await unread(user) == 0 }
            }
            #expect(endpoint.arrivals.dropFirst(4).map(\.record) == ["c", "d"])
            #expect(endpoint.mostOpen == 1)
            await user.close()
            try await server.stop()
        }
    }

    @Test func theFileAndTheFirstMemberDecide() async throws {
        try await WebhookEndpoint.serve { endpoint, address in
            let server = try await TestServer()
            try await server.importSchema(WebUser.schema)
            let token = try await server.makeUser("hook")
            let user = server.container(token: token)
            try await subscribe(user)
            try await save("a", in: user)
            let careful = try Self.webhook(
                address.replacing("http://127.0.0.1", with: "https://localhost"),
                token,
                isPrivate: false
            )
            let open = try Self.webhook(address, token)
            let meter = WebhookMeter()
            let isFirst = Mutex(false)
            let file = Mutex([careful])
            try await delivering(
                { file.withLock { $0 } },
                of: server,
                meter,
                isFirst: { isFirst.withLock { $0 } }
            ) {
                try await Task.sleep(for: .milliseconds(100))
                #expect(!text(meter).contains("{"))
                isFirst.withLock { $0 = true }
                // Its address is one of this machine, so nothing is sent.
                try await wait("an attempt fails") {
                    text(meter).contains("failed_total{webhook=\"notes\"} 1")
                }
                #expect(endpoint.arrivals.isEmpty)
                file.withLock { $0 = [open] }
                try await wait("the new entry is used") { endpoint.records == ["a"] }
                try await wait("the feed is marked") { try await unread(user) == 0 }
                file.withLock { $0 = [] }
                try await Task.sleep(for: .milliseconds(1_200))
                try await save("b", in: user)
                try await Task.sleep(for: .milliseconds(100))
                #expect(endpoint.records == ["a"])
            }
            await user.close()
            try await server.stop()
        }
    }

    /// They would keep notifications from each other.
    @Test func twoWebhooksDoNotShareAUser() async throws {
        try await WebhookEndpoint.serve { endpoint, address in
            let server = try await TestServer()
            try await server.importSchema(WebUser.schema)
            let token = try await server.makeUser("hook")
            let admin = server.nodeOperator()
            let second = try await admin.addToken(forUser: "hook")
            await admin.close()
            let webhooks = [
                try Self.webhook(address, token),
                try Self.webhook(address, second, name: "other"),
            ]
            let user = server.container(token: token)
            try await subscribe(user)
            try await save("a", in: user)
            await user.close()
            let meter = WebhookMeter()
            try await delivering({ webhooks }, of: server, meter) {
                try await wait("one is refused") {
                    let text = text(meter)
                    return ["notes", "other"].contains {
                        text.contains("failed_total{webhook=\"\($0)\"} 1")
                    }
                }
                try await wait("the other one delivers") { endpoint.records == ["a"] }
            }
            #expect(endpoint.arrivals.count == 1)
            try await server.stop()
        }
    }

    /// A session that is revoked ends the delivery.
    @Test func aWebhookHasTheRightsOfItsUser() async throws {
        try await WebhookEndpoint.serve { endpoint, address in
            let server = try await TestServer()
            try await server.importSchema(WebUser.schema)
            let token = try await server.makeUser("hook")
            let webhook = try Self.webhook(address, token)
            let user = server.container(token: token)
            try await subscribe(user)
            try await save("a", in: user)
            try await user.revokeAllSessions()
            await user.close()
            let meter = WebhookMeter()
            try await delivering({ [webhook] }, of: server, meter) {
                try await wait("an attempt fails") {
                    text(meter).contains("failed_total{webhook=\"notes\"} 1")
                }
            }
            #expect(endpoint.arrivals.isEmpty)
            try await server.stop()
        }
    }

    /// Notifications that were marked as read, as one node knows it.
    private func read(_ token: String, at server: TestServer) async throws -> Int {
        let container = server.container(token: token, timeout: .seconds(10))
        var count = 0
        do {
            for try await page in container.notificationHistory() {
                count += page.notifications.filter(\.isRead).count
            }
        } catch {
            await container.close()
            throw error
        }
        await container.close()
        return count
    }

    /// The first member delivers, and the other one goes on from its mark.
    @Test func anotherMemberGoesOn() async throws {
        try await WebhookEndpoint.serve { endpoint, address in
            let key = Bytes(repeating: 0x5A, count: 32)
            var servers: [TestServer] = []
            for _ in 0..<2 { servers.append(try await TestServer(clusterKey: key)) }
            servers[0].follow([servers[1]])
            servers[1].follow([servers[0]])
            servers.sort { $0.node.nodeID.lexicographicallyPrecedes($1.node.nodeID) }
            let (first, second) = (servers[0], servers[1])
            try await wait("the nodes know each other") {
                let isFirst = try await first.node.isFirstMember()
                let isSecondFirst = try await second.node.isFirstMember()
                return isFirst && !isSecondFirst
            }
            try await first.importSchema(WebUser.schema)
            let token = try await first.makeUser("hook")
            let webhook = try Self.webhook(address, token)
            let user = first.container(token: token)
            try await subscribe(user)
            try await save("a", in: user)
            await user.close()
            try await delivering(
                { [webhook] },
                of: second,
                isFirst: { try await second.node.isFirstMember() }
            ) {
                try await delivering(
                    { [webhook] },
                    of: first,
                    isFirst: { try await first.node.isFirstMember() }
                ) {
                    try await wait("the mark is known to the other node") {
                        (try? await read(token, at: second)) == 1
                    }
                }
                try await first.stop()
                let user = second.container(token: token)
                try await save("b", in: user)
                await user.close()
                try await wait("the other node tells it") { endpoint.records.contains("b") }
            }
            #expect(endpoint.arrivals.map(\.record) == ["a", "b"])
            try await second.stop()
        }
    }
}
