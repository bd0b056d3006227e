// The listening socket of gRPC, and what stands before HTTP/2 on each connection: the bound on
// connections, and TLS by the current certificate.
//
// Made by `GRPCListener`, and asked by gRPC for its channels. A renewed certificate counts from the
// next connection on. A connection beyond the bound is closed before a byte of it is read.

import CumulusModel
import CumulusTransport
import GRPCNIOTransportHTTP2Posix
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

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
                    try pipeline.addHandler(GRPCNewcomer(crowd, room))
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
        onRunning(listener.channel.localAddress?.port ?? port)
        return listener
    }
}

/// The connections of the listener, counted together and by the addresses that they come from.
final class GRPCCrowd: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var ofOne: [Bytes: Int] = [:]
        var hasEnded = false
    }

    private let state = Mutex(State())
    private let bounds: GRPCListener.Bounds

    init(_ bounds: GRPCListener.Bounds) {
        self.bounds = bounds
    }

    /// Takes a connection in; returns false if there are too many.
    func enter(_ channel: any Channel, from address: Bytes) -> Bool {
        state.withLock { state in
            let own = state.ofOne[address, default: 0]
            guard !state.hasEnded, state.channels.count < bounds.connections,
                own < bounds.connectionsOfOne
            else { return false }
            state.channels[ObjectIdentifier(channel)] = channel
            state.ofOne[address] = own + 1
            return true
        }
    }

    func leave(_ channel: any Channel, from address: Bytes) {
        state.withLock { state in
            guard state.channels.removeValue(forKey: ObjectIdentifier(channel)) != nil else {
                return
            }
            let own = state.ofOne[address, default: 0] - 1
            state.ofOne[address] = own > 0 ? own : nil
        }
    }

    /// Closes all connections, and each one that comes later.
    ///
    /// gRPC alone would wait for a caller that doesn't take its answer.
    func end() {
        let channels = state.withLock { state in
            state.hasEnded = true
            return Array(state.channels.values)
        }
        for channel in channels { channel.close(promise: nil) }
    }
}

/// Closes a new connection if there are too many, and reads from it while there is room.
private final class GRPCNewcomer: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    /// A connection that waits for room looks again so soon.
    private static let pause = TimeAmount.milliseconds(50)

    private let crowd: GRPCCrowd
    private let room: GRPCRoom
    private var address: Bytes?
    private var isWaiting = false

    init(_ crowd: GRPCCrowd, _ room: GRPCRoom) {
        self.crowd = crowd
        self.room = room
    }

    func read(context: ChannelHandlerContext) {
        guard let address, !room.isOpen(to: address) else { return context.read() }
        if isWaiting { return }
        isWaiting = true
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: GRPCNewcomer.pause) {
            let (newcomer, context) = bound.value
            newcomer.isWaiting = false
            if newcomer.address != nil { newcomer.read(context: context) }
        }
    }

    func channelActive(context: ChannelHandlerContext) {
        let address = context.remoteAddress?.addressBytes ?? []
        guard crowd.enter(context.channel, from: address) else {
            return context.close(promise: nil)
        }
        self.address = address
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        if let address { crowd.leave(context.channel, from: address) }
        address = nil
        context.fireChannelInactive()
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
