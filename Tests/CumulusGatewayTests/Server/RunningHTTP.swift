// An HTTP server for the length of a test, and a thread for callers that block while it answers.

import CumulusGateway
import CumulusTesting
import CumulusTransport
import Foundation
import Logging
import Testing

/// Serves on a port of loopback until the body ends; 0: on a free one.
func withRunning(
    _ http: HTTPServer,
    port: Int = 0,
    _ body: (_ port: Int) async throws -> Void
) async throws {
    let loops = EventLoops(threads: 1)
    let (ports, source) = AsyncStream<Int>.makeStream()
    let task = Task {
        try? await http.run(host: "127.0.0.1", port: port, on: loops.group) { source.yield($0) }
        source.finish()
    }
    var bound: Int?
    for await port in ports {
        bound = port
        break
    }
    do {
        try await body(try #require(bound))
    } catch {
        Issue.record(error)
    }
    task.cancel()
    await task.value
    try await loops.stop()
}

/// Runs a test against an HTTP server that ends with it; its pages belong to the host "node".
func withHTTP(
    _ bounds: HTTPServer.Bounds = .init(),
    pages: [any WebPages] = [],
    _ body: @Sendable (_ endpoint: String, WebUser, TestServer) async throws -> Void
) async throws {
    try await withWebUser { user, server in
        let http = HTTPServer(
            user.gateway,
            OperatorPages(server.node, user.gateway.meter),
            pages,
            hosts: WebHosts(["node"]),
            bounds: bounds,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        try await withRunning(http) { port in
            try await body("127.0.0.1:\(port)", user, server)
        }
    }
}

/// Runs a body that blocks on a thread of its own: what it waits for is done by the pool's.
func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { continuation in
        let thread = Thread { continuation.resume(with: Result { try body() }) }
        thread.start()
    }
}
