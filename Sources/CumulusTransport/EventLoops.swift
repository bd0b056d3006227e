// The event loops of a process, as `FrameLoop`s.
//
// One group serves a node, another one all clients of a process. There is one `FrameLoop` object
// per event loop, so that work for the connections of one loop can be recognised and handed over
// together.

import CumulusWire
package import NIOCore
package import NIOPosix
import Synchronization

package final class EventLoops: Sendable {
    package let group: MultiThreadedEventLoopGroup
    private let loops: [ObjectIdentifier: NIOFrameLoop]

    package init(threads: Int) {
        group = MultiThreadedEventLoopGroup(numberOfThreads: threads)
        var loops: [ObjectIdentifier: NIOFrameLoop] = [:]
        for loop in group.makeIterator() { loops[ObjectIdentifier(loop)] = NIOFrameLoop(loop) }
        self.loops = loops
    }

    package func frameLoop(_ loop: any EventLoop) -> NIOFrameLoop {
        loops[ObjectIdentifier(loop)] ?? NIOFrameLoop(loop)
    }

    /// Any of the loops, in turn.
    package func next() -> NIOFrameLoop {
        frameLoop(group.next())
    }

    /// Ends the threads; work that comes later is dropped.
    package func stop() async throws {
        for loop in loops.values { loop.refuseWork() }
        try await group.shutdownGracefully()
    }
}

/// One event loop, with a queue of its own before it.
///
/// Work that comes while the loop is busy is handed over in one go, and wakes the loop once. Tasks
/// can prefer it, and then call without changing threads. hot: once per call.
package final class NIOFrameLoop: FrameLoop, TaskExecutor {
    private struct Queue {
        var work: [@Sendable () -> Void] = []
        /// The loop ends: nobody would do the work.
        var isRefusing = false
    }

    private let loop: any EventLoop
    private let queue = Mutex(Queue())

    package init(_ loop: any EventLoop) {
        self.loop = loop
    }

    package func execute(_ work: @escaping @Sendable () -> Void) {
        let isFirst = queue.withLock { queue in
            guard !queue.isRefusing else { return false }
            queue.work.append(work)
            return queue.work.count == 1
        }
        // The lock must not be held: the loop wakes and takes it.
        if isFirst { loop.execute { self.runQueue() } }
    }

    /// Runs a step of a task that prefers this thread.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    func refuseWork() {
        queue.withLock { $0.isRefusing = true }
    }

    private func runQueue() {
        let work = queue.withLock { queue in
            defer { queue.work = [] }
            return queue.work
        }
        for item in work { item() }
    }
}
