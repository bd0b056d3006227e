// Listens on a TCP port and gives every connection that comes in its handler.
//
// `cumulusd` makes one. It is told to stop in two steps, so that a draining node keeps its
// connections. Beyond its limit a connection is closed as it comes: the files that a process may
// have open are the store's too.

package import CumulusWire
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

package final class NIOFrameListener: FrameListener {
    private let host: String
    private let port: Int
    private let loops: EventLoops
    /// nil means plain TCP.
    private let identity: TLSIdentity?
    private let channels = Mutex<(any Channel)?>(nil)
    private let connectionLimit: Int
    private let connections = Atomic<Int>(0)
    private let onRefusal: @Sendable (String) -> Void
    /// Nothing is accepted for so long after the system refused a connection.
    private static let pause = TimeAmount.seconds(1)
    /// Connections that wait for `accept`.
    private static let backlog: Int32 = 1_024
    /// One turn of a connection can't be held back; it may bring four of these buffers.
    private static let receiveBuffers = AdaptiveRecvByteBufferAllocator(
        minimum: 1_024,
        initial: 4_096,
        maximum: 32 << 10
    )

    /// - Parameters:
    ///   - port: 0 takes a free one.
    ///   - connectionLimit: More at the same time are closed.
    ///   - onRefusal: Told in words why a connection was not taken, each time.
    package init(
        host: String,
        port: Int,
        loops: EventLoops,
        identity: TLSIdentity? = nil,
        connectionLimit: Int = .max,
        onRefusal: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.host = host
        self.port = port
        self.loops = loops
        self.identity = identity
        self.connectionLimit = connectionLimit
        self.onRefusal = onRefusal
    }

    /// Throws if the address can't be listened on; gives it up again.
    package func probe() async throws {
        do {
            let channel = try await ServerBootstrap(group: loops.group)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .bind(host: host, port: port)
                .get()
            try await channel.close()
        } catch {
            throw SocketProblem(error)
        }
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
        let (loops, identity, onRefusal) = (loops, identity, onRefusal)
        return try await ServerBootstrap(group: loops.group)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    // Else the loop would try again at once, and again.
                    let backoff = AcceptBackoffHandler { error in
                        onRefusal("\(SocketProblem(error))")
                        return NIOFrameListener.pause
                    }
                    try channel.pipeline.syncOperations.addHandler(backoff)
                }
            }
            .serverChannelOption(.backlog, value: NIOFrameListener.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.maxMessagesPerRead, value: 4)
            .childChannelOption(.recvAllocator, value: NIOFrameListener.receiveBuffers)
            .childChannelInitializer { [self] channel in
                channel.eventLoop.makeCompletedFuture {
                    try admit(channel)
                    let pipeline = channel.pipeline.syncOperations
                    var security = FrameChannelHandler.Security.plain
                    if let identity = identity?.current {
                        try pipeline.addHandler(NIOSSLServerHandler(context: identity.context))
                        security = .listener(identity.digest)
                    }
                    let loop = loops.frameLoop(channel.eventLoop)
                    try pipeline.addHandler(FrameChannelHandler(loop: loop, security, make))
                }
            }
            .bind(host: host, port: port)
            .get()
    }

    /// Counts a connection until it ends; throws, and so closes it, if there are too many.
    private func admit(_ channel: any Channel) throws {
        channel.closeFuture.whenComplete { [self] _ in
            connections.wrappingSubtract(1, ordering: .relaxed)
        }
        guard connections.wrappingAdd(1, ordering: .relaxed).newValue <= connectionLimit else {
            onRefusal("there are \(connectionLimit) already")
            throw TooManyConnections()
        }
    }

    private struct TooManyConnections: Error {}

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
