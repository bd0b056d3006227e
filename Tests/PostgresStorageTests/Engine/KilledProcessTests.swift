// A process killed inside a batch: each batch is wholly there or not at all, nothing acknowledged
// is gone, and the next start need not wait.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Foundation
import Testing

@testable import PostgresStorage

@Suite(.enabled(if: PostgresServer.isInstalled, noServer))
struct KilledProcessTests {
    private static let rowsPerBatch = 50

    @Test func batchesAreWholeAndAcknowledgedOnesAreThere() async throws {
        let database = try TestDatabase()
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: file) }
        var batches = 0
        for round in 1...3 {
            let url = try database.address().url
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [url = url as String, file = file as String, round = round as Int] in
                try Self.commitUntilKilled(url, file, after: .milliseconds(100 * round))
            }
            let acknowledged = try Data(contentsOf: URL(filePath: file))
                .withUnsafeBytes { $0.loadUnaligned(as: Int.self) }
            let engine = try database.open(patience: .seconds(3))
            let rows = try engine.count(.records)
            #expect(rows.isMultiple(of: Self.rowsPerBatch))
            #expect(try engine.count(.log) == rows)
            let stored = rows / Self.rowsPerBatch
            #expect(stored == acknowledged || stored == acknowledged + 1)
            #expect(stored > batches, "the child was killed before its first commit")
            batches = stored
        }
    }

    /// Runs in a process of its own until another thread kills it, at any point of a batch.
    private static func commitUntilKilled(
        _ url: String,
        _ file: String,
        after delay: Duration
    ) throws {
        let engine = try PostgresEngine(PostgresAddress(url))
        var batches = try engine.count(.records) / rowsPerBatch
        let acknowledged = open(file, O_WRONLY | O_CREAT, 0o600)
        let milliseconds = UInt32(delay / .milliseconds(1))
        var isDelayed = false
        while true {
            let rows = (0..<rowsPerBatch).map {
                (bytes(batches * rowsPerBatch + $0), Bytes(repeating: 1, count: 500))
            }
            var batch = EngineBatch.writing(.records, rows)
            batch.writes += EngineBatch.writing(.log, rows).writes
            try engine.commit(batch)
            batches += 1
            guard pwrite(acknowledged, &batches, 8, 0) == 8 else { return }
            if isDelayed { continue }
            isDelayed = true
            Thread.detachNewThread {
                usleep(milliseconds * 1_000)
                kill(getpid(), SIGKILL)
            }
        }
    }
}
