// Wakes streams that have sent everything: something was committed, look again.
//
// Rung by the writer after each batch. It carries nothing, so that a late or doubled ring is
// harmless and nobody's backlog is in memory.

import Synchronization

final class CommitBell: Sendable {
    private struct State {
        var count: UInt64 = 0
        var waiting: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    /// How often it rang; to be read before the store is.
    var count: UInt64 { state.withLock { $0.count } }

    /// Calls once, after the next ring; at once if it rang since `count`.
    func wait(after count: UInt64, _ call: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            guard state.count == count else { return true }
            state.waiting.append(call)
            return false
        }
        if isLate { call() }
    }

    func ring() {
        let waiting = state.withLock { state in
            state.count += 1
            defer { state.waiting = [] }
            return state.waiting
        }
        for call in waiting { call() }
    }
}
