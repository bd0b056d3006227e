// An engine in front of another one that counts its commits and their rows, and whose disk is as
// slow, as full or as cold as a test wants it.

package import CumulusModel
package import CumulusStorage
import Foundation
import Synchronization

package final class CountingEngine: StorageEngine {
    private let engine: any StorageEngine
    private let commitCount = Atomic<Int>(0)
    private let rowCount = Atomic<Int>(0)
    private let mostRows = Atomic<Int>(0)
    private let free = Atomic<UInt64>(.max)
    private let cold = Atomic<Bool>(false)
    private let commitSeconds: Double
    private let failure = Mutex<EngineError?>(nil)

    /// Each commit takes `commitSeconds` longer than the engine behind needs.
    package init(_ engine: any StorageEngine = MemoryEngine(), commitSeconds: Double = 0) {
        self.engine = engine
        self.commitSeconds = commitSeconds
    }

    /// How often a batch was committed, each with one flush.
    package var commits: Int { commitCount.load(ordering: .relaxed) }

    /// Rows that were written or deleted by them.
    package var rowsWritten: Int { rowCount.load(ordering: .relaxed) }

    /// Rows of the largest of them.
    package var largestCommit: Int { mostRows.load(ordering: .relaxed) }

    /// What `freeBytes` answers.
    package func setFreeBytes(_ bytes: UInt64) {
        free.store(bytes, ordering: .relaxed)
    }

    /// No commit succeeds from now on.
    package func failCommits(_ error: EngineError) {
        failure.withLock { $0 = error }
    }

    /// Whether nothing is in memory, so that every read has to go to the disk.
    package func setCold(_ isCold: Bool) {
        cold.store(isCold, ordering: .relaxed)
    }

    package func snapshot() throws(EngineError) -> any EngineReader {
        ColdReader(reader: try engine.snapshot(), disk: self)
    }

    package func commit(_ batch: EngineBatch) throws(EngineError) {
        if let error = failure.withLock({ $0 }) { throw error }
        if commitSeconds > 0 { Thread.sleep(forTimeInterval: commitSeconds) }
        try engine.commit(batch)
        commitCount.wrappingAdd(1, ordering: .relaxed)
        rowCount.wrappingAdd(batch.writes.count, ordering: .relaxed)
        mostRows.max(batch.writes.count, ordering: .relaxed)
    }

    package func freeBytes() -> UInt64? { free.load(ordering: .relaxed) }

    package func get(
        _ family: Family,
        _ key: Bytes,
        reach: Reach
    ) throws(EngineError) -> Bytes? {
        try newest.get(family, key, reach: reach)
    }

    package func lendRows(
        _ family: Family,
        _ range: KeyRange,
        backwards: Bool,
        reach: Reach,
        to visit: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
    ) throws(EngineError) {
        try newest.lendRows(family, range, backwards: backwards, reach: reach, to: visit)
    }

    private var newest: ColdReader {
        ColdReader(reader: engine, disk: self)
    }

    fileprivate var isCold: Bool { cold.load(ordering: .relaxed) }
}

/// A reader that may have nothing in memory.
private struct ColdReader: EngineReader {
    let reader: any EngineReader
    let disk: CountingEngine

    func get(_ family: Family, _ key: Bytes, reach: Reach) throws(EngineError) -> Bytes? {
        try check(reach)
        return try reader.get(family, key, reach: reach)
    }

    func lendRows(
        _ family: Family,
        _ range: KeyRange,
        backwards: Bool,
        reach: Reach,
        to visit: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
    ) throws(EngineError) {
        try check(reach)
        try reader.lendRows(family, range, backwards: backwards, reach: reach, to: visit)
    }

    private func check(_ reach: Reach) throws(EngineError) {
        if disk.isCold, reach == .memory { throw .notInMemory }
    }
}
