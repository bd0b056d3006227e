// Lets one task at a time go on, in the order in which they came.
//
// Used where assets are fetched, for the pack that is being written. A task that is cancelled waits
// like any other.

import Synchronization

final class TaskQueue: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Returns when it is the caller's turn, which ends with `leave`.
    func enter() async {
        await withCheckedContinuation { waiting in
            let isFree = state.withLock { state in
                if state.isTaken { state.waiting.append(waiting) }
                defer { state.isTaken = true }
                return !state.isTaken
            }
            if isFree { waiting.resume() }
        }
    }

    func leave() {
        let next: CheckedContinuation<Void, Never>? = state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.isTaken = false
            return nil
        }
        next?.resume()
    }
}
