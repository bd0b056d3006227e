// HTTP on real sockets: what is answered, and what strangers are held to.

import CumulusGateway
import CumulusModel
import CumulusNode
import CumulusTesting
import CumulusTransport
import Foundation
import Logging
import Testing

@Suite struct HTTPServerTests {
    /// Runs a test against an HTTP server that ends with it.
    private func withHTTP(
        _ bounds: HTTPServer.Bounds = .init(),
        _ body: @Sendable (_ endpoint: String, WebUser) async throws -> Void
    ) async throws {
        try await withWebUser { user, server in
            let loops = EventLoops(threads: 1)
            let http = HTTPServer(
                user.gateway,
                OperatorPages(server.node, user.gateway.meter),
                bounds: bounds,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            let (ports, source) = AsyncStream<Int>.makeStream()
            let task = Task {
                try? await http.run(host: "127.0.0.1", port: 0, on: loops.group) {
                    source.yield($0)
                }
                source.finish()
            }
            var port: Int?
            for await bound in ports {
                port = bound
                break
            }
            do {
                try await body("127.0.0.1:\(try #require(port))", user)
            } catch {
                Issue.record(error)
            }
            task.cancel()
            await task.value
            try await loops.stop()
        }
    }

    /// Sends a text as it is, and returns all that comes until the server closes or is silent.
    private func exchange(_ endpoint: String, _ text: String) throws -> String {
        let client = try RawClient(endpoint)
        defer { client.close() }
        try client.send(Bytes(text.utf8))
        var answer: Bytes = []
        // What follows the answer's first bytes is here soon.
        while let bytes = try? client.receive(within: answer.isEmpty ? 10_000 : 300) {
            answer += bytes
        }
        return String(decoding: answer, as: UTF8.self)
    }

    private func get(_ path: String, method: String = "GET") -> String {
        "\(method) \(path) HTTP/1.1\r\nHost: node\r\n\r\n"
    }

    private func post(_ target: String, _ body: String) -> String {
        """
        POST \(target) HTTP/1.1\r
        Host: node\r
        Content-Type: text/plain\r
        Content-Length: \(body.utf8.count)\r
        \r
        \(body)
        """
    }

    @Test func operatorsFindTheirPages() async throws {
        try await withHTTP { endpoint, _ in
            #expect(try exchange(endpoint, get("/livez")).hasPrefix("HTTP/1.1 200"))
            let ready = try exchange(endpoint, get("/readyz"))
            #expect(ready.hasPrefix("HTTP/1.1 200"), "\(ready)")
            #expect(ready.hasSuffix("\r\n\r\nready\n"))
            let metrics = try exchange(endpoint, get("/metrics"))
            #expect(metrics.contains("# TYPE cumulus_ready gauge\ncumulus_ready 1\n"))
            #expect(metrics.contains("text/plain; version=0.0.4"))
            #expect(try exchange(endpoint, get("/livez", method: "POST")).contains(" 405 "))
        }
    }

    @Test func webServicesAreAnswered() async throws {
        try await withHTTP { endpoint, user in
            let body = #"{"records": [{"recordName": "a"}]}"#
            let lookup = post(user.target("private/records/lookup"), body)
            let found = try exchange(endpoint, lookup)
            #expect(found.hasPrefix("HTTP/1.1 200"), "\(found)")
            #expect(found.contains("X-Apple-CloudKit-Web-Auth-Token: "))
            #expect(found.contains(#""serverErrorCode": "NOT_FOUND""#))
            let preflight = """
                OPTIONS /database/1/x HTTP/1.1\r\nHost: node\r\nOrigin: https://app\r\n\r\n
                """
            let allowed = try exchange(endpoint, preflight)
            #expect(allowed.hasPrefix("HTTP/1.1 204"))
            #expect(allowed.contains("Access-Control-Allow-Origin: https://app"))
            #expect(try exchange(endpoint, get("/")).hasPrefix("HTTP/1.1 404"))
            let counted = #"cumulus_http_requests_total{endpoint="records/lookup",status="200"} 1"#
            #expect(try exchange(endpoint, get("/metrics")).contains(counted))
        }
    }

    @Test func hugeRequestsAreRefused() async throws {
        var bounds = HTTPServer.Bounds()
        bounds.bodyBytes = 1_000
        bounds.headBytes = 2_000
        try await withHTTP(bounds) { endpoint, user in
            let target = user.target("private/records/lookup")
            let large = String(repeating: " ", count: 1_001)
            let refused = try exchange(endpoint, post(target, large))
            #expect(refused.hasPrefix("HTTP/1.1 400"), "\(refused)")
            #expect(refused.contains("larger than 1000 bytes"))
            let head =
                "GET /livez HTTP/1.1\r\nHost: \(String(repeating: "x", count: 3_000))\r\n\r\n"
            #expect(try !exchange(endpoint, head).hasPrefix("HTTP/1.1 2"))
            #expect(try exchange(endpoint, get("/livez")).hasPrefix("HTTP/1.1 200"))
        }
    }

    /// A caller that sends a byte now and then holds its connection for a while only.
    @Test func slowRequestsEnd() async throws {
        var bounds = HTTPServer.Bounds()
        bounds.requestMilliseconds = 300
        try await withHTTP(bounds) { endpoint, _ in
            let client = try RawClient(endpoint)
            defer { client.close() }
            let start = Date()
            var isOpen = true
            for byte in Bytes(get("/livez").utf8.prefix(15)) where isOpen {
                isOpen = (try? client.send([byte])) != nil
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(try client.receive(within: 5_000) == nil)
            #expect(Date().timeIntervalSince(start) < 5)
            // Others are served meanwhile.
            #expect(try exchange(endpoint, get("/livez")).hasPrefix("HTTP/1.1 200"))
        }
    }
}

@Suite struct WebMeterTests {
    @Test func requestsAreCountedByEndpointAndTime() {
        let meter = WebMeter()
        meter.note(.recordsQuery, status: 200, microseconds: 1_000)
        meter.note(.recordsQuery, status: 400, microseconds: 30_000)
        meter.note(nil, status: 404, microseconds: 9_000_000)
        let lines = Set(MetricsText.text(meter.metrics).split(separator: "\n").map { String($0) })
        let name = "cumulus_http_request_duration_seconds"
        for line in [
            #"cumulus_http_requests_total{endpoint="none",status="404"} 1"#,
            #"cumulus_http_requests_total{endpoint="records/query",status="200"} 1"#,
            #"\#(name)_bucket{endpoint="records/query",le="0.001"} 1"#,
            #"\#(name)_bucket{endpoint="records/query",le="0.025"} 1"#,
            #"\#(name)_bucket{endpoint="records/query",le="0.1"} 2"#,
            #"\#(name)_bucket{endpoint="records/query",le="+Inf"} 2"#,
            #"\#(name)_bucket{endpoint="none",le="2.5"} 0"#,
            #"\#(name)_sum{endpoint="records/query"} 0.031"#,
            #"\#(name)_count{endpoint="none"} 1"#,
        ] {
            #expect(lines.contains(line), "\(line)")
        }
    }
}
