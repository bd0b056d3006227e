// A browser and an identity provider for tests of the sign-in page.

import Crypto
import CumulusGateway
import CumulusModel
import CumulusNode
import CumulusTesting
import Logging
import Synchronization
import Testing

/// Loads pages of a node, keeps its cookie, and sends forms.
struct Browser {
    static let site = "https://node.example"

    let pages: SignInPages
    var cookie: String?
    var address: Bytes = [10, 0, 0, 1]
    /// The state in the form that was loaded last.
    private(set) var state: String?

    struct Page {
        var status: Int
        var text: String
        var headers: [String: String]

        /// An attribute's value, as scripts see it.
        func attribute(_ name: String) -> String? {
            guard let start = text.firstRange(of: "\(name)=\"") else { return nil }
            return String(text[start.upperBound...].prefix { $0 != "\"" })
                .replacing("&quot;", with: "\"").replacing("&#39;", with: "'")
                .replacing("&lt;", with: "<").replacing("&gt;", with: ">")
                .replacing("&amp;", with: "&")
        }

        /// What the app is told; nil: nothing.
        var message: JSON? {
            attribute("data-message").flatMap { try? JSONReader.read($0.utf8) }
        }
    }

    init(_ door: NodeDoor, _ providers: [WebProvider] = [], _ client: any WebClient = NoClient())
        throws
    {
        pages = SignInPages(
            door,
            at: try #require(WebAddress(Browser.site)),
            providers: { providers },
            client: client,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    /// - Parameter url: A URL of the node.
    mutating func load(_ url: String) async throws -> Page {
        #expect(url.hasPrefix(Browser.site + "/"))
        return try await send(WebRequest("GET", String(url.dropFirst(Browser.site.count))))
    }

    /// Sends the form with what the user typed.
    mutating func submit(_ fields: [(name: String, value: String)]) async throws -> Page {
        let state = try #require(state)
        let body = WebText.form([("state", state)] + fields)
        return try await send(WebRequest("POST", "/sign-in", body: Bytes(body.utf8)))
    }

    mutating func send(_ request: WebRequest) async throws -> Page {
        var request = request
        request.address = address
        request.isSecret = true
        if let cookie { request.headers["cookie"] = "other=1; " + cookie }
        let answer = try #require(await pages.answer(request))
        let page = Page(
            status: answer.status,
            text: String(decoding: answer.body, as: UTF8.self),
            headers: Dictionary(answer.headers.map { ($0.name, $0.value) }) { first, _ in first }
        )
        if let set = page.headers["Set-Cookie"] {
            #expect(set.hasSuffix("; Path=/; HttpOnly; SameSite=Lax; Secure"))
            cookie = String(set.prefix { $0 != ";" })
        }
        if page.text.contains("name=\"state\"") {
            state = page.text.split(separator: "name=\"state\" value=\"").last
                .map { String($0.prefix { $0 != "\"" }) }
        }
        return page
    }

    struct NoClient: WebClient {
        func post(
            _ form: Bytes,
            to address: WebAddress,
            headers: [(name: String, value: String)]
        ) async throws -> (status: Int, body: Bytes) {
            throw WebProvider.Problem("nothing is asked in this test")
        }
    }
}

/// The token endpoint of `TestIssuer`: it takes a code once, with its verifier, for an ID token.
final class TestProvider: WebClient {
    private struct Grant {
        var subject: String
        var challenge: String
        var nonce: String
    }

    private let key: TestIssuer.Key
    private let grants = Mutex<[String: Grant]>([:])

    init(_ key: TestIssuer.Key) {
        self.key = key
    }

    static func provider(query: String = "") throws -> WebProvider {
        WebProvider(
            WebProvider.Choice(issuer: TestIssuer.url, name: "Example"),
            clientID: TestIssuer.app,
            authorization: try #require(WebAddress("https://id.example.org/authorize" + query)),
            token: try #require(WebAddress("https://id.example.org/token")),
            claims: ["openid", "email"]
        )
    }

    /// What the provider's page does when somebody signed in there: the URL to go back to.
    func approve(_ url: String, as subject: String) throws -> String {
        let fields = WebText.fields(of: String(url.drop { $0 != "?" }.dropFirst()))
        let code = "code-\(subject)"
        grants.withLock {
            $0[code] = Grant(
                subject: subject,
                challenge: fields["code_challenge"] ?? "",
                nonce: fields["nonce"] ?? ""
            )
        }
        let back = try #require(fields["redirect_uri"])
        let state = try #require(fields["state"])
        return WebText.adding(
            [("code", code), ("state", state), ("iss", TestIssuer.url)],
            to: back
        )
    }

    func post(
        _ form: Bytes,
        to address: WebAddress,
        headers: [(name: String, value: String)]
    ) async throws -> (status: Int, body: Bytes) {
        let fields = WebText.fields(of: String(decoding: form, as: UTF8.self))
        let grant = grants.withLock { $0.removeValue(forKey: fields["code"] ?? "") }
        let digest = SHA256.hash(data: Bytes((fields["code_verifier"] ?? "").utf8))
        guard let grant, Base64URL.encode(digest) == grant.challenge,
            address.text == "https://id.example.org/token",
            fields["redirect_uri"] == Browser.site + "/sign-in/callback"
        else { return (400, Bytes(#"{"error": "invalid_grant"}"#.utf8)) }
        let claims = TestIssuer.claims(
            grant.subject,
            now: TestServer.environment.wallClock(),
            ["nonce": .string(grant.nonce)]
        )
        let token = String(decoding: try TestIssuer.token(claims, by: key), as: UTF8.self)
        let answer: JSON = ["token_type": "Bearer", "id_token": .string(token)]
        return (200, Bytes(answer.text.utf8))
    }
}
