// Where a batch becomes durable while the writer prepares the next one.
//
// Owned by `StoreGate`, which runs it on a thread, or in turns of a simulation. It has one piece of
// work at a time: its caller waits for the last one before it hands over another. A waiting thread
// runs pending work itself instead of sleeping. hot: twice per batch.

import CumulusSystem

final class Flusher: @unchecked Sendable {
    typealias Work = @Sendable () -> Void

    // `work`, `isBusy` and `isClosed` are touched only under `condition`.
    private let condition = Condition()
    /// What nobody has begun.
    private var work: Work?
    private var isBusy = false
    private var isClosed = false

    /// Does this beside the caller, who has waited.
    func take(_ work: @escaping Work) {
        condition.lock()
        defer { condition.unlock() }
        precondition(self.work == nil && !isBusy, "the last batch is not flushed yet")
        self.work = work
        condition.signal()
    }

    /// Comes back when it has nothing to do.
    func wait() {
        if let work = begin(waiting: { self.isBusy }) { finish(work) }
    }

    /// Waits for work and does it; false when it is closed.
    func run() -> Bool {
        guard let work = begin(waiting: { self.work == nil && !self.isClosed }) else {
            return false
        }
        finish(work)
        return true
    }

    /// It has work that nobody has begun.
    var hasWork: Bool {
        condition.lock()
        defer { condition.unlock() }
        return work != nil
    }

    private func begin(waiting isEarly: () -> Bool) -> Work? {
        condition.lock()
        defer { condition.unlock() }
        while isEarly() { condition.wait() }
        guard let work else { return nil }
        (self.work, isBusy) = (nil, true)
        return work
    }

    private func finish(_ work: Work) {
        work()
        condition.lock()
        defer { condition.unlock() }
        isBusy = false
        condition.broadcast()
    }

    /// No further work; what it has is still done.
    func close() {
        condition.lock()
        isClosed = true
        condition.broadcast()
        condition.unlock()
    }
}
