// What tests of the console say again and again: a node with a console, and an operator's browser.

import CumulusGateway
import CumulusModel
import CumulusTesting
import CumulusTransport
import Logging
import Testing

/// A browser: it keeps the cookie, and repeats the session's secret.
final class ConsoleUser {
    let console: Console
    var cookie: String?
    var secret = ""
    var isSecret = true
    /// As the browser says where its requests come from.
    var site: String? = "same-origin"

    struct Answer {
        var status: Int
        var json: JSON
        var headers: [String: String]

        var code: String? { json["serverErrorCode"]?.string }

        func entries(_ key: String) -> [JSON] {
            if case .array(let entries)? = json[key] { entries } else { [] }
        }
    }

    init(_ console: Console) {
        self.console = console
    }

    /// A request as a browser sends it.
    func request(_ method: String, _ target: String, _ body: JSON? = nil) -> WebRequest {
        var headers: [String: String] = ["x-console-token": secret]
        if let site { headers["sec-fetch-site"] = site }
        if let cookie { headers["cookie"] = "other=1; \(Console.cookie)=\(cookie)" }
        var request = WebRequest(
            method,
            target,
            headers: headers,
            body: Bytes((body?.text ?? "").utf8)
        )
        request.address = [127, 0, 0, 1]
        request.isSecret = isSecret
        return request
    }

    /// The whole answer; it is nil for paths that are not the console's.
    func send(
        _ method: String,
        _ target: String,
        _ body: JSON? = nil
    ) async -> WebAnswer? {
        await console.answer(request(method, target, body))
    }

    private func call(_ method: String, _ name: String, _ body: JSON?) async throws -> Answer {
        try ConsoleUser.read(
            #require(await send(method, "/console/api/\(name)", body))
        )
    }

    static func read(_ answer: WebAnswer) throws -> Answer {
        let headers = Dictionary(answer.headers.map { ($0.name, $0.value) }) { first, _ in first }
        return Answer(
            status: answer.status,
            json: try JSONReader.read(answer.body),
            headers: headers
        )
    }

    func get(_ name: String) async throws -> Answer { try await call("GET", name, nil) }

    func post(_ name: String, _ body: JSON = [:]) async throws -> Answer {
        let answer = try await call("POST", name, body)
        if let text = answer.headers["Set-Cookie"] {
            cookie = text.split(separator: ";").first?.split(separator: "=").last.map(String.init)
        }
        if let secret = answer.json["token"]?.string { self.secret = secret }
        return answer
    }

    func signIn(_ token: String = TestServer.operatorToken) async throws -> Answer {
        try await post("session", ["token": .string(token)])
    }
}

/// Names the scope of the tests in a body.
func inScope(
    _ members: [String: JSON] = [:],
    _ environment: String = "development"
) -> JSON {
    let scope: [JSON.Member] = [
        .init("container", .string(TestServer.container)),
        .init("environment", .string(environment)),
    ]
    return .object(scope + members.sorted { $0.key < $1.key }.map { .init($0.key, $0.value) })
}

/// Names the scope of the tests in a query.
let scopeQuery = "container=\(TestServer.container)&environment=development"

/// Runs a test against a node with a schema and a console; nobody is signed in yet.
///
/// - Parameters:
///   - auditLines: The lines of the node's audit log.
///   - fill: Adds what the process has beside its node.
func withConsole(
    auditLines: (@Sendable () -> [Bytes])? = nil,
    fill: (inout ConsoleSources) -> Void = { _ in },
    _ body: (ConsoleUser, TestServer) async throws -> Void
) async throws {
    try await withWebUser { web, server in
        let node = server.node
        let door = NodeDoor(node) { _ in nil }
        var sources = ConsoleSources { LiveNumbers(of: node, web.gateway.meter) }
        sources.auditLines = auditLines
        fill(&sources)
        let console = Console(door, sources)
        try await body(ConsoleUser(console), server)
    }
}

/// Serves a node's console over HTTP for the length of a test.
///
/// - Parameter fill: Adds what the process has beside its node.
func serveConsole(
    _ server: TestServer,
    fill: (inout ConsoleSources) -> Void = { _ in },
    _ body: (_ endpoint: String) async throws -> Void
) async throws {
    let node = server.node
    let door = NodeDoor(node) { _ in nil }
    let gateway = WebGateway(door)
    var sources = ConsoleSources { LiveNumbers(of: node, gateway.meter) }
    fill(&sources)
    let console = Console(door, sources)
    let http = HTTPServer(
        gateway,
        OperatorPages(node, gateway.meter),
        [console],
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    )
    try await withRunning(http) { port in try await body("127.0.0.1:\(port)") }
}
