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
import CumulusWire
import Logging
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(2))) struct WebhookRunTests {
    private static let secret = "0123456789abcdef"

    private static func webhook(
        _ address: String,
        isPrivate: Bool = true,
        name: String = "notes"
    ) throws -> Webhook {
        let list = """
            [{"name": "\(name)", "url": "\(address)", "private": \(isPrivate), "secretFile": "s",
              "containers": ["\(TestServer.container)"]}]
            """
        let entry = try #require(try Webhook.entries(Bytes(list.utf8)).first)
        return try Webhook(entry, secret: secret)
    }

    /// A node at which subscriptions may name two webhooks.
    private static func server(
        engine: any StorageEngine = MemoryEngine(),
        clusterKey: Bytes? = nil
    ) async throws -> TestServer {
        try await TestServer(
            engine: engine,
            clusterKey: clusterKey,
            knowsWebhook: { name, container in
                ["notes", "other"].contains(name) && container == TestServer.container
            }
        )
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

    private func subscribe(
        _ container: Container,
        _ id: String = "notes",
        where format: String = "TRUEPREDICATE",
        options: Subscription.Options = .standard,
        webhook: String? = "notes"
    ) async throws {
        let predicate = try Query.Predicate(format: format)
        var subscription = Subscription(
            id: id,
            kind: .query(recordType: "Note", predicate: predicate),
            options: options
        )
        if let webhook {
            subscription.notificationInfo = Subscription.NotificationInfo()
            subscription.notificationInfo?.webhook = webhook
        }
        try await container.privateCloudDatabase.save(subscription)
    }

    private func save(_ names: String..., in container: Container) async throws {
        for name in names {
            var note = Record(recordType: "Note", recordID: Record.ID(recordName: name))
            note["title"] = .string(name)
            try await container.privateCloudDatabase.save(note)
        }
    }

    /// How many notifications stand behind the mark of the webhook `notes`, as a node has it; nil
    /// if there is no mark yet.
    private func untold(_ user: Container, at server: TestServer) async throws -> Int? {
        let subscriber = WebhookSubscriber(
            scope: ScopeID(container: TestServer.container, environment: .development),
            user: try await user.userRecordID().recordName,
            account: "hook",
            webhook: "notes"
        )
        let door = NodeDoor(server.node) { _ in nil }
        let mark = try await door.feedAfterMarks(of: subscriber)
        if mark.isEmpty { return nil }
        let calls = try await door.enter(
            LocalEntrance(subscriber.scope, .webhook(subscriber), isSecret: true)
        )
        defer { calls.close() }
        let call = FollowFeedRequest(token: mark, untilCheckpoint: true, isHistory: true)
        let stream = await calls.follow(.feedsFollow, call.encoded())
        var count = 0
        while let message = try await stream.next() {
            count += try WireFeedPage(wire: message).notifications.count
        }
        return count
    }

    @Test func nothingIsLostByFailuresAndRestarts() async throws {
        try await WebhookEndpoint.serve { endpoint, address in
            let engine = MemoryEngine()
            let meter = WebhookMeter()
            var server = try await Self.server(engine: engine)
            try await server.importSchema(WebUser.schema)
            let token = try await server.makeUser("hook")
            let webhook = try Self.webhook(address)
            var user = server.container(token: token)
            try await subscribe(user)
            try await save("a", "b", in: user)
            endpoint.fail(2)
            try await delivering({ [webhook] }, of: server, meter) {
                try await wait("two are taken") { endpoint.records.count == 2 }
                try await wait("the feed is marked") { try await untold(user, at: server) == 0 }
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
            server = try await Self.server(engine: MemoryEngine(reopening: engine))
            user = server.container(token: token)
            try await delivering({ [webhook] }, of: server) {
                try await wait("the third is taken") { endpoint.records.count == 3 }
                try await save("d", in: user)
                try await wait("the fourth is taken") { endpoint.records.count == 4 }
                try await wait("the feed is marked again") {
                    try await untold(user, at: server) == 0
                }
            }
            #expect(endpoint.arrivals.dropFirst(4).map(\.record) == ["c", "d"])
            #expect(endpoint.mostOpen == 1)
            await user.close()
            try await server.stop()
        }
    }

    /// An endpoint that was told of a record, or may have been, hears that it is gone, though the
    /// feed tells nothing of a record that came and went.
    @Test func aRecordThatGoesAfterItWasSentIsToldAsDeleted() async throws {
        try await WebhookEndpoint.serve { endpoint, address in
            let server = try await Self.server()
            try await server.importSchema(WebUser.schema)
            let user = server.container(token: try await server.makeUser("hook"))
            let webhook = try Self.webhook(address)
            try await subscribe(user, where: "title BEGINSWITH 'n'")
            let creation: Subscription.Options = .firesOnRecordCreation
            try await subscribe(user, "creations", where: "title == 'c'", options: creation)
            try await save("c", "n1", "n2", "n3", in: user)
            endpoint.refuse("n2")
            try await delivering({ [webhook] }, of: server) {
                try await wait("an attempt fails") { !endpoint.reasons(of: "n2").isEmpty }
                for name in ["c", "n1", "n2"] {
                    let id = Record.ID(recordName: name)
                    try await user.privateCloudDatabase.deleteRecord(withID: id)
                }
                endpoint.refuse(nil)
                try await wait("all is taken") {
                    endpoint.reasons(of: "n2").last == 3 && endpoint.reasons(of: "n3") == [1]
                }
                try await wait("the feed is marked") { try await untold(user, at: server) == 0 }
            }
            // The endpoint took the first; the answer to the second may have been lost.
            #expect(endpoint.reasons(of: "n1") == [1, 3])
            #expect(endpoint.reasons(of: "n2").dropLast().allSatisfy { $0 == 1 })
            #expect(Set(endpoint.arrivals.filter(\.isTaken).map(\.id)).count >= 4)
            // Its subscription doesn't tell of deletions.
            #expect(!endpoint.reasons(of: "c").contains(3))
            await user.close()
            try await server.stop()
        }
    }

    @Test func theFileAndTheFirstMemberDecide() async throws {
        try await WebhookEndpoint.serve { endpoint, address in
            let server = try await Self.server()
            try await server.importSchema(WebUser.schema)
            let token = try await server.makeUser("hook")
            let user = server.container(token: token)
            try await subscribe(user)
            try await save("a", in: user)
            let careful = try Self.webhook(
                address.replacing("http://127.0.0.1", with: "https://localhost"),
                isPrivate: false
            )
            let open = try Self.webhook(address)
            let meter = WebhookMeter()
            let isFirst = Mutex(false)
            let file = Mutex([careful])
            let reads = Atomic<Int>(0)
            try await delivering(
                {
                    reads.add(1, ordering: .relaxed)
                    return file.withLock { $0 }
                },
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
                try await wait("the feed is marked") { try await untold(user, at: server) == 0 }
                file.withLock { $0 = [] }
                // A page is finished before it is read again.
                let before = reads.load(ordering: .relaxed)
                try await wait("the file is read twice") {
                    reads.load(ordering: .relaxed) >= before + 2
                }
                try await save("b", in: user)
                try await Task.sleep(for: .milliseconds(100))
                #expect(endpoint.records == ["a"])
            }
            await user.close()
            try await server.stop()
        }
    }

    /// Each webhook is told what the subscriptions tell that name it, on behalf of each user.
    @Test func eachSubscriptionNamesItsWebhook() async throws {
        try await WebhookEndpoint.serve { endpoint, address in
            let server = try await Self.server()
            try await server.importSchema(WebUser.schema)
            let notes = try Self.webhook(address)
            let meter = WebhookMeter()
            let (alice, bob) = (
                server.container(token: try await server.makeUser("alice")),
                server.container(token: try await server.makeUser("bob"))
            )
            try await subscribe(alice, where: "title == 'a'")
            try await subscribe(alice, "app", where: "title == 'b'", webhook: nil)
            let c = "title BEGINSWITH 'c'"
            try await subscribe(alice, "other", where: c, webhook: "other")
            try await subscribe(bob)
            try await save("a", "b", "c", in: alice)
            try await save("d", in: bob)
            // What an app marks as read makes no difference to the webhook.
            for try await page in alice.notificationHistory() {
                try await alice.markNotificationsRead(upTo: page.token)
            }
            try await delivering({ [notes] }, of: server, meter) {
                try await wait("both users' are taken") {
                    Set(endpoint.arrivals.map(\.record)) == ["a", "d"]
                }
                // A change of a subscription's webhook applies to later changes.
                try await subscribe(alice, "other", where: c, webhook: "notes")
                try await save("c2", in: alice)
                try await wait("the other one is told") { endpoint.records.contains("c2") }
                try await subscribe(alice, "other", where: c, webhook: nil)
                try await subscribe(alice, where: "title == 'a'", webhook: nil)
                var note = try await alice.privateCloudDatabase.record(
                    for: Record.ID(recordName: "a")
                )
                note["title"] = .string("z")
                try await alice.privateCloudDatabase.save(note)
                try await save("e", in: bob)
                try await wait("the other user goes on") { endpoint.records.contains("e") }
            }
            let (aliceName, bobName) = (
                try await alice.userRecordID().recordName, try await bob.userRecordID().recordName
            )
            for arrival in endpoint.arrivals {
                let isBobs = ["d", "e"].contains(arrival.record)
                #expect(arrival.user == (isBobs ? bobName : aliceName))
            }
            #expect(endpoint.arrivals.map(\.record).sorted() == ["a", "c2", "d", "e"])
            await alice.close()
            await bob.close()
            try await server.stop()
        }
    }

    @Test func aNameThatIsNotRegisteredIsRefused() async throws {
        let server = try await Self.server()
        try await server.importSchema(WebUser.schema)
        let user = server.container(token: try await server.makeUser("hook"))
        await #expect {
            try await subscribe(user, webhook: "nots")
        } throws: { error in
            let error = error as? ServiceError
            return error?.code == .invalidArguments
                && error?.message.contains("no webhook 'nots' is registered") == true
        }
        await #expect {
            try await subscribe(user, webhook: String(repeating: "n", count: 10_000))
        } throws: { error in
            let text = (error as? ServiceError)?.message ?? ""
            return text.contains("no webhook 'nnn") && text.utf8.count < 400
        }
        try await subscribe(user)
        let saved = try await user.privateCloudDatabase.allSubscriptions()
        #expect(saved.map(\.notificationInfo?.webhook) == ["notes"])
        await user.close()
        try await server.stop()
    }

    /// An operator who disables the user ends the delivery; sessions have no part in it.
    @Test func aWebhookEndsWithItsUser() async throws {
        try await WebhookEndpoint.serve { endpoint, address in
            let server = try await Self.server()
            try await server.importSchema(WebUser.schema)
            let token = try await server.makeUser("hook")
            let webhook = try Self.webhook(address)
            let user = server.container(token: token)
            try await subscribe(user)
            try await save("a", in: user)
            let meter = WebhookMeter()
            let admin = server.nodeOperator()
            try await delivering({ [webhook] }, of: server, meter) {
                try await wait("the first is taken") { endpoint.records == ["a"] }
                try await save("b", in: user)
                try await user.revokeAllSessions()
                try await wait("the second is taken") { endpoint.records == ["a", "b"] }
                #expect(try await admin.setState(of: "hook", isDisabled: true))
                try await wait("attempts fail") {
                    text(meter).contains("failures_in_a_row{webhook=\"notes\"} 1")
                }
            }
            #expect(endpoint.arrivals.count == 2)
            await admin.close()
            await user.close()
            try await server.stop()
        }
    }

    /// A page of a feed holds many notifications, and an endpoint may take long for each.
    @Test func aWebhookEndsInTheMiddleOfAPage() async throws {
        try await WebhookEndpoint.serve { endpoint, address in
            let server = try await Self.server()
            try await server.importSchema(WebUser.schema)
            let user = server.container(token: try await server.makeUser("hook"))
            let webhook = try Self.webhook(address)
            try await subscribe(user, where: "title BEGINSWITH 'n'")
            try await subscribe(user, "other", where: "title BEGINSWITH 'o'")
            for number in 0..<30 { try await save("n\(number)", "o\(number)", in: user) }
            let admin = server.nodeOperator()
            func count(_ start: String) -> Int {
                endpoint.records.count { $0.hasPrefix(start) }
            }
            try await delivering({ [webhook] }, of: server) {
                try await wait("some are taken") { count("n") >= 3 }
                try await user.privateCloudDatabase.deleteSubscription(withID: "notes")
                let told = count("n")
                try await wait("the other subscription goes on") { count("o") >= told + 5 }
                // One may have been on its way.
                #expect(count("n") <= told + 1)
                #expect(try await admin.setState(of: "hook", isDisabled: true))
                let all = endpoint.arrivals.count
                try await Task.sleep(for: .milliseconds(300))
                #expect(endpoint.arrivals.count <= all + 1)
                #expect(count("o") < 30)
            }
            await admin.close()
            await user.close()
            try await server.stop()
        }
    }

    /// The first member delivers, and the other one goes on from its mark.
    @Test func anotherMemberGoesOn() async throws {
        try await WebhookEndpoint.serve { endpoint, address in
            let key = Bytes(repeating: 0x5A, count: 32)
            var servers: [TestServer] = []
            for _ in 0..<2 { servers.append(try await Self.server(clusterKey: key)) }
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
            let webhook = try Self.webhook(address)
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
                    let user = second.container(token: token, timeout: .seconds(10))
                    try await wait("the mark is known to the other node") {
                        (try? await untold(user, at: second)) == 0
                    }
                    await user.close()
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
