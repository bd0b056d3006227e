// The operator's list of webhooks, signatures, and what is counted.

import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct WebhookTests {
    private static let list = """
        [{"name": "orders", "url": "https://hooks.example.com/orders?a=b",
          "secretFile": "orders.secret", "tokenFile": "orders.token", "container": "iCloud.a",
          "environment": "production"},
         {"name": "local-1.x_y", "url": "http://127.0.0.1:8080/", "private": true,
          "secretFile": "/etc/a.secret", "tokenFile": "/etc/a.token", "container": "iCloud.a",
          "environment": "development"}]
        """

    @Test func eachEntryIsRead() throws {
        let entries = try Webhook.entries(Bytes(Self.list.utf8))
        #expect(entries.map(\.name) == ["orders", "local-1.x_y"])
        #expect(entries[0].address.text == "https://hooks.example.com/orders?a=b")
        #expect(entries[0].scope == ScopeID(container: "iCloud.a", environment: .production))
        #expect(entries.map(\.isPrivate) == [false, true])
        #expect(entries.map(\.secretFile) == ["orders.secret", "/etc/a.secret"])
        #expect(entries.map(\.tokenFile) == ["orders.token", "/etc/a.token"])
        #expect(try Webhook.entries(Bytes("[]".utf8)).isEmpty)
    }

    /// A list of one webhook, in which some members differ; null means that one is missing.
    private func list(_ changes: [String: JSON]) -> Bytes {
        var members: [String: JSON] = [
            "name": "a", "url": "https://hooks.example.com/", "secretFile": "s", "tokenFile": "t",
            "container": "iCloud.a", "environment": "production",
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
        ("secretFile", .null), ("tokenFile", .null), ("container", "_"),
        ("environment", "test"), ("private", "maybe"), ("secret", "0123456789abcdef"),
    ])
    func mistakesAreTold(key: String, value: JSON) {
        #expect(throws: Webhook.Problem.self) { try Webhook.entries(list([key: value])) }
    }

    @Test(arguments: ["{}", "[5]", "[{}]", "", "[[]]"])
    func whatIsNoListIsRefused(_ text: String) throws {
        #expect(throws: Webhook.Problem.self) { try Webhook.entries(Bytes(text.utf8)) }
        #expect(try Webhook.entries(list([:])).count == 1)
    }

    @Test func webhooksShareNoNameAndNoUser() throws {
        func pair(_ name: String, _ token: String, _ container: String) -> Bytes {
            let one = list([:]).dropLast()
            let other = list([
                "name": .string(name), "tokenFile": .string(token), "container": .string(container),
            ])
            return Bytes(one) + Bytes(",".utf8) + other.dropFirst()
        }
        #expect(try Webhook.entries(pair("b", "u", "iCloud.a")).count == 2)
        #expect(try Webhook.entries(pair("b", "t", "iCloud.b")).count == 2)
        for (name, token) in [("a", "u"), ("b", "t")] {
            #expect(throws: Webhook.Problem.self) {
                try Webhook.entries(pair(name, token, "iCloud.a"))
            }
        }
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
        try Webhook(Webhook.entries(list([:]))[0], secret: secret, token: "token")
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
