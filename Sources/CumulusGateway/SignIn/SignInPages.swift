// The pages at which users of web apps sign in: with a name and a password, or at an identity
// provider of the operator's; and register, if they may. An app gets their URL with
// AUTHENTICATION_REQUIRED.
//
//     app          421, redirectURL        -> GET  /sign-in?state=LINK      the form
//     user         name, password          -> POST /sign-in                 SIGN_IN of the node,
//                                                                           or REGISTER
//                  or a provider's button  -> POST /sign-in                 on to the provider
//     provider     code                    -> GET  /sign-in/callback        its ID token, SIGN_IN
//     app          a message or a redirect <- ckWebAuthToken and ckSession
//
// Asked by `HTTPServer` before the gateway. The node's own sign-in decides and counts attempts; a
// node keeps nothing between two requests.
//
// Folder: signing in with a browser. Read `SignInPages`, then `SignInState`, `SignInHTML`,
// `WebProvider` and `PasswordPages`.

import Crypto
package import CumulusModel
import CumulusNode
import CumulusPages
import CumulusWire
package import Logging

package struct SignInPages: WebPages {
    private let door: any WebDoor
    private let site: WebAddress
    private let providers: @Sendable () -> [WebProvider]
    private let client: any WebClient
    private let logger: Logger
    private let cookie: String

    /// - Parameters:
    ///   - site: Where browsers reach the node, with what a proxy puts in front of paths.
    ///   - providers: The providers at whose pages users may sign in now.
    package init(
        _ door: any WebDoor,
        at site: WebAddress,
        providers: @escaping @Sendable () -> [WebProvider] = { [] },
        client: any WebClient,
        logger: Logger
    ) {
        self.door = door
        self.site = site
        self.providers = providers
        self.client = client
        self.logger = logger
        // Browsers take a cookie with the first name only over TLS, and from this host itself.
        cookie = site.isSecure ? "__Host-cumulus-sign-in" : "cumulus-sign-in"
    }

    /// The URL to which `WebGateway` sends users.
    package static func url(at site: WebAddress) -> String { site.text + "/sign-in" }

    private var back: String { site.text + "/sign-in/callback" }

    private static let paths: Set<Substring> = [
        "/sign-in", "/sign-in/callback", "/sign-in/page.css", "/sign-in/page.js",
        "/sign-in/again.js",
    ]

    package func isAt(_ path: Substring) -> Bool { SignInPages.paths.contains(ownPath(path)) }

    /// The path without the prefix that a proxy may add.
    private func ownPath(_ path: Substring) -> Substring {
        guard !site.path.isEmpty, path.hasPrefix(site.path + "/") else { return path }
        return path.dropFirst(site.path.count)
    }

    package func answer(_ request: WebRequest) async -> WebAnswer? {
        let path = ownPath(request.target.prefix { $0 != "?" })
        let isGet = request.method == "GET" || request.method == "HEAD"
        switch path {
        case "/sign-in" where isGet: return await show(request)
        case "/sign-in" where request.method == "POST": return await submit(request)
        case "/sign-in/callback" where isGet: return await comeBack(request)
        case "/sign-in/page.css" where isGet: return file(SignInFile.style, "text/css")
        case "/sign-in/page.js" where isGet: return file(SignInFile.script, "text/javascript")
        case "/sign-in/again.js" where isGet: return file(SignInFile.formScript, "text/javascript")
        case _ where SignInPages.paths.contains(path):
            var answer = notice(405, "This page does not take \(request.method).")
            answer.headers.append(("Allow", path == "/sign-in" ? "GET, HEAD, POST" : "GET, HEAD"))
            return answer
        default: return nil
        }
    }

    // MARK: Visits

    /// A browser on its way, and the app that sent it.
    private struct Visit {
        var state: SignInState
        var app: WebAPIToken.SignIn
        /// The web app itself.
        var api: WebAPIToken
        /// The value of the browser's cookie.
        var browser: String
        var address: Bytes
        var isSecret: Bool

        /// The target of the sign-in, for people.
        var name: String {
            switch app {
            case .message(let origins):
                return state.origin.isEmpty ? origins.joined(separator: ", ") : state.origin
            case .redirect(let url):
                return WebAddress(url)?.origin ?? String(url.prefix { $0 != ":" }) + ":"
            }
        }

        /// The target of a form's answer, as a policy names it; empty if there is none.
        var callback: String {
            if case .redirect = app { name } else { "" }
        }
    }

    /// nil if the text is no state of a sign-in, or the app's users can't sign in any more.
    private func visit(_ text: String?, _ request: WebRequest) async -> Visit? {
        guard let text, let state = door.signInState(text),
            let api = try? await door.apiToken(state.api), api.scope == state.scope,
            let app = api.signIn(from: state.origin)
        else { return nil }
        let sent = WebText.cookie(cookie, in: request.headers["cookie"]) ?? ""
        let isKnown = Base64URL.decode(sent.utf8)?.count == SignInPages.secretBytes
        return Visit(
            state: state,
            app: app,
            api: api,
            browser: isKnown ? sent : secret(),
            address: request.address,
            isSecret: request.isSecret
        )
    }

    private static let secretBytes = 32

    /// Random bytes as text.
    private func secret() -> String {
        var bytes: Bytes = []
        while bytes.count < SignInPages.secretBytes {
            withUnsafeBytes(of: door.random()) { bytes += $0 }
        }
        return Base64URL.encode(bytes)
    }

    private static func digest(_ text: String) -> Bytes {
        Bytes(SHA256.hash(data: Bytes(text.utf8)))
    }

    private func seal(_ step: SignInState.Step, _ visit: Visit) -> String {
        var state = visit.state
        state.step = step
        state.made = door.now
        return door.text(of: state)
    }

    // MARK: The form

    private func show(_ request: WebRequest) async -> WebAnswer {
        let query = WebText.query(of: request.target)
        guard let visit = await visit(query["state"], request), visit.state.step == .link,
            visit.state.isFresh(now: door.now)
        else { return notice(400, SignInPages.expired) }
        return await form(visit, 200, registers: query["register"] != nil)
    }

    private static let expired = """
        This link to sign in is not good any more. Go back to the app and begin there again.
        """

    private func form(
        _ visit: Visit,
        _ status: Int,
        problem: String = "",
        name: String = "",
        isKept: Bool = false,
        registers: Bool = false
    ) async -> WebAnswer {
        let browser = SignInPages.digest(visit.browser)
        var form = SignInHTML.Form(
            app: visit.name,
            state: seal(.form(browser: browser), visit)
        )
        form.title = visit.api.title
        form.logo = await door.logo(of: visit.api)
        form.registers = registers && door.takesRegistrations
        form.otherForm = otherForm(visit, registers: form.registers)
        form.providers = form.registers ? [] : providers().map(\.choice)
        form.problem = problem
        form.name = name
        form.isKept = isKept
        if case .message = visit.app { form.canCancel = true }
        var answer = page(status, SignInHTML.form(form, at: site), callback: visit.callback)
        let attributes = site.isSecure ? "; Secure" : ""
        answer.headers.append(
            (
                "Set-Cookie",
                "\(cookie)=\(visit.browser); Path=/; HttpOnly; SameSite=Lax\(attributes)"
            )
        )
        return answer
    }

    /// The link to the form for new users, or back from there.
    private func otherForm(_ visit: Visit, registers: Bool) -> String {
        guard door.takesRegistrations else { return "" }
        var pairs = [(name: "state", value: seal(.link, visit))]
        if !registers { pairs.append((name: "register", value: "yes")) }
        return WebText.adding(pairs, to: SignInPages.url(at: site))
    }

    private func submit(_ request: WebRequest) async -> WebAnswer {
        let fields = WebText.fields(of: String(decoding: request.body, as: UTF8.self))
        guard let visit = await visit(fields["state"], request),
            case .form(let browser) = visit.state.step
        else { return notice(400, SignInPages.expired) }
        let name = fields["name"] ?? ""
        let isKept = fields["keep"] == "yes"
        guard browser == SignInPages.digest(visit.browser) else {
            return notice(
                403,
                "Your browser did not send the cookie of this page. Allow cookies of this site, go "
                    + "back to the app and begin there again."
            )
        }
        guard visit.state.isFresh(now: door.now) else {
            let problem = "The page was open for too long. Try again."
            return await form(visit, 400, problem: problem, name: name, isKept: isKept)
        }
        if fields["cancel"] != nil, case .message = visit.app {
            return end([("errorMessage", "the user cancelled the sign-in")], visit)
        }
        if let issuer = fields["provider"] {
            return await start(at: issuer, visit, isKept: isKept)
        }
        let password = fields["password"] ?? ""
        let registers = fields["register"] != nil
        if registers, password != fields["again"] {
            let problem = "The two passwords differ."
            return await form(
                visit,
                400,
                problem: problem,
                name: name,
                isKept: isKept,
                registers: true
            )
        }
        do {
            let message = SignInRequest(
                name: Bytes(name.utf8),
                password: Bytes(password.utf8),
                label: SignInPages.label(visit)
            )
            return try await signIn(
                message,
                visit,
                isKept: isKept,
                registers ? .accountsRegister : .accountsSignIn
            )
        } catch {
            return await form(visit, error, name: name, isKept: isKept, registers: registers)
        }
    }

    /// The form again, with what the node said.
    private func form(
        _ visit: Visit,
        _ error: ServiceError,
        name: String = "",
        isKept: Bool,
        registers: Bool = false
    ) async -> WebAnswer {
        // 401 would make browsers ask for a password themselves.
        let code = WebError(error)
        let status = error.code == .notAuthenticated ? 403 : code.status
        var answer = await form(
            visit,
            status,
            problem: error.message,
            name: name,
            isKept: isKept,
            registers: registers
        )
        if let seconds = code.retryAfter {
            answer.headers.append(("Retry-After", String(seconds)))
        }
        return answer
    }

    // MARK: Signing in

    /// The label in the list of sessions.
    private static func label(_ visit: Visit) -> String {
        let label = "browser: " + visit.name
        return label.utf8.count <= Limits.standard.nameBytes ? label : "browser"
    }

    /// Opens a session, and tells the app of it.
    private func signIn(
        _ message: SignInRequest,
        _ visit: Visit,
        isKept: Bool,
        _ method: Method = .accountsSignIn
    ) async throws(ServiceError) -> WebAnswer {
        let calls = try await door.enter(
            LocalEntrance(
                visit.state.scope,
                address: visit.address,
                isSecret: visit.isSecret
            )
        )
        defer { calls.close() }
        let answer = try await calls.read(method, message.encoded())
        guard let opened = try? OpenedSession(wire: answer.first ?? []), !opened.token.isEmpty
        else {
            throw ServiceError(.internalError, "the node's answer holds no session")
        }
        let token = WebToken(
            session: Bytes(SHA256.hash(data: opened.token)),
            scope: visit.state.scope,
            api: visit.state.api,
            made: door.now,
            isKept: isKept
        )
        let text = door.text(of: token)
        return end([("ckWebAuthToken", text), ("ckSession", text)], visit)
    }

    /// Tells the app, once and for all.
    private func end(_ pairs: [(name: String, value: String)], _ visit: Visit) -> WebAnswer {
        switch visit.app {
        case .message(let origins):
            let message: JSON = .object(pairs.map { JSON.Member($0.name, .string($0.value)) })
            return page(200, SignInHTML.done(message, origins: origins, at: site))
        case .redirect(let url):
            var answer = page(303, "")
            answer.headers.append(("Location", WebText.adding(pairs, to: url)))
            return answer
        }
    }

    // MARK: Providers

    private func start(at issuer: String, _ visit: Visit, isKept: Bool) async -> WebAnswer {
        guard let provider = providers().first(where: { $0.choice.issuer == issuer }) else {
            return await form(visit, 400, problem: SignInPages.noProvider, isKept: isKept)
        }
        let errand = SignInState.Errand(
            issuer: issuer,
            verifier: secret(),
            nonce: secret(),
            isKept: isKept
        )
        let step = SignInState.Step.provider(
            browser: SignInPages.digest(visit.browser),
            errand
        )
        let url = provider.start(errand, state: seal(step, visit), back: back)
        return page(200, SignInHTML.passage(to: url, provider.choice.name, at: site))
    }

    private static let noProvider = "This provider is not offered any more. Choose another way."

    private func comeBack(_ request: WebRequest) async -> WebAnswer {
        let fields = WebText.fields(
            of: String(request.target.drop { $0 != "?" }.dropFirst())
        )
        guard let visit = await visit(fields["state"], request),
            case .provider(let browser, let errand) = visit.state.step,
            browser == SignInPages.digest(visit.browser), visit.state.isFresh(now: door.now)
        else { return notice(400, SignInPages.expired) }
        guard let provider = providers().first(where: { $0.choice.issuer == errand.issuer }) else {
            return await form(visit, 400, problem: SignInPages.noProvider, isKept: errand.isKept)
        }
        // A provider that names itself must be the one that was asked (RFC 9207).
        guard let code = fields["code"], fields["iss"] ?? errand.issuer == errand.issuer else {
            let problem = "\(provider.choice.name) did not sign you in. Try again."
            return await form(visit, 403, problem: problem, isKept: errand.isKept)
        }
        let token: Bytes
        do {
            token = try await idToken(of: provider, code, errand)
        } catch {
            logger.warning(
                "an identity provider gave no ID token",
                metadata: ["issuer": "\(errand.issuer)", "why": "\(error)"]
            )
            let problem = "\(provider.choice.name) could not be asked who you are. Try again."
            return await form(visit, 502, problem: problem, isKept: errand.isKept)
        }
        do {
            let message = SignInRequest(
                idToken: token,
                nonce: errand.nonce,
                label: SignInPages.label(visit)
            )
            return try await signIn(message, visit, isKept: errand.isKept)
        } catch {
            return await form(visit, error, isKept: errand.isKept)
        }
    }

    private func idToken(
        of provider: WebProvider,
        _ code: String,
        _ errand: SignInState.Errand
    ) async throws -> Bytes {
        let exchange = provider.exchange(code, verifier: errand.verifier, back: back)
        var headers = [(name: "Content-Type", value: "application/x-www-form-urlencoded")]
        if let authorization = exchange.authorization {
            headers.append((name: "Authorization", value: authorization))
        }
        let (status, body) = try await client.post(
            exchange.body,
            to: provider.token,
            headers: headers
        )
        return try WebProvider.idToken(status: status, body)
    }

    // MARK: Answers

    private func page(_ status: Int, _ html: String, callback: String = "") -> WebAnswer {
        WebAnswer(
            status: status,
            headers: SignInHTML.headers("text/html", callback: callback),
            body: Bytes(html.utf8)
        )
    }

    private func notice(_ status: Int, _ text: String) -> WebAnswer {
        page(status, SignInHTML.notice(text, at: site))
    }

    private func file(_ content: Bytes, _ type: String) -> WebAnswer {
        WebAnswer(status: 200, headers: SignInHTML.headers(type), body: content)
    }
}
