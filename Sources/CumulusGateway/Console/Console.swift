// The console for operators: pages in a browser, and the JSON that they ask for.
//
// `cumulusd` makes it beside the HTTP server, which passes it all paths that begin with /console.
// It decides nothing about data: each request of its pages becomes calls of the binary protocol,
// made as the operator, or as a user as whom the operator signed in. Every answer carries a policy
// by which a browser loads and runs only the node's own files.
//
// Folder: the console's side of the node. Read `Console`, `ConsoleSession`, then `ConsoleRoute`,
// the table of its calls, and `ConsoleCall`.

import Crypto
package import CumulusModel
import CumulusNode
import CumulusPages
import CumulusWire

package struct Console: FilePages {
    /// The cookie's name.
    package static let cookie = "cumulus_console"
    private static let path = "/console"
    private static let api = "/console/api/"

    private let door: any WebDoor
    private let sources: ConsoleSources
    private let isTLS: Bool

    /// - Parameter isTLS: The node shows a certificate: browsers keep the cookie off plain HTTP.
    package init(_ door: any WebDoor, _ sources: ConsoleSources, isTLS: Bool = false) {
        self.door = door
        self.sources = sources
        self.isTLS = isTLS
    }

    package func isAt(_ path: Substring) -> Bool {
        path == Console.path || path.hasPrefix(Console.path + "/")
    }

    package var areForOperators: Bool { true }

    package func isOfOperator(_ request: WebRequest) -> Bool { session(of: request) != nil }

    package func answer(_ request: WebRequest) async -> WebAnswer? {
        let path = String(request.target.prefix { $0 != "?" })
        guard isAt(path[...]) else { return nil }
        var answer: WebAnswer
        if path.hasPrefix(Console.api) {
            answer = await call { uuid in
                try await run(request, String(path.dropFirst(Console.api.count)), uuid)
            }
        } else {
            answer = Console.file(request.method, path)
        }
        answer.headers += Console.headers
        return answer
    }

    package func takesFile(_ request: WebRequest) -> Bool {
        request.target.prefix { $0 != "?" } == Console.api + ConsoleRoute.upload
    }

    /// Takes a file for a record's field; the answer holds what records/modify takes as its value.
    package func upload<Body: AsyncSequence>(
        _ request: WebRequest,
        _ body: Body,
        limit: Int = WebTransfers.uploadBytes,
        onWait: () -> Void = {}
    ) async -> WebAnswer where Body.Element == Bytes {
        var answer = await call { uuid in
            let (_, session) = try admit(request, to: ConsoleRoute.upload)
            let names = try ConsoleCall.values(ofQuery: request.target)
            let call = ConsoleCall(request, names, session, door, sources, uuid: uuid)
            return try await call.upload(body, limit: limit, onWait: onWait)
        }
        answer.headers += Console.headers
        return answer
    }

    /// Headers of every answer: the page loads nothing from elsewhere, and no other page shows or
    /// reads it.
    private static let headers: [(name: String, value: String)] = [
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
                + "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        ), ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
        ("X-Frame-Options", "DENY"), ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"), ("Cache-Control", "no-store"),
    ]

    // MARK: Files

    private static let files = PageFile.console(mostFileBytes: WebTransfers.uploadBytes)

    /// A file is found by its whole path, or not at all.
    private static func file(_ method: String, _ path: String) -> WebAnswer {
        guard let file = files[path] else {
            return text(404, "the console has no page \(path.prefix(200))\n")
        }
        guard method == "GET" || method == "HEAD" else {
            return text(405, "\(path) takes GET, not \(method)\n", allow: "GET, HEAD")
        }
        return WebAnswer(
            status: 200,
            headers: [(name: "Content-Type", value: file.type)],
            body: file.bytes
        )
    }

    private static func text(_ status: Int, _ body: String, allow: String? = nil) -> WebAnswer {
        var headers = [(name: "Content-Type", value: "text/plain; charset=utf-8")]
        if let allow { headers.append((name: "Allow", value: allow)) }
        return WebAnswer(status: status, headers: headers, body: Bytes(body.utf8))
    }

    // MARK: Calls

    /// Turns what goes wrong into an answer.
    private func call(
        _ run: (_ uuid: String) async throws -> ConsoleReply
    ) async -> WebAnswer {
        let uuid = WebText.uuid(door.random(), door.random())
        do {
            return reply(try await run(uuid))
        } catch {
            let error = WebError(any: error)
            var answer = Console.json(error.status, error.json(uuid: uuid))
            answer.headers += error.fields
            return answer
        }
    }

    private func run(
        _ request: WebRequest,
        _ name: String,
        _ uuid: String
    ) async throws -> ConsoleReply {
        if name == "session" {
            try Console.checkSite(of: request)
            guard request.method == "POST" else {
                return .json(ConsoleCall.members(of: session(of: request)))
            }
            return try await signIn(request)
        }
        let (route, session) = try admit(request, to: name)
        let values =
            request.method == "POST"
            ? try WebObject(body: request.body) : try ConsoleCall.values(ofQuery: request.target)
        return try await route.run(
            ConsoleCall(request, values, session, door, sources, uuid: uuid)
        )
    }

    /// Finds a call, and the session of an operator who may make it.
    private func admit(
        _ request: WebRequest,
        to name: String
    ) throws(WebError) -> (ConsoleRoute, ConsoleSession) {
        try Console.checkSite(of: request)
        guard let session = session(of: request) else {
            throw WebError(.authenticationFailed, "sign in with the node's operator token")
        }
        let route = try ConsoleRoute.find(request.method, name)
        guard !route.changes || session.isRepeated(by: request.headers["x-console-token"]) else {
            throw WebError(.accessDenied, "X-Console-Token is missing or wrong; sign in again")
        }
        return (route, session)
    }

    /// Browsers say where a request comes from; other programs don't.
    private static func checkSite(of request: WebRequest) throws(WebError) {
        guard ["same-origin", nil].contains(request.headers["sec-fetch-site"]) else {
            throw WebError(.accessDenied, "the console answers to its own pages only")
        }
    }

    /// Judged before the cookie is made, and counted by address.
    private func signIn(_ request: WebRequest) async throws -> ConsoleReply {
        let values = try WebObject(body: request.body)
        if let link = try values.string("link") { return try await signIn(request, by: link) }
        let typed = try values.needed("token")
        let token = Bytes(typed.split { $0.isWhitespace }.joined().utf8)
        try await enter(request, .operatorToken(token))
        return open(Bytes(SHA256.hash(data: token)))
    }

    /// A link of `cumulus console`; a wrong one counts like a wrong token.
    private func signIn(_ request: WebRequest, by text: String) async throws -> ConsoleReply {
        guard let link = ConsoleLink(text: text),
            let digest = door.redeem(link, from: request.address)
        else {
            do {
                try await enter(request, .operatorToken([]))
            } catch let error as ServiceError where error.code == .notAuthenticated {}
            throw WebError(
                .authenticationFailed,
                "this link was used, or is older than a minute; 'cumulus console' makes another"
            )
        }
        try await enter(request, .operatorSession(digest: digest))
        return open(digest)
    }

    /// Throws unless the node lets the operator in.
    private func enter(_ request: WebRequest, _ proof: LocalEntrance.Proof) async throws {
        let entrance = LocalEntrance(
            .cluster,
            proof,
            address: request.address,
            isSecret: request.isSecret
        )
        try await door.enter(entrance).close()
    }

    /// A new session of the operator whose token has this SHA-256.
    private func open(_ digest: Bytes) -> ConsoleReply {
        let secret = [door.random(), door.random()].flatMap { number in
            withUnsafeBytes(of: number) { Array($0) }
        }
        let session = ConsoleSession(
            digest: digest,
            expires: door.now + ConsoleSession.life,
            secret: secret
        )
        return .session(session)
    }

    // MARK: Cookies

    private func session(of request: WebRequest) -> ConsoleSession? {
        for pair in (request.headers["cookie"] ?? "").split(separator: ";") {
            let parts = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0] == Console.cookie,
                let sealed = Base64URL.decode(parts[1].utf8),
                let content = door.open(sealed),
                let session = try? ConsoleSession(content: content), session.isGood(now: door.now)
            else { continue }
            return session
        }
        return nil
    }

    /// - Parameter session: nil removes the cookie.
    private func setCookie(_ session: ConsoleSession?) -> (name: String, value: String) {
        let value = session.map { Base64URL.encode(door.seal($0.content)) } ?? ""
        // Rounded up: the session itself says when it is over.
        let seconds = session.map { (max(0, $0.expires - door.now) + 999) / 1_000 } ?? 0
        let secure = isTLS ? "; Secure" : ""
        return (
            "Set-Cookie",
            "\(Console.cookie)=\(value); Path=/console; Max-Age=\(seconds); HttpOnly; "
                + "SameSite=Strict\(secure)"
        )
    }

    private func reply(_ reply: ConsoleReply) -> WebAnswer {
        switch reply {
        case .json(let members): return Console.json(200, .object(members))
        case .session(let session):
            var answer = Console.json(200, .object(ConsoleCall.members(of: session)))
            answer.headers.append(setCookie(session))
            return answer
        case .content(let bytes, let picture):
            var headers = [
                (name: "Content-Type", value: picture ?? "application/octet-stream")
            ]
            if picture == nil { headers.append(("Content-Disposition", "attachment")) }
            return WebAnswer(status: 200, headers: headers, body: bytes)
        }
    }

    private static func json(_ status: Int, _ json: JSON) -> WebAnswer {
        WebAnswer(
            status: status,
            headers: [(name: "Content-Type", value: "application/json; charset=utf-8")],
            body: json.bytes
        )
    }
}

/// The reply to a request of the console's pages.
enum ConsoleReply {
    case json([JSON.Member])
    /// The cookie is set anew, or removed; the answer says who is signed in.
    case session(ConsoleSession?)
    /// The content of an asset: a picture of a type, or nil for everything else.
    case content(Bytes, picture: String?)
}
