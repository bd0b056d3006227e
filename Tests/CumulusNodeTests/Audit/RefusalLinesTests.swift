// Refusals in the audit log: how many of one network are lines, where they are kept, and that they
// push no act out of its file.

import CumulusModel
import CumulusTesting
import CumulusWire
import Foundation
import Logging
import Synchronization
import Testing

@testable import CumulusNode

@Suite struct RefusalLinesTests {
    private static let start = Instant(milliseconds: 1_000_000)

    private func refusal(_ number: Int = 0, from network: UInt8 = 1) -> AuditLine {
        AuditLine(
            time: Int64(number),
            role: "anonymous",
            address: [10, 0, 0, network],
            method: "HELLO",
            code: ServiceError.Code.notAuthenticated.rawValue,
            epoch: 7
        )
    }

    // MARK: One network

    @Test func thirtyOfANetworkAreLinesAndTheRestIsOne() {
        var lines = RefusalLines(now: Self.start)
        let written = (0..<100).flatMap { lines.add(refusal($0), of: "a", now: Self.start) }
        #expect(written.map(\.time) == Array(Int64(0)..<30))
        #expect(written.allSatisfy { $0.leftOut == 0 })
        // Another network has lines of its own.
        #expect(lines.add(refusal(), of: "b", now: Self.start).count == 1)
        #expect(lines.takeEnded(now: Self.start + 59_999).count == 0)
        let told = lines.takeEnded(now: Self.start + 61_000)
        #expect(told.map(\.time) == [99] && told.map(\.leftOut) == [69])
        #expect(lines.takeEnded(now: Self.start + 200_000).count == 0)
    }

    /// Four lines a minute, and all of them again after a rest.
    @Test func whoIsRefusedAllDayHasFewLines() {
        var lines = RefusalLines(now: Self.start)
        var written = 0
        for second in 0..<3_600 {
            let now = Self.start + Int64(second) * 1_000
            for _ in 0..<10 { written += lines.add(refusal(), of: "a", now: now).count }
        }
        #expect((200...270).contains(written))
        let later = Self.start + 3_600_000 + 2 * RefusalLines.minute
        _ = lines.takeEnded(now: later)
        _ = lines.takeEnded(now: later + 2 * RefusalLines.minute)
        let now = later + 3 * RefusalLines.minute
        #expect((0..<40).flatMap { _ in lines.add(refusal(), of: "a", now: now) }.count == 30)
    }

    @Test func networksBeyondAThousandShareTheirLines() {
        var lines = RefusalLines(now: Self.start)
        let written = (0..<3_000).flatMap { lines.add(refusal(), of: "\($0)", now: Self.start) }
        #expect(written.count == 1_030)
        // Minutes that are over make room.
        let later = Self.start + 2 * RefusalLines.minute
        #expect(lines.add(refusal(), of: "new", now: later).map(\.leftOut) == [1_969, 0])
    }

    // MARK: Where they are kept

    private func line(_ role: String, _ code: ServiceError.Code?) -> AuditLine {
        AuditLine(time: 1, role: role, method: "M", code: code?.rawValue ?? 0, epoch: 7)
    }

    @Test func actsAndOperatorsLinesAreNoRefusals() {
        #expect(!line("anonymous", nil).isRefusal && !line("user", nil).isRefusal)
        #expect(!line("operator", .unknownItem).isRefusal)
        #expect(line("anonymous", .notAuthenticated).isRefusal)
        #expect(line("user", .permissionFailure).isRefusal)
        // The answer was lost: a user's act may have been done.
        #expect(!line("user", .serverResponseLost).isRefusal)
        #expect(line("anonymous", .serverResponseLost).isRefusal)
    }

    /// The number of omitted lines is reported without a further refusal.
    @Test func theLogKeepsRefusalsApart() {
        let kept = Mutex((acts: 0, refusals: 0))
        let refused: @Sendable (Bytes) -> Void = { _ in kept.withLock { $0.refusals += 1 } }
        let log = AuditLog(now: Self.start, keepRefusal: refused) { _ in
            kept.withLock { $0.acts += 1 }
        }
        for _ in 0..<1_000 { log.note(refusal(), of: "x", now: Self.start) }
        log.note(line("operator", nil), of: nil, now: Self.start)
        #expect(kept.withLock { $0 } == (acts: 1, refusals: 30))
        log.tellLeftOut(now: Self.start + 61_000)
        #expect(kept.withLock { $0 } == (acts: 1, refusals: 31))
    }

    // MARK: Files

    private func files(in folder: TemporaryFolder) -> AuditFiles {
        AuditFiles(
            directory: folder.path,
            byteLimit: 4_000,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    private func text(_ name: String, in folder: TemporaryFolder) throws -> String {
        try String(contentsOfFile: folder.path + "/" + name, encoding: .utf8)
    }

    @Test func strangersPushNoActOut() throws {
        let folder = try TemporaryFolder()
        let files = files(in: folder)
        var environment = TestServer.environment
        files.keepLines(of: &environment)
        let log = AuditLog(
            now: Self.start,
            keepRefusal: environment.auditRefusal,
            try #require(environment.audit)
        )
        var act = line("operator", nil)
        act.target = "marked"
        log.note(act, of: nil, now: Self.start)
        for number in 0..<2_000 {
            log.note(refusal(number, from: UInt8(number % 100)), of: "x", now: Self.start)
        }
        files.start()
        files.stop()
        #expect(try text("audit.log", in: folder).contains("marked"))
        #expect(try !text("audit.log", in: folder).contains("HELLO"))
        #expect(try text("refusals.log.1", in: folder).contains("HELLO"))
        for name in ["refusals.log", "refusals.log.1"] {
            #expect(try text(name, in: folder).utf8.count <= 2_000)
        }
    }

    /// Lines without a time stay behind the lines before them.
    @Test func bothFilesAreReadAsOneInTheOrderOfTime() throws {
        let folder = try TemporaryFolder()
        let acts = [#"{"time":10}"#, #"{"lostLines":3}"#, #"{"time":40}"#]
        let refusals = [#"{"time":5}"#, #"{"time":20}"#, #"{"time":30}"#]
        for (name, lines) in [("audit.log", acts), ("refusals.log", refusals)] {
            try Data((lines.joined(separator: "\n") + "\n").utf8)
                .write(to: URL(filePath: folder.path + "/" + name))
        }
        let read = files(in: folder).newestLines(byteLimit: 10_000)
        #expect(
            read.map { String(decoding: $0, as: UTF8.self) } == [
                #"{"time":5}"#, #"{"time":10}"#, #"{"lostLines":3}"#, #"{"time":20}"#,
                #"{"time":30}"#, #"{"time":40}"#,
            ]
        )
    }

    /// A directory from before refusals had a file.
    @Test func anOldLogStaysReadable() throws {
        let folder = try TemporaryFolder()
        try Data("{\"time\":1,\"code\":9}\n".utf8)
            .write(to: URL(filePath: folder.path + "/audit.log"))
        let files = files(in: folder)
        files.start()
        files.stop()
        #expect(files.newestLines(byteLimit: 1_000) == [Bytes(#"{"time":1,"code":9}"#.utf8)])
    }
}
