// The event loops of a process, as `FrameLoop`s.
//
// One group serves a node, another one a client. There is one `FrameLoop` object per event loop, so
// that work for the connections of one loop can be recognised and handed over together.

package import CumulusWire
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

    package func frameLoop(_ loop: any EventLoop) -> any FrameLoop {
        loops[ObjectIdentifier(loop)] ?? NIOFrameLoop(loop)
    }

    /// Any of the loops, in turn.
    package func next() -> any FrameLoop {
        frameLoop(group.next())
    }

    package func stop() async throws {
        try await group.shutdownGracefully()
    }
}

/// One event loop, with a queue of its own before it.
///
/// Work that comes while the loop is busy is
/// handed over in one go, and wakes the loop once. hot: once per call.
package final class NIOFrameLoop: FrameLoop {
    private let loop: any EventLoop
    private let waiting = Mutex<[@Sendable () -> Void]>([])

    package init(_ loop: any EventLoop) {
        self.loop = loop
    }

    package func execute(_ work: @escaping @Sendable () -> Void) {
        let isFirst = waiting.withLock { waiting in
            waiting.append(work)
            return waiting.count == 1
        }
        if isFirst { loop.execute { self.runWaiting() } }
    }

    private func runWaiting() {
        let work = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for item in work { item() }
    }
}
