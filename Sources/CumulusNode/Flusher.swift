// The second half of every batch: applied batches are made durable, in their order, and then
// everybody sees them and those who wait are told.
//
// Fed by the writer, which goes on with the next batch meanwhile. What was applied while a flush
// was under way shares the next one. If nothing else waits for the writer, it flushes itself: a
// caller alone is answered without a change of threads.

package import CumulusStorage
import Foundation

package final class Flusher: @unchecked Sendable {
    // All that changes is touched only under `condition`.

    package struct Batch: Sendable {
        /// Something was applied.
        var needsFlush: Bool
        /// Called once it is durable, batch after batch.
        var finish: @Sendable () -> Void

        package init(needsFlush: Bool, finish: @escaping @Sendable () -> Void) {
            self.needsFlush = needsFlush
            self.finish = finish
        }
    }

    private let engine: any StorageEngine
    private let meter: NodeMeter
    /// The outcome of a batch is unknown: nobody is told anything any more.
    private let fail: @Sendable (EngineError) -> Void
    private let condition = NSCondition()
    private var pending: [Batch] = []
    /// Somebody flushes.
    private var isBusy = false
    /// A flush failed, and later ones would not tell what it lost; touched by whoever is busy.
    private var isBroken = false
    /// nil: whoever adds a batch flushes it.
    private var thread: Worker?
    private var isClosed = false

    /// So many batches may wait for a flush: more would only wait longer.
    private static let capacity = 8

    package init(
        _ engine: any StorageEngine,
        _ meter: NodeMeter,
        fail: @escaping @Sendable (EngineError) -> Void
    ) {
        self.engine = engine
        self.meter = meter
        self.fail = fail
    }

    /// Takes a batch that is applied; returns when there is room for another one.
    ///
    /// - Parameter isLast: The writer has nothing else to do.
    package func add(_ batch: Batch, isLast: Bool) {
        condition.lock()
        let isInPlace = (isLast || thread == nil) && !isBusy && pending.isEmpty
        if isInPlace {
            isBusy = true
        } else {
            pending.append(batch)
            condition.broadcast()
            while pending.count >= Flusher.capacity { condition.wait() }
        }
        condition.unlock()
        if isInPlace { flush([batch]) }
    }

    /// From now on, a thread flushes what the writer leaves.
    package func start() {
        condition.lock()
        thread = Worker(named: "cumulus flusher") { while self.run() {} }
        condition.unlock()
    }

    /// Flushes what waits, and ends the thread; no batch is added any more.
    package func stop() {
        condition.lock()
        isClosed = true
        let ending = thread
        thread = nil
        condition.broadcast()
        condition.unlock()
        ending?.join()
    }

    /// Waits for batches and flushes them.
    ///
    /// False when it is closed and nothing is left.
    private func run() -> Bool {
        condition.lock()
        while (pending.isEmpty || isBusy) && !(isClosed && pending.isEmpty) { condition.wait() }
        let batches = pending
        pending = []
        isBusy = !batches.isEmpty
        condition.broadcast()
        condition.unlock()
        guard !batches.isEmpty else { return false }
        flush(batches)
        return true
    }

    /// By whoever made it busy.
    private func flush(_ batches: [Batch]) {
        if !isBroken {
            do throws(EngineError) {
                try finish(batches)
            } catch {
                isBroken = true
                fail(error)
            }
        }
        condition.lock()
        isBusy = false
        condition.broadcast()
        condition.unlock()
    }

    private func finish(_ batches: [Batch]) throws(EngineError) {
        if batches.contains(where: \.needsFlush) {
            try engine.flush()
            meter.flushes.add(1)
        }
        for batch in batches { batch.finish() }
    }
}
