// Many connections on real sockets: who is answered beside them.

import CumulusGateway
import CumulusModel
import CumulusTesting
import CumulusTransport
import Foundation
import Logging
import Synchronization
import Testing

@Suite struct CrowdTests {
    private func bounds(_ most: Int, ofOne: Int, reserve: Int) -> HTTPServer.Bounds {
        var bounds = HTTPServer.Bounds()
        bounds.connections = most
        bounds.connectionsOfOne = ofOne
        bounds.reservedConnections = reserve
        return bounds
    }

    private func get(_ path: String, _ fields: String = "") -> String {
        "GET \(path) HTTP/1.1\r\nHost: node\r\n\(fields)Connection: close\r\n\r\n"
    }

    /// A connection that sends so much and no more.
    private func open(_ endpoint: String, _ text: String) throws -> RawClient {
        let client = try RawClient(endpoint)
        try client.send(Bytes(text.utf8))
        return client
    }

    @Test func halfRequestsMakeRoom() async throws {
        try await withHTTP(bounds(8, ofOne: 4, reserve: 1)) { endpoint, _, _ in
            let halves = try (0..<20).map { _ in try open(endpoint, "GET /livez HTTP/1.1\r\nX: ") }
            defer { for half in halves { half.close() } }
            #expect(try halves[0].receive() == nil, "the oldest were closed")
            #expect(try RawClient.exchange(endpoint, get("/livez")).hasPrefix("HTTP/1.1 200"))
            #expect(try RawClient.exchange(endpoint, get("/")).hasPrefix("HTTP/1.1 404"))
        }
    }

    /// A page that never answers.
    private final class Endless: WebPages {
        private let count = Mutex(0)
        /// Requests that have come.
        var requests: Int { count.withLock { $0 } }

        func isAt(_ path: Substring) -> Bool { path == "/endless" }

        func answer(_ request: WebRequest) async -> WebAnswer? {
            count.withLock { $0 += 1 }
            try? await Task.sleep(for: .seconds(60))
            return WebAnswer(status: 200)
        }
    }

    /// A room that is full of requests in progress.
    @Test func healthChecksHaveRoomOfTheirOwn() async throws {
        let page = Endless()
        try await withHTTP(bounds(3, ofOne: 3, reserve: 2), pages: [page]) { endpoint, _, _ in
            let busy = try (0..<3).map { _ in try open(endpoint, get("/endless")) }
            defer { for client in busy { client.close() } }
            while page.requests < 3 { try await Task.sleep(for: .milliseconds(5)) }
            for _ in 0..<5 {
                #expect(try RawClient.exchange(endpoint, get("/livez")).hasPrefix("HTTP/1.1 200"))
                let refused = try RawClient.exchange(endpoint, get("/"))
                #expect(refused.hasPrefix("HTTP/1.1 503") && refused.contains("Retry-After: 1"))
            }
            #expect(try RawClient.exchange(endpoint, get("/readyz")).hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test func aHeadComesInTime() async throws {
        var bounds = HTTPServer.Bounds()
        bounds.headMilliseconds = 200
        try await withHTTP(bounds) { endpoint, _, _ in
            let client = try open(endpoint, "GET /livez HTTP/1.1\r\n")
            defer { client.close() }
            let start = Date()
            #expect(try client.receive(within: 5_000) == nil)
            #expect(Date().timeIntervalSince(start) < 4)
        }
    }

    @Test func aBodyKeepsItsPace() async throws {
        var bounds = HTTPServer.Bounds()
        bounds.bodyMilliseconds = 300
        try await withHTTP(bounds) { endpoint, user, _ in
            let target = user.target("private/records/lookup")
            let head = "POST \(target) HTTP/1.1\r\nHost: node\r\nContent-Length: 1000\r\n\r\n"
            let client = try open(endpoint, head)
            defer { client.close() }
            let start = Date()
            while (try? client.send([0x20])) != nil, Date().timeIntervalSince(start) < 5 {
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(Date().timeIntervalSince(start) < 4)
        }
    }

    /// A page that tells the address of its caller.
    private struct Where: WebPages {
        func isAt(_ path: Substring) -> Bool { path == "/where" }

        func answer(_ request: WebRequest) async -> WebAnswer? {
            WebAnswer(status: 200, body: Bytes("\(request.address)".utf8))
        }
    }

    @Test func aTrustedProxySaysWhoCalls() async throws {
        try await withWebUser { user, server in
            for (text, address, status) in [
                ("127.0.0.1", "[192, 0, 2, 7]", "403"), ("", "[127, 0, 0, 1]", "200"),
            ] {
                let http = HTTPServer(
                    user.gateway,
                    OperatorPages(server.node, user.gateway.meter),
                    [Where()],
                    hosts: WebHosts(["node"]),
                    proxies: try TrustedProxies(text),
                    logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
                )
                try await withRunning(http) { port in
                    let endpoint = "127.0.0.1:\(port)"
                    let field = "X-Forwarded-For: 192.0.2.7\r\n"
                    let answer = try RawClient.exchange(endpoint, get("/where", field))
                    #expect(answer.hasSuffix(address), "\(answer)")
                    let metrics = try RawClient.exchange(endpoint, get("/metrics", field))
                    #expect(metrics.hasPrefix("HTTP/1.1 \(status)"))
                    let own = try RawClient.exchange(endpoint, get("/metrics"))
                    #expect(own.hasPrefix("HTTP/1.1 200"))
                }
            }
        }
    }
}
