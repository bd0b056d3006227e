// Makes batches durable one at a time, in the order in which they were planned.
//
// Owned by `StoreGate`. The thread that planned a batch flushes it, once the batch before it is
// done; meanwhile another thread plans the next one. A simulation has one thread: there a batch is
// set aside, and flushed in a later turn or by the next `wait`. hot: twice per batch.

import CumulusSystem

final class Flusher: @unchecked Sendable {
    typealias Work = @Sendable () -> Void

    // `left` and `isBusy` are touched only under `condition`.
    private let condition = Condition()
    /// The batch that was set aside.
    private var left: Work?
    private var isBusy = false

    /// Begins the caller's flush, which lasts until `end`; the caller has called `wait` before.
    func begin() {
        condition.lock()
        defer { condition.unlock() }
        precondition(left == nil && !isBusy, "the last batch is not flushed yet")
        isBusy = true
    }

    func end() {
        condition.lock()
        defer { condition.unlock() }
        isBusy = false
        condition.broadcast()
    }

    /// Sets a batch aside for a later turn; the caller has called `wait` before.
    func leave(_ work: @escaping Work) {
        condition.lock()
        defer { condition.unlock() }
        precondition(left == nil && !isBusy, "the last batch is not flushed yet")
        left = work
    }

    /// Blocks until all batches are flushed.
    func wait() {
        run()
        condition.lock()
        defer { condition.unlock() }
        while isBusy { condition.wait() }
    }

    /// Flushes the batch that was set aside, if there is one.
    func run() {
        guard let work = take() else { return }
        work()
        end()
    }

    private func take() -> Work? {
        condition.lock()
        defer { condition.unlock() }
        guard let work = left else { return nil }
        (left, isBusy) = (nil, true)
        return work
    }

    /// Whether a batch is set aside.
    var hasWork: Bool {
        condition.lock()
        defer { condition.unlock() }
        return left != nil
    }
}
