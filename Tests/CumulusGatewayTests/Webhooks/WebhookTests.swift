// The operator's list of webhooks, signatures, and what is counted.

import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct WebhookTests {
    private static let list = """
        [{"name": "orders", "url": "https://hooks.example.com/orders?a=b",
          "secretFile": "orders.secret", "containers": ["iCloud.a", "iCloud.b"]},
         {"name": "local-1.x_y", "url": "http://127.0.0.1:8080/", "private": true,
          "secretFile": "/etc/a.secret"}]
        """

    @Test func eachEntryIsRead() throws {
        let entries = try Webhook.entries(Bytes(Self.list.utf8))
        #expect(entries.map(\.name) == ["orders", "local-1.x_y"])
        #expect(entries[0].address.text == "https://hooks.example.com/orders?a=b")
        #expect(
            ["iCloud.a", "iCloud.b", "iCloud.c"].map(entries[0].serves) == [true, true, false]
        )
        #expect(entries[1].containers == nil && entries[1].serves("iCloud.c"))
        #expect(entries.map(\.isPrivate) == [false, true])
        #expect(entries.map(\.secretFile) == ["orders.secret", "/etc/a.secret"])
        #expect(try Webhook.entries(Bytes("[]".utf8)).isEmpty)
    }

    /// A list of one webhook, in which some members differ; null means that one is missing.
    private func list(_ changes: [String: JSON]) -> Bytes {
        var members: [String: JSON] = [
            "name": "a", "url": "https://hooks.example.com/", "secretFile": "s",
            "containers": .array(["iCloud.a"]),
        ]
        members.merge(changes) { _, new in new }
        let object = members.sorted { $0.key < $1.key }.map { JSON.Member($0.key, $0.value) }
        return Bytes(JSON.array([.object(object)]).text.utf8)
    }

    @Test(arguments: [
        ("name", JSON.null), ("name", "a b"), ("name", "a\"}"), ("name", ""),
        ("name", .string(String(repeating: "a", count: 65))), ("url", .null),
        ("url", "http://hooks.example.com/"), ("url", "http://127.0.0.1/"),
        ("url", "ftp://hooks.example.com/"), ("url", "https://u@hooks.example.com/"),
        ("secretFile", .null), ("containers", "iCloud.a"), ("containers", .array(["_"])),
        ("containers", .array([.integer(1)])), ("private", "maybe"),
        ("secret", "0123456789abcdef"), ("tokenFile", "t"),
    ])
    func mistakesAreTold(key: String, value: JSON) {
        #expect(throws: Webhook.Problem.self) { try Webhook.entries(list([key: value])) }
    }

    @Test(arguments: ["{}", "[5]", "[{}]", "", "[[]]"])
    func whatIsNoListIsRefused(_ text: String) throws {
        #expect(throws: Webhook.Problem.self) { try Webhook.entries(Bytes(text.utf8)) }
        #expect(try Webhook.entries(list([:])).count == 1)
    }

    @Test func webhooksShareNoName() throws {
        func pair(_ name: JSON) -> Bytes {
            Bytes(list([:]).dropLast()) + Bytes(",".utf8) + list(["name": name]).dropFirst()
        }
        #expect(try Webhook.entries(pair("b")).count == 2)
        #expect(throws: Webhook.Problem.self) { try Webhook.entries(pair("a")) }
    }

    @Test func aDamagedListIsRefused() {
        let list = Bytes(Self.list.utf8)
        for cut in Damage.truncations(of: list) {
            #expect(throws: Webhook.Problem.self) { try Webhook.entries(cut) }
        }
        var dice = SeededGenerator(seed: 11)
        for _ in 0..<1_000 { _ = try? Webhook.entries(Damage.mutation(of: list, using: &dice)) }
    }

    // MARK: Signatures

    private func webhook(secret: String) throws -> Webhook {
        try Webhook(Webhook.entries(list([:]))[0], secret: secret)
    }

    /// The same as `hmac.new(secret, b'1700000000.{"a":1}', sha256)` of Python.
    @Test func whatIsSentIsSigned() throws {
        let webhook = try webhook(secret: "0123456789abcdef")
        let body = Bytes(#"{"a":1}"#.utf8)
        let signature = webhook.signature(of: body, seconds: 1_700_000_000)
        #expect(
            signature
                == "t=1700000000,v1="
                + "9eb18f493f8ec135d9eb2dad817c369bb4e9cbfa818657897a7437c1cd8c3a23"
        )
        #expect(
            webhook.signature(of: body, seconds: 1_700_000_001).suffix(64) != signature.suffix(64)
        )
        #expect(throws: Webhook.Problem.self) { try self.webhook(secret: "0123456789abcde") }
    }

    // MARK: Whose it is

    @Test func whoseANotificationIsStandsInIt() throws {
        let scope = ScopeID(container: "iCloud.a", environment: .production)
        let subscriber = WebhookSubscriber(scope: scope, user: "_1", account: "u", webhook: "a")
        let told = WebNotification.reset(.all, [1], in: "iCloud.a")
        let json = try JSONReader.read(Bytes(told.text(for: subscriber).utf8))
        #expect(json["user"] == "_1" && json["environment"] == "production")
        #expect(json["ck"]?["nid"]?.string == told.id)
    }

    /// The webhook's name is nothing that an app shows.
    @Test func aWebhookAloneShowsNothing() {
        func text(_ change: (inout Subscription.NotificationInfo) -> Void) -> String? {
            var info = Subscription.NotificationInfo()
            info.webhook = "a"
            change(&info)
            let notification = FeedNotification(
                id: FeedNotification.ID(bytes: Bytes(repeating: 1, count: 16)),
                subscriptionID: "s",
                databaseScope: .private,
                news: .zoneDeleted(RecordZone.ID(zoneName: "z")),
                notificationInfo: info,
                changedBy: nil,
                changedAt: Timestamp(millisecondsSince1970: 0)
            )
            return WebNotification.all(
                notification,
                in: "iCloud.a",
                user: "_1",
                isWide: false
            ).first?.text
        }
        #expect(text { _ in }?.contains("aps") == false)
        #expect(text { $0.alertBody = "b" }?.contains(#""aps": {"alert": {"body": "b"}}"#) == true)
    }

    // MARK: Resets

    @Test func aResetNamesWhatIsToBeAsked() throws {
        func json(_ reset: FeedReset) throws -> JSON {
            let told = WebNotification.reset(reset, [1, 2], in: "iCloud.a")
            let json = try JSONReader.read(Bytes(told.text.utf8))
            #expect(json["ck"]?["cid"] == "iCloud.a" && json["ck"]?["nid"]?.string == told.id)
            return try #require(json["ck"]?["reset"])
        }
        #expect(try json(.all) == [:])
        let name = SubscriptionName(databaseScope: .private, subscriptionID: "notes")
        let expected: JSON = ["subscriptions": .array([["sid": "notes", "dbs": .integer(1)]])]
        #expect(try json(.subscriptions([name])) == expected)
    }
}
