// Log lines in JSON, and the traces that they name.

import Cumulus
import CumulusModel
import CumulusTesting
import CumulusWire
import Logging
import Synchronization
import Testing

@testable import CumulusNode

@Suite struct LogTests {
    private final class Lines: Sendable {
        private let all = Mutex<[String]>([])

        func keep(_ line: String) { all.withLock { $0.append(line) } }

        var texts: [String] { all.withLock { $0 } }

        func read() throws -> [JSON] {
            try texts.map { try JSONReader.read($0.utf8) }
        }
    }

    private func logger(_ lines: Lines) -> Logger {
        var logger = Logger(label: "test") { _ in
            JSONLogHandler(now: { 1_700_000_000_123 }, write: lines.keep)
        }
        logger.logLevel = .debug
        return logger
    }

    @Test func aLineIsOneObject() throws {
        let lines = Lines()
        var logger = logger(lines)
        logger[metadataKey: "node"] = "a"
        logger.warning(
            "a \"message\"\nof two lines",
            metadata: [
                "list": ["x", "\u{1B}[31m"], "inner": ["k": .stringConvertible(7)], "node": "b",
            ]
        )
        logger.trace("below the level")
        #expect(
            lines.texts == [
                #"{"time": "2023-11-14T22:13:20.123Z", "level": "warning", "#
                    + #""message": "a \"message\"\nof two lines", "#
                    + #""metadata": {"inner": {"k": "7"}, "list": ["x", "\u001b[31m"], "#
                    + #""node": "b"}}"# + "\n"
            ]
        )
    }

    private static let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    /// The client sends the trace of its task; log and audit log name it.
    @Test func aTracesCallsAreFoundInTheLogs() async throws {
        let (lines, audit) = (Lines(), Lines())
        let server = try await TestServer(
            audit: { audit.keep(String(decoding: $0, as: UTF8.self)) },
            logger: logger(lines)
        )
        let trace = try #require(TraceContext(traceparent: Self.parent))
        let admin = NodeOperator(endpoint: server.endpoint, token: TestServer.operatorToken)
        _ = try await admin.status()
        try await TraceContext.$current.withValue(trace) {
            _ = try await admin.addUser("ada", in: nil)
        }
        await admin.close()
        let stranger = try RawClient(greeting: server.endpoint)
        let list = ListZonesRequest(database: .private).encoded()
        var header = CallHeader(.zonesList)
        header.traceContext = Bytes(Self.parent.utf8)
        #expect(throws: ServiceError.self) { try stranger.perform(header, list) }
        // An invalid trace context fails no call.
        header.traceContext = Bytes("00-zz".utf8)
        #expect(throws: ServiceError.self) { try stranger.perform(header, list) }
        let scope = ScopeID(container: TestServer.container, environment: .development)
        let local = try await LocalConnection.open(LocalEntrance(scope), on: server.node).connection
        await TraceContext.$current.withValue(trace) {
            await #expect(throws: ServiceError.self) {
                try await local.call(CallHeader(.zonesList), list)
            }
        }
        local.close()
        try await server.stop()

        let traced = try lines.read().compactMap { $0["metadata"] }
            .filter { $0["trace-id"] == .string(trace.traceID) }
        #expect(
            traced.map { $0["method"] }
                == [.string("operatorAddUser"), .string("zonesList"), .string("zonesList")]
        )
        #expect(traced.last?["code"] == .string("notAuthenticated"))
        let acts = try audit.read().filter { $0["trace"] == .string(trace.traceID) }
        #expect(
            acts.map { $0["method"] }
                == [.string("OPERATOR_ADD_USER"), .string("ZONES_LIST"), .string("ZONES_LIST")]
        )
    }
}
