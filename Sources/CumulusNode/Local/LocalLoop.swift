// The loop of one local connection: runs work in the order in which it comes, one at a time, on
// whatever thread of the pool is free.
//
// A connection in this process has no socket, and so needs no thread of its own. Its caller's task
// runs what the caller begins: what is in memory is read and answered there, with no change of
// threads.

import CumulusWire
import Synchronization

final class LocalLoop: FrameLoop {
    private struct Queue {
        var work: [@Sendable () -> Void] = []
        var isRunning = false
    }

    /// How often `perform` runs what came meanwhile, before it leaves the rest to another thread.
    private static let rounds = 8

    private let queue = Mutex(Queue())

    func execute(_ work: @escaping @Sendable () -> Void) {
        let begins = queue.withLock { queue in
            queue.work.append(work)
            defer { queue.isRunning = true }
            return !queue.isRunning
        }
        if begins { Task { run() } }
    }

    /// Runs work at once, and what it leads to, unless other work is running: then it is queued.
    ///
    /// For a caller's task, and not where locks are held.
    func perform(_ work: @escaping @Sendable () -> Void) {
        let begins = queue.withLock { queue in
            defer { queue.isRunning = true }
            if queue.isRunning { queue.work.append(work) }
            return !queue.isRunning
        }
        guard begins else { return }
        work()
        for _ in 0..<LocalLoop.rounds where !runQueued() { return }
        Task { run() }
    }

    /// Runs what is queued, also what comes meanwhile.
    private func run() {
        while runQueued() {}
    }

    /// Runs the work that is queued by now; returns false and ends the run if no work is queued.
    private func runQueued() -> Bool {
        let work = queue.withLock { queue in
            defer { queue.work = [] }
            if queue.work.isEmpty { queue.isRunning = false }
            return queue.work
        }
        for item in work { item() }
        return !work.isEmpty
    }
}
