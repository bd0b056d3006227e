// The event loops of a process, as `FrameLoop`s.
//
// One group serves a node, another one a client. There is one `FrameLoop` object per event loop, so
// that work for the connections of one loop can be recognised and handed over together.

package import CumulusWire
package import NIOCore
package import NIOPosix

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

package final class NIOFrameLoop: FrameLoop {
    private let loop: any EventLoop

    package init(_ loop: any EventLoop) {
        self.loop = loop
    }

    package func execute(_ work: @escaping @Sendable () -> Void) {
        loop.execute(work)
    }
}
