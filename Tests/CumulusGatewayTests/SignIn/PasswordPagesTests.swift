// New users and lost passwords in a browser: registering at the page to sign in at, changing a
// password, and setting one by an operator's link. Each check of a password takes about 100 ms.

import Cumulus
import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite(.timeLimit(.minutes(2))) struct PasswordPagesTests {
    private static let password = "correct horse"
    private static let png: Bytes = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1, 2, 3]

    /// The URL at which an app's user signs in.
    private func link(_ visitor: WebUser, _ token: String = WebUser.apiToken) async throws -> String
    {
        let target = "\(WebUser.base)/public/users/caller?ckAPIToken=\(token)"
        var request = WebRequest("GET", target)
        request.headers["origin"] = "https://app"
        let answer = try await visitor.send(request)
        return try #require(answer.json["redirectURL"]?.string, "\(answer.json.text)")
    }

    /// The node's answer to a request for one of the password pages.
    private func ask(
        _ user: WebUser,
        _ method: String,
        _ target: String,
        _ fields: [(name: String, value: String)] = [],
        site: String? = "same-origin"
    ) async throws -> Browser.Page {
        let pages = PasswordPages(user.door, at: try #require(WebAddress(Browser.site)))
        var request = WebRequest(method, target, body: Bytes(WebText.form(fields).utf8))
        request.address = [10, 0, 0, 1]
        request.isSecret = true
        request.headers["sec-fetch-site"] = site
        let answer = try #require(await pages.answer(request))
        return Browser.Page(
            status: answer.status,
            text: String(decoding: answer.body, as: UTF8.self),
            headers: Dictionary(answer.headers.map { ($0.name, $0.value) }) { first, _ in first }
        )
    }

    private func setPassword(_ server: TestServer) async throws {
        let admin = server.nodeOperator()
        try await admin.setPassword(of: "web", to: Self.password)
        await admin.close()
    }

    /// Whether a user signs in with a password.
    private func isRight(_ password: String, _ user: WebUser) async throws -> Bool {
        var visitor = user
        visitor.token = nil
        var browser = try Browser(user.door)
        _ = try await browser.load(link(visitor))
        let done = try await browser.submit([("name", "web"), ("password", password)])
        return done.status == 200
    }

    // MARK: The app

    @Test func thePageShowsTheAppsNameAndLogo() async throws {
        try await withWebUser { user, server in
            let admin = server.nodeOperator()
            let app = WebApp(
                name: "notes",
                scope: WebUser.scope,
                token: "",
                origins: ["https://app"],
                title: "My <notes>"
            )
            let added = try await admin.setWebApp(app, isNew: true, logo: Self.png).app
            await admin.close()
            var browser = try Browser(user.door)
            let page = try await browser.load(link(user, added.token))
            #expect(page.text.contains("<strong>My &lt;notes&gt;</strong>"))
            #expect(page.attribute("src") != nil)
            let picture = "data:image/png;base64,\(Base64.encode(Self.png))"
            #expect(page.text.contains("<img src=\"\(picture)\""))
            #expect(page.headers["Content-Security-Policy"]?.contains("img-src data:") == true)
            // An app of the file has neither.
            let plain = try await browser.load(link(user))
            #expect(!plain.text.contains("<img") && !plain.text.contains("class=\"brand\""))
        }
    }

    // MARK: Registration

    @Test func aNewUserRegistersAndIsSignedIn() async throws {
        let server = try await TestServer(takesRegistrations: true)
        try await server.importSchema(WebUser.schema)
        let api = WebAPIToken(scope: WebUser.scope, origins: ["https://app"])
        let door = NodeDoor(server.node) { $0 == WebUser.apiDigest ? api : nil }
        let gateway = WebGateway(door, signInURL: "https://node.example/sign-in")
        let visitor = WebUser(gateway: gateway, door: door)
        var browser = try Browser(door)
        let page = try await browser.load(link(visitor))
        let target = try #require(page.attribute("class=\"links\"><a href"))
        let form = try await browser.load(target)
        #expect(form.status == 200 && form.text.contains("Create the account"))
        func fields(
            _ name: String,
            _ password: String,
            _ again: String
        ) -> [(name: String, value: String)] {
            [
                ("register", "yes"), ("name", name), ("password", password), ("again", again),
            ]
        }
        let differ = try await browser.submit(fields("eve", Self.password, "another horse"))
        #expect(differ.status == 400 && differ.text.contains("differ"))
        let short = try await browser.submit(fields("eve", "short", "short"))
        #expect(short.status == 400 && short.text.contains("8 to 256 bytes"))
        let done = try await browser.submit(fields("eve", Self.password, Self.password))
        #expect(done.status == 200, "\(done.text)")
        var user = visitor
        user.token = try #require(done.message?["ckWebAuthToken"]?.string)
        #expect(try await user.get("public/users/caller").status == 200)
        // The name is taken by now.
        var other = try Browser(door)
        _ = try await other.load(link(visitor))
        let taken = try await other.submit(fields("eve", Self.password, Self.password))
        #expect(taken.status == 400 && taken.text.contains("is taken"))
        #expect(taken.text.contains("Create the account"))
        try await server.stop()
    }

    @Test func nobodyRegistersWhereThatIsOff() async throws {
        try await withWebUser { user, _ in
            var browser = try Browser(user.door)
            let page = try await browser.load(link(user) + "&register=yes")
            #expect(!page.text.contains("Create"))
            let refused = try await browser.submit([
                ("register", "yes"), ("name", "eve"), ("password", Self.password),
                ("again", Self.password),
            ])
            #expect(refused.status == 403 && refused.text.contains("users don&#39;t register here"))
        }
    }

    // MARK: Change

    @Test func aUserChangesThePassword() async throws {
        try await withWebUser { user, server in
            try await setPassword(server)
            #expect(try await isRight(Self.password, user))
            let form = try await ask(user, "GET", "/sign-in/password")
            #expect(form.status == 200 && form.text.contains("current-password"))
            func change(_ old: String, _ new: String, _ again: String) async throws -> Browser.Page
            {
                try await ask(
                    user,
                    "POST",
                    "/sign-in/password",
                    [("name", "web"), ("password", old), ("new", new), ("again", again)]
                )
            }
            #expect(try await change(Self.password, "a new horse", "a new mare").status == 400)
            let wrong = try await change("wrong horse", "a new horse", "a new horse")
            #expect(wrong.status == 403 && wrong.text.contains("the name or the password is wrong"))
            let done = try await change(Self.password, "a new horse", "a new horse")
            #expect(done.status == 200 && done.headers["Set-Cookie"] == nil, "\(done.text)")
            #expect(try await isRight("a new horse", user))
            #expect(try await !isRight(Self.password, user))
            // No session of the change is left, only that of the sign-in after it.
            let admin = server.nodeOperator()
            let sessions = try await admin.sessions(of: "web").filter { $0.kind == .web }
            #expect(sessions.count == 1)
            await admin.close()
        }
    }

    @Test func unknownUsersGetTheSameAnswer() async throws {
        try await withWebUser { user, server in
            try await setPassword(server)
            var texts: [String] = []
            for name in ["web", "bob"] {
                let page = try await ask(
                    user,
                    "POST",
                    "/sign-in/password",
                    [
                        ("name", name), ("password", "wrong horse"), ("new", "a new horse"),
                        ("again", "a new horse"),
                    ]
                )
                #expect(page.status == 403)
                texts.append(page.text.replacing("value=\"\(name)\"", with: "value"))
            }
            #expect(texts[0] == texts[1])
        }
    }

    // MARK: Links

    @Test func aLinkSetsAPasswordOnce() async throws {
        try await withWebUser { user, server in
            try await setPassword(server)
            let admin = server.nodeOperator()
            let link = try await admin.makeResetLink(forUser: "web")
            await admin.close()
            let form = try await ask(user, "GET", "/sign-in/reset?token=\(link.token)")
            #expect(form.status == 200 && form.attribute("name=\"token\" value") == link.token)
            func reset(_ token: String, _ new: String) async throws -> Browser.Page {
                let fields: [(name: String, value: String)] = [
                    ("token", token), ("new", new), ("again", new),
                ]
                return try await ask(user, "POST", "/sign-in/reset", fields)
            }
            #expect(try await reset(link.token, "short").status == 400)
            let guess = try await reset(String(repeating: "0", count: 96), "a new horse")
            let done = try await reset(link.token, "a new horse")
            #expect(done.status == 200 && done.text.contains("The password of web is set"))
            let again = try await reset(link.token, "a newer horse")
            #expect(again.status == 403 && guess.status == 403)
            let (shown, other) = (String(repeating: "0", count: 96), link.token)
            #expect(guess.text.replacing(shown, with: "") == again.text.replacing(other, with: ""))
            #expect(try await isRight("a new horse", user))
        }
    }

    @Test func otherSitesSendNoForms() async throws {
        try await withWebUser { user, _ in
            for path in ["/sign-in/password", "/sign-in/reset"] {
                let page = try await ask(user, "POST", path, site: "cross-site")
                #expect(page.status == 403)
                #expect(try await ask(user, "PUT", path).headers["Allow"] == "GET, HEAD, POST")
                let policy = page.headers["Content-Security-Policy"] ?? ""
                #expect(policy.hasPrefix("default-src 'none'") && !policy.contains("unsafe"))
            }
        }
    }
}
