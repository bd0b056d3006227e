// An engine in front of another one that counts its flushes, what the writer reads and the rows of
// its batches, whose disk is as slow, as full or as cold as a test wants it, and which a process
// may end in.

package import CumulusModel
package import CumulusStorage
import Foundation
import Synchronization

package final class CountingEngine: StorageEngine {
    private let engine: any StorageEngine
    private let flushCount = Atomic<Int>(0)
    private let rowCount = Atomic<Int>(0)
    private let rowByteCount = Atomic<Int>(0)
    private let mostRows = Atomic<Int>(0)
    private let readCount = Atomic<Int>(0)
    private let lentCount = Atomic<Int>(0)
    private let lookCount = Atomic<Int>(0)
    private let seenCount = Atomic<Int>(0)
    private let free = Atomic<UInt64>(.max)
    private let cold = Atomic<Bool>(false)
    private let flushSeconds: Double
    private let failure = Mutex<EngineError?>(nil)
    private let isFull = Atomic<Bool>(false)
    private let steps = Mutex<FlushSteps?>(nil)
    private let loss = Mutex<EngineError?>(nil)
    private let crash = Mutex<Crash?>(nil)

    private struct Crash {
        var callsLeft: Int
        let moment: Moment
    }

    /// The moment at which the process ends, seen from a call of the store.
    package enum Moment: CaseIterable, Sendable {
        case before
        case after
    }

    /// Each flush takes `flushSeconds` longer than the engine behind needs.
    package init(_ engine: any StorageEngine = MemoryEngine(), flushSeconds: Double = 0) {
        self.engine = engine
        self.flushSeconds = flushSeconds
    }

    /// How often a batch was flushed.
    package var flushes: Int { flushCount.load(ordering: .relaxed) }

    /// Rows that were written or deleted by all batches.
    package var rowsWritten: Int { rowCount.load(ordering: .relaxed) }

    /// Bytes of their keys and values.
    package var rowBytesWritten: Int { rowByteCount.load(ordering: .relaxed) }

    /// Rows of the largest batch.
    package var largestBatch: Int { mostRows.load(ordering: .relaxed) }

    /// Reads of the newest state: the writer's; others read from snapshots.
    ///
    /// A plan is one read, however many rows it has.
    package var reads: Int { readCount.load(ordering: .relaxed) }

    /// Rows that reads of a range visited.
    package var rowsLent: Int { lentCount.load(ordering: .relaxed) }

    /// Rows that anybody asked for by their keys, found or not, and ranges with the rows visited.
    package var looks: Int { lookCount.load(ordering: .relaxed) }

    /// Bytes of the values that were found by all that.
    package var bytesSeen: Int { seenCount.load(ordering: .relaxed) }

    fileprivate func count(_ value: Int) {
        lookCount.wrappingAdd(1, ordering: .relaxed)
        seenCount.wrappingAdd(value, ordering: .relaxed)
    }

    /// Sets the answer of `freeBytes`.
    package func setFreeBytes(_ bytes: UInt64) {
        free.store(bytes, ordering: .relaxed)
    }

    /// Whether no batch finds room from now on, whatever `freeBytes` answers.
    package func setFull(_ isFull: Bool) {
        self.isFull.store(isFull, ordering: .relaxed)
    }

    /// No flush succeeds from now on.
    package func failFlushes(_ error: EngineError) {
        failure.withLock { $0 = error }
    }

    /// Whether another process has taken the store over; rows can be read nevertheless.
    package func setTerm(lost error: EngineError?) {
        loss.withLock { $0 = error }
    }

    package func checkTerm(_ reach: Reach) throws(EngineError) {
        if let error = loss.withLock({ $0 }) { throw error }
        try engine.checkTerm(reach)
    }

    /// Ends the process at the call of that number, counted from now; all writes and flushes count.
    package func end(at call: Int, _ moment: Moment) {
        crash.withLock { $0 = Crash(callsLeft: call, moment: moment) }
    }

    package var hasEnded: Bool { crash.withLock { $0.map { $0.callsLeft <= 0 } ?? false } }

    private func calling(_ work: () throws(EngineError) -> Void) throws(EngineError) {
        let (works, ends) = crash.withLock { crash -> (Bool, Bool) in
            guard let known = crash else { return (true, false) }
            let left = known.callsLeft - 1
            crash?.callsLeft = left
            return (left > 0 || (left == 0 && known.moment == .after), left <= 0)
        }
        if works { try work() }
        if ends { throw .failed("the process is gone") }
    }

    /// Holds each flush from now on until a test lets it pass.
    package func hold(_ flushes: FlushSteps) {
        steps.withLock { $0 = flushes }
    }

    /// Whether nothing is in memory, so that every read has to go to the disk.
    package func setCold(_ isCold: Bool) {
        cold.store(isCold, ordering: .relaxed)
    }

    package func snapshot() throws(EngineError) -> any EngineReader {
        ColdReader(reader: try engine.snapshot(), disk: self)
    }

    package func write(_ batch: EngineBatch) throws(EngineError) {
        if isFull.load(ordering: .relaxed) { throw .full("not a byte") }
        try calling { () throws(EngineError) in try engine.write(batch) }
        rowCount.wrappingAdd(batch.writes.count, ordering: .relaxed)
        rowByteCount.wrappingAdd(batch.byteCount, ordering: .relaxed)
        mostRows.max(batch.writes.count, ordering: .relaxed)
    }

    package func flush() throws(EngineError) {
        steps.withLock { $0 }?.pass()
        if let error = failure.withLock({ $0 }) { throw error }
        if flushSeconds > 0 { Thread.sleep(forTimeInterval: flushSeconds) }
        try calling { () throws(EngineError) in try engine.flush() }
        flushCount.wrappingAdd(1, ordering: .relaxed)
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
        to visit: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
    ) throws(EngineError) {
        try newest.lendRows(family, range, backwards: backwards) { key, value in
            lentCount.wrappingAdd(1, ordering: .relaxed)
            return visit(key, value)
        }
    }

    package func read(_ plan: ReadPlan) throws(EngineError) -> ReadRows {
        let rows = try newest.read(plan)
        lentCount.wrappingAdd(rows.ranges.reduce(0) { $0 + $1.count }, ordering: .relaxed)
        return rows
    }

    private var newest: ColdReader {
        readCount.wrappingAdd(1, ordering: .relaxed)
        return ColdReader(reader: engine, disk: self)
    }

    fileprivate var isCold: Bool { cold.load(ordering: .relaxed) }
}

/// Lets flushes pass one by one.
package final class FlushSteps: Sendable {
    private let began = DispatchSemaphore(value: 0)
    private let passes = DispatchSemaphore(value: 0)

    package init() {}

    /// Waits until the next flush has begun.
    package func waitForFlush() { began.wait() }

    /// Lets it pass, or the next one.
    package func letPass() { passes.signal() }

    fileprivate func pass() {
        began.signal()
        passes.wait()
    }
}

/// A reader that may have nothing in memory.
private struct ColdReader: EngineReader {
    let reader: any EngineReader
    let disk: CountingEngine

    func get(_ family: Family, _ key: Bytes, reach: Reach) throws(EngineError) -> Bytes? {
        if disk.isCold, reach == .memory { throw .notInMemory }
        let value = try reader.get(family, key, reach: reach)
        disk.count(value?.count ?? 0)
        return value
    }

    func lendRows(
        _ family: Family,
        _ range: KeyRange,
        backwards: Bool,
        to visit: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
    ) throws(EngineError) {
        disk.count(0)
        try reader.lendRows(family, range, backwards: backwards) { key, value in
            disk.count(value.count)
            return visit(key, value)
        }
    }

    func read(_ plan: ReadPlan) throws(EngineError) -> ReadRows {
        let rows = try reader.read(plan)
        for value in rows.values where value != .unread {
            if case .found(let bytes) = value { disk.count(bytes.count) } else { disk.count(0) }
        }
        for range in rows.ranges {
            disk.count(0)
            for row in range { disk.count(row.value.count) }
        }
        return rows
    }
}
