// The console's pages about the node: its audit log, its log, its settings, backups, web apps and
// webhooks. None of them tells a secret.

import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct ConsoleNodeTests {
    private static let names = [
        "audit", "logs", "settings", "backups", "webapps", "webhooks",
    ]

    private static func lines(_ texts: [String]) -> @Sendable () -> [Bytes] {
        let lines = texts.map { Bytes($0.utf8) }
        return { lines }
    }

    private static func act(_ time: Int, _ method: String, _ code: Int = 0) -> String {
        #"{"time":\#(time),"caller":"operator","method":"\#(method)","target":"t\#(time)","#
            + #""code":\#(code),"epoch":1}"#
    }

    /// The targets of an answer's lines.
    private func targets(_ answer: ConsoleUser.Answer) -> [String] {
        answer.entries("lines").compactMap { $0["target"]?.string }
    }

    @Test(arguments: names) func onlyOperatorsSeeThem(_ name: String) async throws {
        try await withConsole { browser, _ in
            #expect(try await browser.get(name).status == 401)
            _ = try await browser.signIn()
            #expect(try await browser.get(name).status == 200)
            #expect(try await browser.post(name).status == 405)
        }
    }

    // MARK: The audit log

    /// Lines with one time stand on both sides of a page's end, and none is lost or told twice.
    @Test func theAuditLogIsTurnedPageByPage() async throws {
        var texts: [String] = []
        for (place, time) in [1, 2, 2, 2, 2, 2, 3, 4].enumerated() {
            texts.append(Self.act(time, "KEYS_ADD").replacing("t\(time)", with: "p\(place)"))
        }
        try await withConsole(auditLines: Self.lines(texts)) { browser, _ in
            _ = try await browser.signIn()
            for limit in 1...9 {
                var found: [String] = []
                var cursor: String? = ""
                while let place = cursor {
                    let query = place.isEmpty ? "" : "&cursor=\(place)"
                    let answer = try await browser.get("audit?limit=\(limit)\(query)")
                    #expect(answer.status == 200, "\(answer.json.text)")
                    #expect(answer.entries("lines").count <= limit)
                    found += targets(answer)
                    cursor = answer.json["cursor"]?.string
                }
                #expect(found == (0..<8).reversed().map { "p\($0)" }, "\(limit)")
            }
        }
    }

    @Test func theAuditLogIsFiltered() async throws {
        let lines = Self.lines([
            Self.act(1, "KEYS_ADD"), Self.act(2, "RECORDS_MODIFY", 10), #"{"lostLines":3}"#,
            Self.act(3, "KEYS_ADD", 11), #"{"time":4,"#,
        ])
        try await withConsole(auditLines: lines) { browser, _ in
            _ = try await browser.signIn()
            func found(_ query: String) async throws -> [String] {
                targets(try await browser.get("audit?\(query)"))
            }
            #expect(try await found("") == ["t3", "t2", "t1"])
            #expect(try await found("outcome=done") == ["t1"])
            #expect(try await found("outcome=refused") == ["t3", "t2"])
            #expect(try await found("method=KEYS_ADD") == ["t3", "t1"])
            #expect(try await found("text=RECORDS_mod") == ["t2"])
            #expect(try await found("text=nothing") == [])
            let all = try await browser.get("audit").entries("lines")
            #expect(all.contains { $0["lostLines"] == .integer(3) })
            #expect(all.first { $0["target"] == "t2" }?["reason"] == "permissionFailure")
            for query in ["outcome=x", "cursor=x", "cursor=1", "limit=0"] {
                #expect(try await browser.get("audit?\(query)").status == 400, "\(query)")
            }
        }
        try await withConsole { browser, _ in
            _ = try await browser.signIn()
            #expect(try await browser.get("audit").json["isKept"] == .bool(false))
        }
    }

    @Test func aLongLogIsToldInPages() async throws {
        let texts = (1...2_000).map { Self.act($0, "KEYS_ADD") }
        try await withConsole(auditLines: Self.lines(texts)) { browser, _ in
            _ = try await browser.signIn()
            #expect(try await browser.get("audit").entries("lines").count == 100)
            let most = try await browser.get("audit?limit=100000")
            #expect(most.entries("lines").count == 500)
            #expect(most.json["cursor"] != nil)
        }
    }

    // MARK: Backups

    @Test func backupsAreThoseOfTheAuditLog() async throws {
        let lines = Self.lines([
            Self.act(1, "OPERATOR_BACK_UP"), Self.act(2, "KEYS_ADD"),
            Self.act(3, "OPERATOR_BACK_UP", 12),
        ])
        try await withConsole(auditLines: lines) { browser, _ in
            _ = try await browser.signIn()
            let backups = try await browser.get("backups").entries("backups")
            #expect(backups.map { $0["target"] } == ["t3", "t1"])
            #expect(backups.map { $0["code"] } == [.integer(12), .integer(0)])
            // The node of the tests has no place for a backup.
            let made = try await browser.post("backups/make", ["path": "/nowhere"])
            #expect(made.status >= 400 && made.status != 404)
            #expect(try await browser.post("backups/make").status == 400)
        }
    }

    // MARK: The process

    @Test func theNewestLinesOfTheLogAreTold() async throws {
        let texts = (1...1_500).map { #"{"level":"info","message":"m\#($0)"}"# } + ["no JSON"]
        let fill: (inout ConsoleSources) -> Void = { $0.logLines = Self.lines(texts) }
        try await withConsole(fill: fill) { browser, _ in
            _ = try await browser.signIn()
            let answer = try await browser.get("logs")
            #expect(answer.json["isKept"] == .bool(true))
            let messages = answer.entries("lines").compactMap { $0["message"]?.string }
            #expect(messages.first == "m1500")
            #expect(messages.count == 999)
        }
    }

    @Test func aSettingMayBeToldAsSet() async throws {
        func setting(_ name: String, _ value: String?) -> ConsoleSetting {
            ConsoleSetting(name: name, group: "g", value: value, origin: "flag", help: "h")
        }
        let settings = [setting("data", "/srv"), setting("tls-key", nil), setting("peers", "")]
        let fill: (inout ConsoleSources) -> Void = { $0.settings = settings }
        try await withConsole(fill: fill) { browser, _ in
            _ = try await browser.signIn()
            let told = try await browser.get("settings").entries("settings")
            #expect(told.map { $0["name"] } == ["data", "tls-key", "peers"])
            #expect(told.map { $0["value"] } == ["/srv", .null, ""])
            #expect(told.allSatisfy { $0["origin"] == "flag" && $0["help"] == "h" })
        }
    }

    // MARK: The web

    @Test func webAppsAreToldWithoutTheirTokens() async throws {
        let token = "a-token-of-an-app-1234"
        let text = """
            [{"container": "iCloud.a", "environment": "production", "token": "\(token)",
              "origins": ["https://app.example.com"], "callback": "https://app.example.com/in"}]
            """
        let apps = try WebApps.all(Bytes(text.utf8))
        let fill: (inout ConsoleSources) -> Void = { $0.webApps = { apps } }
        try await withConsole(fill: fill) { browser, _ in
            _ = try await browser.signIn()
            let answer = try await browser.get("webapps")
            let app = try #require(answer.entries("apps").first)
            #expect(app["container"] == "iCloud.a")
            #expect(app["environment"] == "production")
            #expect(app["origins"] == .array(["https://app.example.com"]))
            #expect(app["callback"] == "https://app.example.com/in")
            #expect(app["id"]?.string?.count == 8)
            #expect(!answer.json.text.contains(token))
            let digest = try #require(apps.keys.first).hex
            #expect(!answer.json.text.contains(digest))
        }
        try await withConsole { browser, _ in
            _ = try await browser.signIn()
            #expect(try await browser.get("webapps").json["isSet"] == .bool(false))
        }
    }

    @Test func webAppsAreAddedChangedAndRemoved() async throws {
        try await withConsole { browser, _ in
            _ = try await browser.signIn()
            let logo = Base64.encode([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
            let members: [String: JSON] = [
                "name": "notes", "title": "My notes", "isNew": .bool(true), "logo": .string(logo),
                "origins": .array(["https://notes.example.com"]),
            ]
            let added = try await browser.post("webapps/set", inScope(members))
            #expect(added.status == 200, "\(added.json.text)")
            #expect(try await browser.post("webapps/set", inScope(members)).status == 400)
            let list = "webapps?\(scopeQuery)"
            let app = try #require(try await browser.get(list).entries("registered").first)
            #expect(app["title"] == "My notes" && app["logoBytes"] == .integer(8))
            #expect(app["token"] == added.json["app"]?["token"])
            // All values but the token and the logo are said again.
            let bare: JSON = inScope(["name": "notes", "removesLogo": .bool(true)])
            #expect(try await browser.post("webapps/set", bare).status == 200)
            let changed = try #require(try await browser.get(list).entries("registered").first)
            #expect(changed["title"] == "" && changed["logoBytes"] == .integer(0))
            #expect(changed["token"] == app["token"])
            let production = "webapps?container=\(TestServer.container)&environment=production"
            #expect(try await browser.get(production).entries("registered").isEmpty)
            let removal = inScope(["name": "notes"])
            let removed = try await browser.post("webapps/remove", removal)
            #expect(removed.json["existed"] == .bool(true))
            #expect(try await browser.get(list).entries("registered").isEmpty)
        }
    }

    @Test func webhooksAreToldWithoutTheirSecretsAndPaths() async throws {
        let text = """
            [{"name": "mailer", "url": "https://hooks.example.com/services/T1/secret?k=v",
              "secretFile": "mailer.secret", "containers": ["iCloud.a"]}]
            """
        let entries = try Webhook.entries(Bytes(text.utf8))
        let meter = WebhookMeter()
        let fill: (inout ConsoleSources) -> Void = { $0.webhooks = ({ entries }, meter) }
        try await withConsole(fill: fill) { browser, _ in
            _ = try await browser.signIn()
            let answer = try await browser.get("webhooks")
            let webhook = try #require(answer.entries("webhooks").first)
            #expect(webhook["name"] == "mailer")
            #expect(webhook["origin"] == "https://hooks.example.com:443")
            #expect(webhook["containers"] == .array(["iCloud.a"]))
            #expect(!answer.json.text.contains("secret"))
            #expect(!answer.json.text.contains("k=v"))
        }
    }
}
