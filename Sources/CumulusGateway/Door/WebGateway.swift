// A request of web services from its first line to its answer: route, caller, endpoint, errors.
//
// Called by the HTTP server with requests that are there as a whole; tests call it without one.
// Every answer is a JSON object, errors too, and carries the id that errors name.

import Crypto
package import CumulusModel
import CumulusNode

package struct WebRequest: Sendable {
    package var method: String
    /// Path and query as they were sent.
    package var target: String
    /// Headers by their names in lower case.
    package var headers: [String: String]
    package var body: Bytes
    /// The caller's IP address: 4 or 16 bytes; empty: unknown.
    package var address: Bytes = []
    /// No one between caller and node can read it.
    package var isSecret = false
    /// It came over TLS to this node.
    package var isEncrypted = false

    package init(
        _ method: String,
        _ target: String,
        headers: [String: String] = [:],
        body: Bytes = []
    ) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
    }

    /// Bytes of the body, as the request says; nil: it doesn't say.
    var contentLength: Int? { headers["content-length"].flatMap { Int($0) } }
}

package struct WebAnswer: Sendable {
    package var status: Int
    package var headers: [(name: String, value: String)] = []
    package var body: Bytes

    package init(
        status: Int,
        headers: [(name: String, value: String)] = [],
        body: Bytes = []
    ) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

package struct WebGateway: Sendable {
    let door: any WebDoor
    package let meter = WebMeter()
    let board = CourierBoard()
    /// The page where users sign in, as `SignInPages` serves it; nil if there is none.
    private let signInURL: String?
    /// The prefix of links; nil means the prefix of the caller's own URL.
    private let publicURL: String?

    package init(_ door: any WebDoor, signInURL: String? = nil, publicURL: String? = nil) {
        self.door = door
        self.signInURL = signInURL
        self.publicURL = publicURL
    }

    /// The caller, as far as the gateway judges it.
    private struct Caller {
        var proof = LocalEntrance.Proof.nothing
        /// The signed-in user's token, to be renewed.
        var token: WebToken?
        /// The data that the caller has seen, according to a header.
        var seen: WebSeen?
        var api: WebAPIToken?
        /// SHA-256 of the API token.
        var apiDigest: Bytes = []
        /// The origin of the page that calls; empty if it names none.
        var origin = ""
        /// The id of a server's key.
        var serverKey: Bytes?
        /// SHA-256 of the access token that a script shows.
        var bearer: Bytes?

        /// Causal tokens of what it has seen, as far as they are waited for.
        func seen(now: Int64) -> [Bytes] {
            [token?.seen, seen].compactMap { $0 }.filter { $0.isGood(now: now) }.map(\.token)
        }

        /// The access that links get from it.
        func access(to route: WebRoute) -> WebAccess {
            let proof: WebAccess.Proof =
                if let serverKey {
                    .server(serverKey)
                } else if let session = bearer ?? token?.session {
                    .session(session)
                } else {
                    .nothing
                }
            return WebAccess(route.scope, route.database, proof, api: apiDigest)
        }
    }

    package func answer(_ request: WebRequest) async -> WebAnswer {
        let start = door.nanoseconds()
        var endpoint: WebEndpoint?
        let answer = await answer(request, &endpoint)
        let microseconds = (door.nanoseconds() - start) / 1_000
        meter.note(endpoint, status: answer.status, microseconds: microseconds)
        return answer
    }

    private func answer(_ request: WebRequest, _ endpoint: inout WebEndpoint?) async -> WebAnswer {
        let uuid = WebText.uuid(door.random(), door.random())
        let origin = request.headers["origin"]
        if request.method == "OPTIONS" {
            return WebAnswer(
                status: 204,
                headers: WebGateway.sharing(with: origin, isPreflight: true)
            )
        }
        var answer = WebAnswer(status: 200, headers: WebGateway.common(uuid))
        var carried: [(name: String, value: String)] = []
        var isAdmitted = true
        do throws(WebError) {
            let route = try WebRoute(method: request.method, target: request.target)
            endpoint = route.endpoint
            var caller = try await caller(of: request, at: route)
            let header = WebSeen.header.lowercased()
            caller.seen = door.seen(request.headers[header], in: route.scope)
            if let origin, let api = caller.api, !api.admits(origin: origin) {
                isAdmitted = false
                throw WebError(.accessDenied, "the API token is not for pages of \(origin)")
            }
            var seen: WebSeen?
            defer { carried = headers(for: caller, route, seen) }
            answer.body = try await run(request, route, caller, uuid, &seen)
        } catch {
            answer = error.answer(uuid: uuid)
        }
        answer.headers += carried
        if isAdmitted { answer.headers += WebGateway.sharing(with: origin, isPreflight: false) }
        return answer
    }

    /// The answer to a request that is refused before it is read.
    package func refusal(_ error: WebError) -> WebAnswer {
        error.answer(uuid: WebText.uuid(door.random(), door.random()))
    }

    static func common(_ uuid: String) -> [(name: String, value: String)] {
        [
            ("Content-Type", "application/json; charset=UTF-8"), ("X-Apple-Request-UUID", uuid),
            ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
        ]
    }

    private func run(
        _ request: WebRequest,
        _ route: WebRoute,
        _ caller: Caller,
        _ uuid: String,
        _ seen: inout WebSeen?
    ) async throws(WebError) -> Bytes {
        let object = try WebObject(body: request.body)
        let access = caller.access(to: route)
        let entrance = LocalEntrance(
            route.scope,
            caller.proof,
            address: request.address,
            device: access.device(of: route.clientID),
            isSecret: request.isSecret,
            seen: caller.seen(now: door.now)
        )
        let calls: any WebCalls
        do throws(ServiceError) {
            calls = try await door.enter(entrance)
        } catch {
            throw refusal(error, caller)
        }
        defer {
            seen = calls.reached.map { WebSeen(token: $0, made: door.now) }
            calls.close()
        }
        let links = WebLinks(
            door: door,
            access: access,
            base: publicURL ?? request.base,
            seen: { calls.reached }
        )
        do throws(WebError) {
            let context = WebContext(route, object, calls, links, uuid: uuid) { signIn(caller) }
            return try await context.answer()
        } catch {
            guard error.code == .authenticationRequired else { throw error }
            throw signIn(caller)
        }
    }

    /// A session that has ended is begun again by signing in.
    private func refusal(_ error: ServiceError, _ caller: Caller) -> WebError {
        guard error.code == .notAuthenticated else { return WebError(error) }
        if caller.bearer != nil { return WebError(.authenticationFailed, error.message) }
        return caller.serverKey != nil ? ServerSignature.refusal : signIn(caller)
    }

    /// Sends a user to the page to sign in at, with a link for this app that is good for a while.
    private func signIn(_ caller: Caller) -> WebError {
        var error = WebContext.userNeeded
        guard let signInURL, let api = caller.api else { return error }
        guard api.signIn(from: caller.origin) != nil else {
            error.reason +=
                "; users can't sign in from here until the operator gives this API token the "
                + "page's origin, or a callback: cumulus web set"
            return error
        }
        let state = SignInState(
            scope: api.scope,
            api: caller.apiDigest,
            origin: caller.origin,
            step: .link,
            made: door.now
        )
        error.redirectURL = WebText.adding([("state", door.text(of: state))], to: signInURL)
        return error
    }

    // MARK: Callers

    private func caller(
        of request: WebRequest,
        at route: WebRoute
    ) async throws(WebError) -> Caller {
        let credentials = try WebCredentials(target: request.target) { request.headers[$0] }
        switch credentials {
        case .server(let signature): return try server(signature, request, route)
        case .bearer(let token):
            var caller = Caller()
            let digest = Bytes(SHA256.hash(data: Bytes(token.utf8)))
            caller.bearer = digest
            caller.proof = .accessToken(digest: digest)
            return caller
        case .tokens(let api, let user):
            var caller = Caller()
            caller.origin = request.headers["origin"] ?? ""
            for reading in api where caller.api == nil {
                caller.apiDigest = Bytes(SHA256.hash(data: Bytes(reading.utf8)))
                caller.api = try await door.app(of: caller.apiDigest)
            }
            guard caller.api?.scope == route.scope else { throw WebCredentials.refusal }
            let digest = caller.apiDigest
            caller.token = user.lazy.compactMap { token($0, route.scope, digest) }.first
            if let token = caller.token { caller.proof = .session(digest: token.session) }
            let isOpen = route.database == .public && route.endpoint.isOpen && user.isEmpty
            guard caller.token != nil || isOpen else { throw signIn(caller) }
            return caller
        }
    }

    /// A user's token that is good here; nil for everything else.
    private func token(_ text: String, _ scope: ScopeID, _ api: Bytes) -> WebToken? {
        guard let sealed = Base64URL.decode(text.utf8),
            let content = door.open(sealed), let token = try? WebToken(content: content),
            token.isGood(in: scope, api: api, now: door.now)
        else { return nil }
        return token
    }

    /// The token for a session that a user opened.
    package func token(_ token: WebToken) -> String { door.text(of: token) }

    /// The headers that the caller carries from now on: the renewed token of its session, and the
    /// data that it has seen.
    ///
    /// - Parameter seen: nil if the node answered nothing; then what it had seen stays.
    private func headers(
        for caller: Caller,
        _ route: WebRoute,
        _ seen: WebSeen?
    ) -> [(name: String, value: String)] {
        var headers: [(name: String, value: String)] = []
        if let seen { headers.append((WebSeen.header, door.text(of: seen, in: route.scope))) }
        guard var token = caller.token, route.endpoint != .usersSignOut else { return headers }
        token.made = door.now
        token.seen = seen ?? token.seen
        headers.append(("X-Apple-CloudKit-Web-Auth-Token", self.token(token)))
        return headers
    }

    /// A server's key opens the public database, and tells the server who it is.
    private func server(
        _ signature: ServerSignature,
        _ request: WebRequest,
        _ route: WebRoute
    ) throws(WebError) -> Caller {
        if let refusal = signature.refusal(of: route, now: door.now) { throw refusal }
        guard signature.clusterID == door.clusterID else { throw ServerSignature.refusal }
        var caller = Caller()
        caller.serverKey = signature.keyID
        caller.proof = .serviceKey(id: signature.keyID) { [body = request.body] publicKey in
            signature.isRight(body: body, publicKey: publicKey)
        }
        return caller
    }

    // MARK: Pages of other origins

    /// The headers that let a page of another origin read an answer.
    static func sharing(
        with origin: String?,
        isPreflight: Bool
    ) -> [(name: String, value: String)] {
        guard let origin else { return [] }
        var headers = [
            ("Access-Control-Allow-Origin", origin), ("Access-Control-Allow-Credentials", "true"),
            ("Vary", "Origin"),
            (
                "Access-Control-Expose-Headers",
                "X-Apple-CloudKit-Web-Auth-Token, X-Apple-Request-UUID, \(WebSeen.header), "
                    + "traceresponse, ETag, Content-Range, Retry-After"
            ),
        ]
        if isPreflight {
            headers += [
                ("Access-Control-Allow-Methods", "GET, POST, OPTIONS"),
                (
                    "Access-Control-Allow-Headers",
                    "content-type, traceparent, range, if-range, if-match, if-none-match, "
                        + "\(WebSeen.header), "
                        + "X-Apple-CloudKit-Request-KeyID, "
                        + "X-Apple-CloudKit-Request-ISO8601Date, "
                        + "X-Apple-CloudKit-Request-SignatureV1"
                ), ("Access-Control-Max-Age", "600"),
            ]
        }
        return headers.map { (name: $0.0, value: $0.1) }
    }
}
