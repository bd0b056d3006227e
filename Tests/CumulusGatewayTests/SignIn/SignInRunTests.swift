// Signing in with a browser from an app's first request to its last, on a real node.

import Cumulus
import CumulusGateway
import CumulusModel
import CumulusTesting
import JWTKitTokens
import Testing

@Suite(.timeLimit(.minutes(2))) struct SignInRunTests {
    private static let password = "correct horse"
    private static let right: [(name: String, value: String)] = [
        ("name", "web"), ("password", password),
    ]
    private static let wrong: [(name: String, value: String)] = [
        ("name", "web"), ("password", "wrong horse"),
    ]

    /// A node whose user has a password, and an app without a signed-in user.
    private func withVisitor(
        _ api: WebAPIToken = WebAPIToken(scope: WebUser.scope, origins: ["https://app"]),
        _ body: (WebUser, TestServer) async throws -> Void
    ) async throws {
        try await withWebUser(api) { user, server in
            let admin = server.nodeOperator()
            try await admin.setPassword(of: "web", to: Self.password)
            await admin.close()
            var visitor = user
            visitor.token = nil
            try await body(visitor, server)
        }
    }

    /// Where the app is told that its user signs in.
    private func link(_ visitor: WebUser, origin: String? = "https://app") async throws -> String {
        var request = WebRequest("GET", visitor.target("public/users/caller"))
        request.headers["origin"] = origin
        let answer = try await visitor.send(request)
        #expect(answer.status == 421 && answer.code?.contains("AUTHENTICATION_REQUIRED") == true)
        return try #require(answer.json["redirectURL"]?.string, "\(answer.json.text)")
    }

    @Test func aUserSignsInAndOutAgain() async throws {
        try await withVisitor { visitor, _ in
            var browser = try Browser(visitor.door)
            let page = try await browser.load(link(visitor))
            #expect(page.status == 200 && page.text.contains("https://app"))
            let refused = try await browser.submit(Self.wrong)
            #expect(refused.status == 403 && refused.message == nil)
            #expect(refused.text.contains("the name or the password is wrong"))
            #expect(refused.attribute("name=\"name\" value") == "web")
            let done = try await browser.submit(Self.right)
            #expect(done.status == 200 && done.attribute("data-origins") == #"["https://app"]"#)
            let message = try #require(done.message)
            #expect(message["ckSession"] == message["ckWebAuthToken"])

            var user = visitor
            user.token = try #require(message["ckWebAuthToken"]?.string)
            #expect(
                user.token?.utf8.allSatisfy {
                    $0.isASCIILetter || $0.isASCIIDigit
                        || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
                } == true
            )
            let caller = try await user.get("public/users/caller")
            #expect(caller.status == 200, "\(caller.json.text)")
            let saved = try await user.modify("private", operation(.create, "a", type: "Note"))
            #expect(saved[0].errorCode == nil)

            let out = try await user.post("public/users/signout", "{}")
            #expect(out.status == 200 && out.json == .object([]))
            #expect(out.headers["X-Apple-CloudKit-Web-Auth-Token"] == nil)
            #expect(try await user.get("public/users/caller").status == 421)
            #expect(try await visitor.post("public/users/signout", "{}").status == 421)
        }
    }

    @Test func theOperatorSeesAndEndsABrowsersSession() async throws {
        try await withVisitor { visitor, server in
            var browser = try Browser(visitor.door)
            _ = try await browser.load(link(visitor))
            let done = try await browser.submit(Self.right + [("keep", "yes")])
            var user = visitor
            user.token = done.message?["ckSession"]?.string
            // A user who chooses to stay signed in does so for two weeks.
            server.clockLead = WebToken.idle + 1_000
            #expect(try await user.get("public/users/caller").status == 200)
            let admin = server.nodeOperator()
            let sessions = try await admin.sessions(of: "web")
            let web = try #require(sessions.first { $0.kind == .web })
            #expect(web.label == "browser: https://app" && web.expires != nil)
            _ = try await admin.revoke(web.id, of: "web")
            await admin.close()
            #expect(try await user.get("public/users/caller").status == 421)
        }
    }

    /// Attempts are counted together with the binary protocol's: per name and address.
    @Test func attemptsAreLimited() async throws {
        try await withVisitor { visitor, _ in
            var guesser = try Browser(visitor.door)
            _ = try await guesser.load(link(visitor))
            for _ in 0..<10 { #expect(try await guesser.submit(Self.wrong).status == 403) }
            let limited = try await guesser.submit(Self.right)
            #expect(limited.status == 429 && limited.message == nil)
            #expect(limited.headers["Retry-After"].flatMap { Int($0) } ?? 0 > 0)
            var user = try Browser(visitor.door)
            user.address = [10, 0, 0, 2]
            _ = try await user.load(link(visitor))
            #expect(try await user.submit(Self.right).message?["ckSession"] != nil)
        }
    }

    @Test func anotherBrowsersFormIsRefused() async throws {
        try await withVisitor { visitor, server in
            var victim = try Browser(visitor.door)
            _ = try await victim.load(link(visitor))
            let cookie = victim.cookie
            var other = victim
            other.cookie = nil
            #expect(try await other.submit(Self.right).status == 403)
            var attacker = try Browser(visitor.door)
            _ = try await attacker.load(link(visitor))
            #expect(attacker.cookie != cookie)
            other = attacker
            other.cookie = cookie
            #expect(try await other.submit(Self.right).status == 403)
            // A second tab keeps the cookie, so the form of the first one is good, too.
            var second = victim
            _ = try await second.load(link(visitor))
            #expect(second.cookie == cookie)
            server.clockLead = SignInState.formLife + 1_000
            let late = try await victim.submit(Self.right)
            #expect(late.status == 400 && late.text.contains("open for too long"))
            #expect(try await victim.submit(Self.right).message?["ckSession"] != nil)
        }
    }

    @Test func whatIsNoLinkIsRefused() async throws {
        try await withVisitor { visitor, server in
            var browser = try Browser(visitor.door)
            let good = try await link(visitor)
            let form = try await browser.load(good)
            #expect(form.status == 200)
            let state = try #require(browser.state)
            for url in [
                "/sign-in", "/sign-in?state=", "/sign-in?state=AAAA", "/sign-in?state=\(state)",
                "/sign-in/callback", "/sign-in/callback?code=a&state=\(state)",
                String(good.dropLast()).replacing(Browser.site, with: ""),
            ] {
                let page = try await browser.load(Browser.site + url)
                #expect(page.status == 400 && page.text.contains("begin there again"), "\(url)")
            }
            let target = String(good.dropFirst(Browser.site.count))
            let put = try await browser.send(WebRequest("PUT", target))
            #expect(put.status == 405 && put.headers["Allow"] == "GET, HEAD, POST")
            let link = try #require(good.split(separator: "state=").last)
            let body = WebText.form([("state", String(link))] + Self.right)
            let early = WebRequest("POST", "/sign-in", body: Bytes(body.utf8))
            #expect(try await browser.send(early).status == 400)
            server.clockLead = SignInState.linkLife + 1_000
            #expect(try await browser.load(good).status == 400)
            #expect(await browser.pages.answer(WebRequest("GET", "/sign-ins")) == nil)
            #expect(await browser.pages.answer(WebRequest("GET", "/a/sign-in")) == nil)
            let script = try await browser.load(Browser.site + "/sign-in/page.js")
            #expect(script.headers["Content-Type"] == "text/javascript; charset=utf-8")
        }
    }

    @Test func whoCancelsTellsTheApp() async throws {
        try await withVisitor { visitor, _ in
            var browser = try Browser(visitor.door)
            _ = try await browser.load(link(visitor))
            let done = try await browser.submit([("cancel", "yes")])
            #expect(done.message == ["errorMessage": "the user cancelled the sign-in"])
        }
    }

    @Test(arguments: [
        (
            "https://app.example.com/in?a=b", "https://app.example.com/in?a=b&",
            "https://app.example.com"
        ),
        ("notes:signed-in", "notes:signed-in?", "notes:"),
    ])
    func anAppWithACallbackIsReturnedTo(
        callback: String,
        start: String,
        policy: String
    ) async throws {
        let api = WebAPIToken(scope: WebUser.scope, callback: .redirect(callback))
        try await withVisitor(api) { visitor, _ in
            var browser = try Browser(visitor.door)
            let page = try await browser.load(link(visitor, origin: nil))
            let rules = page.headers["Content-Security-Policy"]
            #expect(rules?.contains("form-action 'self' \(policy);") == true)
            let done = try await browser.submit(Self.right)
            #expect(done.status == 303)
            let url = try #require(done.headers["Location"])
            #expect(url.hasPrefix(start))
            let fields = WebText.fields(of: String(url.drop { $0 != "?" }.dropFirst()))
            #expect(fields["ckSession"] == fields["ckWebAuthToken"])
            var user = visitor
            user.token = fields["ckWebAuthToken"]
            #expect(try await user.get("public/users/caller").status == 200)
        }
    }

    @Test func noLinkLeadsWhereNoTokenMayGo() async throws {
        for (origins, origin) in [([], "https://app"), (["https://app"], "https://other")] {
            let api = WebAPIToken(scope: WebUser.scope, origins: origins)
            try await withVisitor(api) { visitor, _ in
                var request = WebRequest("GET", visitor.target("public/users/caller"))
                request.headers["origin"] = origin
                let answer = try await visitor.send(request)
                #expect(answer.status == 421 && answer.json["redirectURL"] == nil)
                #expect(answer.json["reason"]?.string?.contains("cumulus web set") == true)
            }
        }
    }

    @Test func passwordsDoNotCrossPlainTCP() async throws {
        try await withVisitor { visitor, _ in
            var browser = try Browser(visitor.door)
            _ = try await browser.load(link(visitor))
            let body = WebText.form([("state", try #require(browser.state))] + Self.right)
            var request = WebRequest("POST", "/sign-in", body: Bytes(body.utf8))
            request.headers["cookie"] = browser.cookie
            let answer = try #require(await browser.pages.answer(request))
            #expect(answer.status == 403)
            #expect(String(decoding: answer.body, as: UTF8.self).contains("--tls-certificate"))
        }
    }

    // MARK: Identity providers

    private func withProvider(
        _ body: (WebUser, TestServer, TestProvider, inout Browser) async throws -> Void
    ) async throws {
        let key = try TestIssuer.Key.p256("one")
        let issuers = try TestIssuerFile(keys: [key]).issuers(JWTKitVerifier())
        try await withWebUser(idTokens: issuers) { user, server in
            let provider = TestProvider(key)
            var browser = try Browser(user.door, [TestProvider.provider()], provider)
            var visitor = user
            visitor.token = nil
            let page = try await browser.load(link(visitor))
            #expect(page.text.contains(">Sign in with Example</button>"))
            try await body(visitor, server, provider, &browser)
        }
    }

    /// The URL of the provider to which a page leads.
    private func passage(_ browser: inout Browser, keeps: Bool = false) async throws -> String {
        let kept: [(name: String, value: String)] = keeps ? [("keep", "yes")] : []
        let page = try await browser.submit([("provider", TestIssuer.url)] + kept)
        #expect(page.status == 200)
        return try #require(page.attribute("<a href"))
    }

    @Test func aUserSignsInAtAProvider() async throws {
        try await withProvider { visitor, server, provider, browser in
            let url = try await passage(&browser, keeps: true)
            let back = try provider.approve(url, as: "ada")
            let done = try await browser.load(back)
            #expect(done.status == 200, "\(done.text)")
            #expect(done.attribute("data-origins") == #"["https://app"]"#)
            var user = visitor
            user.token = done.message?["ckSession"]?.string
            // A code is good once.
            let again = try await browser.load(back)
            #expect(again.status == 502 && again.text.contains("could not be asked"))
            server.clockLead = WebToken.idle + 1_000
            let caller = try await user.get("public/users/caller")
            #expect(caller.json["userRecordName"]?.string?.hasPrefix("_") == true)
        }
    }

    @Test func whatAProviderDidNotSayToThisBrowserIsRefused() async throws {
        try await withProvider { _, server, provider, browser in
            let url = try await passage(&browser)
            let back = try provider.approve(url, as: "eve")
            // Somebody else's answer.
            var victim = browser
            victim.cookie = nil
            #expect(try await victim.load(back).status == 400)
            let other = back.replacing("id.example.org", with: "other.example.org")
            #expect(try await browser.load(other).status == 403)
            let denied = back.replacing("code=code-eve", with: "error=access_denied")
            let page = try await browser.load(denied)
            #expect(page.status == 403 && page.text.contains("Example did not sign you in"))
            // A code that was given for another verifier and nonce.
            var second = browser
            let later = try provider.approve(try await passage(&second), as: "bob")
            let mixed = back.replacing("code=code-eve", with: "code=code-bob")
            #expect(try await browser.load(mixed).status == 502)
            #expect(later != back)
            let unknown = try await browser.submit([("provider", "https://nobody")])
            #expect(unknown.status == 400 && unknown.text.contains("Choose another way"))
            server.clockLead = SignInState.providerLife + 1_000
            #expect(try await browser.load(back).status == 400)
        }
    }
}
