// The listening socket of gRPC, and what stands before HTTP/2 on each connection: the bound on
// connections, and TLS by the current certificate.
//
// Made by `GRPCListener`, and asked by gRPC for its channels. A renewed certificate counts from the
// next connection on. A connection beyond the bound is closed before a byte of it is read.

import CumulusTransport
import GRPCNIOTransportHTTP2Posix
import NIOCore
import NIOPosix
import NIOSSL

struct GRPCSockets: HTTP2ServerTransport.ListenerFactory {
    typealias Connection = HTTP2ServerTransport.ConnectionConfigurator.ConnectionChannel

    /// Connections that wait for `accept`.
    private static let backlog: Int32 = 1_024
    /// Nothing is accepted for so long after the system refused a connection.
    private static let pause = TimeAmount.seconds(1)

    let eventLoopGroup: any EventLoopGroup
    let host: String
    let port: Int
    let secure: GRPCListener.Secure?
    let crowd: GRPCCrowd
    let room: GRPCRoom
    /// Told in words why connections are not accepted, each time.
    let onRefusal: @Sendable (String) -> Void
    /// Told the port that was bound.
    let onRunning: @Sendable (Int) -> Void

    func makeListeningChannel(
        listenerConfigurator: HTTP2ServerTransport.ListenerConfigurator,
        connectionConfigurator: HTTP2ServerTransport.ConnectionConfigurator
    ) async throws -> NIOAsyncChannel<Connection, Never> {
        let listener = try await ServerBootstrap(group: eventLoopGroup)
            .serverChannelOption(.backlog, value: GRPCSockets.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { [onRefusal] channel in
                channel.eventLoop.makeCompletedFuture {
                    // Else the loop would try again at once, and again.
                    let backoff = AcceptBackoffHandler { error in
                        onRefusal("\(SocketProblem(error))")
                        return GRPCSockets.pause
                    }
                    try channel.pipeline.syncOperations.addHandler(backoff)
                }.flatMap {
                    listenerConfigurator.configure(channel: channel)
                }
            }
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .bind(host: host, port: port) { [secure, crowd, room] channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(GRPCConnection(crowd, room))
                    if let secure {
                        try pipeline.addHandler(NIOSSLServerHandler(context: try secure()))
                    }
                    try pipeline.addHandler(GRPCPatience())
                }.flatMap {
                    let tls: HTTP2ServerTransport.ConnectionConfigurator.TLS =
                        secure == nil ? .none : .configured(requireALPN: false)
                    return connectionConfigurator.configure(channel: channel, tls: tls)
                }
            }
        crowd.listen(listener.channel)
        onRunning(listener.channel.localAddress?.port ?? port)
        return listener
    }
}

/// Closes a connection that doesn't begin with HTTP/2 in time.
private final class GRPCPatience: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private static let limit = TimeAmount.seconds(10)

    private var timer: Scheduled<Void>?

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        timer = context.eventLoop.scheduleTask(in: GRPCPatience.limit) {
            channel.close(promise: nil)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        timer?.cancel()
        timer = nil
        context.fireChannelRead(data)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
    }
}
