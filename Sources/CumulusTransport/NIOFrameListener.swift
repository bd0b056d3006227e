// Listens on a TCP port and gives every connection that comes in its handler.
//
// `cumulusd` makes one. It is told to stop in two steps, so that a draining node keeps its
// connections.

package import CumulusWire
import NIOCore
import NIOPosix
import Synchronization

package final class NIOFrameListener: FrameListener {
    private let host: String
    private let port: Int
    private let loops: EventLoops
    private let channels = Mutex<(any Channel)?>(nil)
    /// Connections that wait for `accept`.
    private static let backlog: Int32 = 1_024
    /// What a connection may bring in one turn is what it can't be held back from: four of these.
    private static let receiveBuffers = AdaptiveRecvByteBufferAllocator(
        minimum: 1_024,
        initial: 4_096,
        maximum: 32 << 10
    )

    /// Port 0 takes a free one.
    package init(host: String, port: Int, loops: EventLoops) {
        self.host = host
        self.port = port
        self.loops = loops
    }

    package func start(_ make: @escaping MakeFrameHandler) async throws -> String {
        let channel: any Channel
        do {
            channel = try await bind(make)
        } catch {
            throw SocketProblem(error)
        }
        channels.withLock { $0 = channel }
        guard let address = channel.localAddress, let port = address.port else { return host }
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    private func bind(_ make: @escaping MakeFrameHandler) async throws -> any Channel {
        let loops = loops
        return try await ServerBootstrap(group: loops.group)
            .serverChannelOption(.backlog, value: NIOFrameListener.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
            .childChannelOption(.maxMessagesPerRead, value: 4)
            .childChannelOption(.recvAllocator, value: NIOFrameListener.receiveBuffers)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let loop = loops.frameLoop(channel.eventLoop)
                    let handler = FrameChannelHandler(loop: loop, make)
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .bind(host: host, port: port)
            .get()
    }

    package func stopAccepting() async {
        let channel = channels.withLock { channel in
            defer { channel = nil }
            return channel
        }
        try? await channel?.close()
    }

    package func stop() async throws {
        await stopAccepting()
        try await loops.stop()
    }
}
