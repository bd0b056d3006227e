// The gRPC listener of a node: grpc-swift carries calls, and `GRPCDoor` takes them to the node.
//
// Made by `cumulusd` where it is asked for, and by tests. It holds strangers to limits before
// anything is read: connections of one address and of all, calls on a connection, the size of a
// message, and the time in which a connection must begin. gRPC's own compression is off: a few
// bytes of it may stand for many, and chunks of assets are compressed already.
//
// Folder: gRPC on real sockets, and what strangers may hold of it. Read `GRPCListener`, then
// `GRPCSockets`, `GRPCConnection`, `GRPCStreamGuard` and `GRPCRoom`.

package import CumulusModel
package import CumulusNode
import CumulusTransport
import GRPCCore
import GRPCNIOTransportHTTP2Posix
package import NIOCore
package import NIOSSL

package struct GRPCListener: Sendable {
    /// The bounds for strangers.
    package struct Bounds: Sendable {
        package var connections = 1_000
        /// Connections of one address, as `CallerNetwork` counts them.
        package var connectionsOfOne = 256
        /// How long a connection may be without a call until it is told to go, in milliseconds.
        package var idleMilliseconds: Int64 = 300_000
        /// How much longer it may stay then, in milliseconds.
        package var graceMilliseconds: Int64 = 10_000
        /// After so many milliseconds of silence a caller is asked whether it is there, and has as
        /// long to answer.
        package var silenceMilliseconds: Int64 = 60_000

        package init() {}
    }

    /// Gives the certificate of the moment; nil: plain TCP.
    package typealias Secure = @Sendable () throws -> NIOSSLContext

    private typealias Transport = HTTP2ServerTransport.Custom<GRPCSockets>

    /// Metadata beside the message in a frame of the node's own.
    private static let headBytes = 64 << 10
    /// What a caller may send on a stream, or on a connection, before the node has read it.
    private static let windowBytes = GRPCStreamGuard.windowBytes
    /// The calls that send more than one message, and so end their requests when they like.
    static let streamingPaths = Set(
        GRPCMethod.all.filter { $0.form == .upload }.map { "/\($0.descriptor)" }
            + GRPCReflection.services.map { "/\($0)/\(GRPCReflection.method)" }
    )

    private let node: Node
    private let descriptors: Descriptors?
    private let secure: Secure?
    private let bounds: Bounds
    private let crowd: GRPCCrowd
    private let room: GRPCRoom

    /// - Parameter descriptors: A `FileDescriptorSet` of `proto/`; empty: there is no reflection.
    package init(
        _ node: Node,
        descriptors: Bytes,
        secure: Secure? = nil,
        bounds: Bounds = Bounds()
    ) {
        self.node = node
        self.descriptors = descriptors.isEmpty ? nil : try? Descriptors(descriptors)
        self.secure = secure
        self.bounds = bounds
        crowd = GRPCCrowd(bounds)
        room = GRPCRoom(node.configuration.limits)
    }

    /// Accepts no more connections, and tells callers to go elsewhere; their calls go on.
    package func sayGoodbye() { crowd.sayGoodbye() }

    /// Requests that have come whole, and whose answers are not on the wire.
    package var answersDue: Int { room.answersDue }

    /// Bytes of requests whose calls go on, and of answers that are not on the wire.
    package var keptBytes: Int { room.keptBytes }

    /// Serves until the task is cancelled, once: or until the last connection ends after a goodbye.
    ///
    /// - Parameters:
    ///   - onRefusal: Told in words why connections are not accepted, each time.
    ///   - onRunning: Told the port that was bound.
    package func run(
        host: String,
        port: Int,
        on group: any EventLoopGroup,
        onRefusal: @escaping @Sendable (String) -> Void,
        onRunning: @escaping @Sendable (Int) -> Void
    ) async throws {
        let sockets = GRPCSockets(
            eventLoopGroup: group,
            host: host,
            port: port,
            secure: secure,
            crowd: crowd,
            room: room,
            onRefusal: onRefusal,
            onRunning: onRunning
        )
        let transport = Transport(listenerFactory: sockets, config: configuration)
        let server = GRPCServer(transport: transport, router: router)
        try await withTaskCancellationHandler {
            try await server.serve()
        } onCancel: { [crowd] in
            crowd.end()
        }
    }

    private var router: RPCRouter<Transport> {
        var router = RPCRouter<Transport>()
        GRPCDoor(node: node, isEncrypted: secure != nil, room: room).register(in: &router)
        GRPCHealth(node: node).register(in: &router)
        if let descriptors {
            GRPCReflection(descriptors: descriptors, room: room).register(in: &router)
        }
        return router
    }

    private var configuration: Transport.Config {
        let limits = node.configuration.limits
        let mostBytes = limits.frameBytes - GRPCListener.headBytes
        var config = Transport.Config.defaults
        config.compression = .init(enabledAlgorithms: .none)
        config.rpc.maxRequestPayloadSize = mostBytes
        config.http2.maxConcurrentStreams = limits.streamsPerConnection
        config.http2.targetWindowSize = GRPCListener.windowBytes
        config.channelDebuggingCallbacks.onAcceptHTTP2Stream = { channel in
            channel.eventLoop.makeCompletedFuture {
                guard let parent = channel.parent else { throw ChannelError.ioOnClosedChannel }
                let guardian = GRPCStreamGuard(
                    on: try parent.pipeline.syncOperations.handler(type: GRPCConnection.self),
                    channel,
                    mostBytes: mostBytes
                )
                try channel.pipeline.syncOperations.addHandler(guardian, position: .first)
            }
        }
        config.connection.maxIdleTime = .milliseconds(bounds.idleMilliseconds)
        config.connection.keepalive = .init(
            time: .milliseconds(bounds.silenceMilliseconds),
            timeout: .milliseconds(bounds.silenceMilliseconds),
            clientBehavior: .init(
                minPingIntervalWithoutCalls: .seconds(10),
                allowWithoutCalls: true
            )
        )
        return config
    }
}
