// The loop of one local connection: runs work in the order in which it comes, one at a time, on
// whatever thread of the pool is free.
//
// A connection in this process has no socket, and so needs no thread of its own.

import CumulusWire
import Synchronization

final class LocalLoop: FrameLoop {
    private struct Queue {
        var work: [@Sendable () -> Void] = []
        var isRunning = false
    }

    private let queue = Mutex(Queue())

    func execute(_ work: @escaping @Sendable () -> Void) {
        let begins = queue.withLock { queue in
            queue.work.append(work)
            defer { queue.isRunning = true }
            return !queue.isRunning
        }
        if begins { Task { run() } }
    }

    /// Runs what is queued, also what comes meanwhile.
    private func run() {
        while true {
            let work = queue.withLock { queue in
                defer { queue.work = [] }
                if queue.work.isEmpty { queue.isRunning = false }
                return queue.work
            }
            if work.isEmpty { return }
            for item in work { item() }
        }
    }
}
