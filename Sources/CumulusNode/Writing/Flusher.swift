// The order in which batches become durable: one at a time, as they were planned.
//
// Owned by `StoreGate`. The thread that planned a batch flushes it, once the one before is done;
// another one plans the next meanwhile. A simulation has one thread: there a batch is left, and
// flushed in a later turn, or by the next one that waits. hot: twice per batch.

import CumulusSystem

final class Flusher: @unchecked Sendable {
    typealias Work = @Sendable () -> Void

    // `left` and `isBusy` are touched only under `condition`.
    private let condition = Condition()
    /// A batch that was left.
    private var left: Work?
    private var isBusy = false

    /// It is the caller's turn, who has waited; until `end`.
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

    /// Keeps a batch for a later turn; its caller has waited.
    func leave(_ work: @escaping Work) {
        condition.lock()
        defer { condition.unlock() }
        precondition(left == nil && !isBusy, "the last batch is not flushed yet")
        left = work
    }

    /// Comes back when all batches are flushed.
    func wait() {
        run()
        condition.lock()
        defer { condition.unlock() }
        while isBusy { condition.wait() }
    }

    /// Flushes the batch that was left, if there is one.
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

    /// A batch was left.
    var hasWork: Bool {
        condition.lock()
        defer { condition.unlock() }
        return left != nil
    }
}
