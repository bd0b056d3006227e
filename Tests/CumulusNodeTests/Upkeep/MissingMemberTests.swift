// An operator is warned of a member that was silent for a day, once a day.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import CumulusWire
import Logging
import Synchronization
import Testing

@testable import CumulusNode

@Suite struct MissingMemberTests {
    private final class Lines: Sendable {
        let all = Mutex<[String]>([])
    }

    private struct Handler: LogHandler {
        let lines: Lines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            lines.all.withLock { $0.append("\(event.level) \(event.metadata ?? [:])") }
        }
    }

    private let lines = Lines()
    private let missing = MissingMembers()
    private static let day = MissingMembers.milliseconds

    private var logger: Logger {
        Logger(label: "test") { [lines] _ in Handler(lines: lines) }
    }

    private var count: Int { lines.all.withLock { $0.count } }

    private let member = MissingMembers.Member(
        nodeID: Bytes(repeating: 7, count: 16),
        endpoint: "b:1",
        heard: 0
    )

    @Test func eachIsToldOnceADay() {
        var now = Instant(milliseconds: 1_000)
        for _ in 0..<3 { missing.warn(of: [member], now: now, logger) }
        #expect(count == 1)
        now = now + Self.day
        missing.warn(of: [member], now: now, logger)
        #expect(count == 2)
        // It came back, and went again.
        missing.warn(of: [], now: now, logger)
        missing.warn(of: [member], now: now, logger)
        #expect(count == 3)
        #expect(lines.all.withLock { $0.allSatisfy { $0.hasPrefix("warning") } })
    }

    @Test func wantOfRoomIsToldWhenItBegins() {
        let shortages: [MissingMembers.Shortage?] = [
            nil, .logs(8 << 20), .disk(1 << 20), nil, .disk(3 << 20),
        ]
        for shortage in shortages { missing.note(shortage, logger) }
        let told = lines.all.withLock { $0 }
        #expect(told.map { $0.prefix(7) } == ["warning", "info [:", "warning"])
        #expect(told[0].contains("8 MiB (--log-megabytes)") && told[2].contains("3 MiB"))
    }

    /// Any report counts, and who never reported is waited for since it was listed.
    @Test func theLastWordCounts() async throws {
        let server = try await TestServer(clusterKey: Bytes(repeating: 1, count: 32))
        let node = server.node
        let other = Bytes(repeating: 7, count: 16)
        try await node.gate.change(.commits) { transaction throws(EngineError) in
            _ = try Members.enter(other, endpoint: "b:1", in: &transaction)
        }
        func find(in time: Int64) throws -> [Bytes] {
            let reader = node.gate.latest(reach: .disk)
            let now = node.clock + time
            return try MissingMembers.find(in: node, reader, now: now).map(\.nodeID)
        }
        #expect(try find(in: 0) == [])
        #expect(try find(in: Self.day + 10_000) == [other])
        let reported = node.clock + Self.day
        try await node.gate.change(.housekeeping) { transaction throws(EngineError) in
            let scope = try transaction.makeScope(.cluster)
            Collection.note(VersionVector(), of: other, in: scope, at: reported, &transaction)
        }
        #expect(try find(in: Self.day + 10_000) == [])
        #expect(try find(in: 2 * Self.day + 10_000) == [other])
        try await server.stop()
    }

    /// Half of what the logs may take is much, however short the silence.
    @Test func muchThatIsKeptForAMemberIsTold() async throws {
        let server = try await TestServer(clusterKey: Bytes(repeating: 1, count: 32))
        let node = server.node
        let other = Bytes(repeating: 7, count: 16)
        try await node.gate.change(.commits) { transaction throws(EngineError) in
            _ = try Members.enter(other, endpoint: "b:1", in: &transaction)
        }
        func find() throws -> [MissingMembers.Member] {
            let reader = node.gate.latest(reach: .disk)
            return try MissingMembers.find(in: node, reader, now: node.clock)
        }
        #expect(try find() == [])
        let bytes = try #require(
            try node.members(node.gate.latest(reach: .disk)).first { !$0.isThis }?.logBytes
        )
        #expect(bytes > 0)
        node.logBudget.withLock { $0.limit = bytes * 2 - 1 }
        let found = try find()
        #expect(found.map(\.backlog.bytes) == [bytes])
        missing.warn(of: found, now: Instant(milliseconds: 0), logger)
        let told = lines.all.withLock { $0 }
        #expect(told.count == 1 && told[0].contains("\"until\""), "\(told)")
        try await server.stop()
    }
}
