// What a process that stands by answers over HTTP, and that it gives its port up.

import CumulusGateway
import CumulusTesting
import CumulusTransport
import Logging
import Testing

@Suite struct WaitingServerTests {
    /// Runs a test against a server that ends with it.
    private func use(port: Int, _ body: (_ endpoint: String) throws -> Void) async throws {
        let loops = EventLoops(threads: 1)
        let server = WaitingServer(
            secure: nil,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let (ports, source) = AsyncStream<Int>.makeStream()
        let task = Task {
            try? await server.run(host: "127.0.0.1", port: port, on: loops.group) {
                source.yield($0)
            }
            source.finish()
        }
        var bound: Int?
        for await port in ports {
            bound = port
            break
        }
        do {
            try body("127.0.0.1:\(try #require(bound))")
        } catch {
            Issue.record(error)
        }
        task.cancel()
        await task.value
        try await loops.stop()
    }

    private func ask(_ endpoint: String, _ line: String) throws -> String {
        try RawClient.exchange(endpoint, "\(line) HTTP/1.1\r\nHost: localhost\r\n\r\n")
    }

    @Test func itLivesAndIsNotReady() async throws {
        try await use(port: 0) { endpoint in
            let live = try ask(endpoint, "GET /livez")
            #expect(live.hasPrefix("HTTP/1.1 200"))
            let ready = try ask(endpoint, "GET /readyz?verbose")
            #expect(ready.hasPrefix("HTTP/1.1 503"))
            #expect(ready.hasSuffix("standby\n"))
            let head = try ask(endpoint, "HEAD /readyz")
            #expect(head.hasPrefix("HTTP/1.1 503"))
        }
    }

    @Test(arguments: ["GET /", "GET /metrics", "GET /console", "POST /readyz", "DELETE /livez"])
    func allElseIsForAnotherProcess(line: String) async throws {
        try await use(port: 0) { endpoint in
            let answer = try ask(endpoint, line)
            #expect(answer.hasPrefix("HTTP/1.1 503"))
            #expect(answer.lowercased().contains("retry-after: 1\r\n"))
            #expect(answer.hasSuffix("ask the one that serves\n"))
        }
    }

    /// The node serves there next.
    @Test func itsPortIsFreeAfterItsEnd() async throws {
        let port = TestPort.free()
        for _ in 0..<3 {
            try await use(port: port) { endpoint in
                let live = try ask(endpoint, "GET /livez")
                #expect(live.hasPrefix("HTTP/1.1 200"))
            }
        }
    }
}
