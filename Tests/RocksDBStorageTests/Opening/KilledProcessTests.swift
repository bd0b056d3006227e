// A process killed inside a batch: each batch is wholly there or not at all, and nothing
// acknowledged is gone.

import CumulusModel
import CumulusStorage
import Foundation
import RocksDBStorage
import Testing

@Suite struct KilledProcessTests {
    private static let rowsPerBatch = 50
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func batchesAreWholeAndAcknowledgedOnesAreThere() async throws {
        let store = folder.store()
        var batches = 0
        for round in 1...4 {
            let path = store.path
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, round = round as Int] in
                try Self.commitUntilKilled(path, after: .milliseconds(30 * round))
            }
            let acknowledged = try Data(contentsOf: URL(filePath: "\(path).acknowledged"))
                .withUnsafeBytes { $0.loadUnaligned(as: Int.self) }
            let engine = try store.open()
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
    private static func commitUntilKilled(_ path: String, after delay: Duration) throws {
        let engine = try RocksDBEngine(directory: path, profile: .small, reserve: 0)
        var batches = try engine.count(.records) / rowsPerBatch
        let acknowledged = open("\(path).acknowledged", O_WRONLY | O_CREAT, 0o600)
        let milliseconds = UInt32(delay / .milliseconds(1))
        let first = batches
        while true {
            let rows = (0..<rowsPerBatch).map {
                (bytes(batches * rowsPerBatch + $0), Bytes(repeating: 1, count: 500))
            }
            var batch = EngineBatch.writing(.records, rows)
            batch.writes += EngineBatch.writing(.log, rows).writes
            try engine.commit(batch)
            batches += 1
            guard pwrite(acknowledged, &batches, 8, 0) == 8 else { return }
            guard batches == first + 1 else { continue }
            Thread.detachNewThread {
                usleep(milliseconds * 1_000)
                kill(getpid(), SIGKILL)
            }
        }
    }
}
