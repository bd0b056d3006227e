// The operator's list of web apps.

import Crypto
import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct WebAppsTests {
    private static let list = """
        [{"container": "iCloud.a", "environment": "production", "token": "0123456789abcdef",
          "origins": ["https://app.example.com", "http://localhost:8080"]},
         {"container": "iCloud.a", "environment": "development", "token": "ABCDEFGHIJKLMNO_-",
          "callback": "https://app.example.com/signed-in"}]
        """

    @Test func eachTokenLeadsToItsApp() throws {
        let apps = try WebApps.all(Bytes(Self.list.utf8))
        func app(_ token: String) -> WebAPIToken? {
            apps[Bytes(SHA256.hash(data: Bytes(token.utf8)))]
        }
        #expect(apps.count == 2)
        let production = ScopeID(container: "iCloud.a", environment: .production)
        #expect(app("0123456789abcdef")?.scope == production)
        #expect(app("0123456789abcdef")?.callback == .message)
        #expect(app("0123456789abcdef")?.admits(origin: "http://localhost:8080") == true)
        #expect(app("0123456789abcdef")?.admits(origin: "http://localhost") == false)
        #expect(
            app("ABCDEFGHIJKLMNO_-")?.callback == .redirect("https://app.example.com/signed-in")
        )
        #expect(try WebApps.all(Bytes("[]".utf8)).isEmpty)
    }

    @Test(arguments: [
        "{}", "[5]", #"[{"container": "iCloud.a"}]"#,
        #"[{"container": "_", "environment": "production", "token": "0123456789abcdef"}]"#,
        #"[{"container": "a", "environment": "test", "token": "0123456789abcdef"}]"#,
        #"[{"container": "a", "environment": "production", "token": "short"}]"#,
        #"[{"container": "a", "environment": "production", "token": "0123456789 abcdef"}]"#,
        """
        [{"container": "a", "environment": "production", "token": "0123456789abcdef",
          "origin": ["https://a"]}]
        """,
        """
        [{"container": "a", "environment": "production", "token": "0123456789abcdef",
          "origins": ["https://a/"]}]
        """,
        """
        [{"container": "a", "environment": "production", "token": "0123456789abcdef"},
         {"container": "b", "environment": "production", "token": "0123456789abcdef"}]
        """,
    ])
    func mistakesAreTold(_ text: String) {
        #expect(throws: WebApps.Problem.self) { try WebApps.all(Bytes(text.utf8)) }
    }

    /// A callback is told a user's token.
    @Test(arguments: [
        ("https://app.example.com/in?a=b", true), ("http://localhost:8080/in", true),
        ("notes.app:in", true), ("notes://in", true), ("http://app.example.com/in", false),
        ("https://app/#in", false), ("javascript:alert(1)", false), ("DATA:text/html,a", false),
        ("app", false), ("", false), ("/in", false), ("a;b:in", false), ("notes:a\nb", false),
        ("https:in", false),
    ])
    func tokensGoToAppsOnly(callback: String, isTaken: Bool) {
        let list: JSON = .array([
            [
                "container": "a", "environment": "production", "token": "0123456789abcdef",
                "callback": .string(callback),
            ]
        ])
        let apps = try? WebApps.all(Bytes(list.text.utf8))
        #expect((apps != nil) == isTaken)
    }

    @Test func aDamagedListIsRefused() {
        let list = Bytes(Self.list.utf8)
        for cut in Damage.truncations(of: list) {
            #expect(throws: WebApps.Problem.self) { try WebApps.all(cut) }
        }
        var dice = SeededGenerator(seed: 7)
        for _ in 0..<1_000 { _ = try? WebApps.all(Damage.mutation(of: list, using: &dice)) }
    }
}
