// The thread on which a batch becomes durable while the writer prepares the next one.
//
// Owned by `StoreGate`. It has one piece of work at a time: whoever hands it another one has waited
// for the last. hot: twice per batch.

import Foundation

final class Flusher: @unchecked Sendable {
    // `work`, `isBusy` and `isClosed` are touched only under `condition`.
    private let condition = NSCondition()
    private var work: (@Sendable () -> Void)?
    /// It has work that is not done yet.
    private var isBusy = false
    private var isClosed = false

    /// Waits until it has nothing to do.
    func wait() {
        condition.lock()
        defer { condition.unlock() }
        while isBusy { condition.wait() }
    }

    /// Does this beside the caller, who has waited.
    func take(_ work: @escaping @Sendable () -> Void) {
        condition.lock()
        defer { condition.unlock() }
        precondition(!isBusy, "the last batch is not flushed yet")
        (self.work, isBusy) = (work, true)
        condition.broadcast()
    }

    /// Waits for work and does it; false when it is closed.
    func run() -> Bool {
        guard let work = nextWork() else { return false }
        work()
        condition.lock()
        defer { condition.unlock() }
        isBusy = false
        condition.broadcast()
        return true
    }

    private func nextWork() -> (@Sendable () -> Void)? {
        condition.lock()
        defer { condition.unlock() }
        while work == nil && !isClosed { condition.wait() }
        defer { work = nil }
        return work
    }

    /// No further work; what it has is still done.
    func close() {
        condition.lock()
        isClosed = true
        condition.broadcast()
        condition.unlock()
    }
}
