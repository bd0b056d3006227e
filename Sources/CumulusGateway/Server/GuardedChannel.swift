// The handlers before HTTP on each connection: the bound on connections, TLS by the current
// certificate, the time limit of a request, the pace that a caller must keep, and the guard of
// heads.
//
// Made by `HTTPServer`, and by `WaitingServer` before there is a node. A renewed certificate
// counts from the next connection on.

import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL

struct GuardedChannel: ServerChildChannel {
    let base: HTTP1Channel
    let requestMilliseconds: Int64
    let pace: PaceBounds
    let connections: OpenConnections
    let proxies: TrustedProxies
    let secure: HTTPServer.Secure?

    /// Connections that wait for `accept`.
    private static let backlog = 1_024

    init(
        _ bounds: HTTPServer.Bounds,
        connections: OpenConnections,
        proxies: TrustedProxies,
        secure: HTTPServer.Secure?,
        responder: @escaping HTTPChannelHandler.Responder
    ) {
        var configuration = HTTP1Channel.Configuration(
            idleTimeout: .milliseconds(bounds.idleMilliseconds)
        )
        configuration.httpDecoder = .init(
            maxHeaderFieldSize: bounds.headBytes,
            maxHeaderListSize: bounds.headBytes,
            maxHeaderFieldCount: bounds.heads
        )
        base = HTTP1Channel(responder: responder, configuration: configuration)
        requestMilliseconds = bounds.requestMilliseconds
        pace = bounds.pace
        self.connections = connections
        self.proxies = proxies
        self.secure = secure
    }

    /// Serves until the task is cancelled.
    ///
    /// - Parameter onRunning: Told the port that was bound.
    func run(
        host: String,
        port: Int,
        on group: any EventLoopGroup,
        _ logger: Logger,
        _ onRunning: @escaping @Sendable (Int) -> Void
    ) async throws {
        // Its logger reports each connection that a shutdown ends as an error. Real errors are
        // thrown, too.
        var quiet = logger
        quiet.logLevel = .critical
        let server = Server(
            childChannelSetup: self,
            configuration: ServerConfiguration(
                // All are accepted; `OpenConnections` says which ones stay.
                address: .hostname(host, port: port),
                backlog: GuardedChannel.backlog
            ),
            onServerRunning: { onRunning($0.localAddress?.port ?? port) },
            eventLoopGroup: group,
            logger: quiet
        )
        try await server.run()
        // Objects that the server still holds schedule work on the loops when they are freed. This
        // frees them now. Otherwise that could happen after the loops have ended, since a task may
        // hold the server for a moment after its end. The error says that its channels are closed
        // already.
        try? await server.shutdownGracefully()
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(ConnectionLimiter(connections, proxies))
            if let secure {
                try pipeline.addHandler(NIOSSLServerHandler(context: try secure()))
            }
            try pipeline.addHandler(RequestDeadline(milliseconds: requestMilliseconds))
            try pipeline.addHandler(CallerPace(pace))
        }.flatMap {
            base.setup(channel: channel, logger: logger)
        }.flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            let guardian = HeadGuard()
            try pipeline.addHandler(guardian, position: .after(decoder))
            try pipeline.addHandler(RequestWatch(connections), position: .after(guardian))
            return value
        }
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async {
        await base.handle(value: value, logger: logger)
        // A connection that a cancellation ends has closed its socket by now, but tells so in the
        // next turn of its loop. The listener, on another loop, must hear of it before the server
        // is taken for ended and the loops end.
        try? await value.channel.closeFuture.get()
    }
}

/// Told to a connection: its request is read, or came on, and has its time once more.
struct RequestCameOn: Sendable {}

/// Closes a connection whose request is not answered in time, however slowly it still comes.
final class RequestDeadline: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private let milliseconds: Int64
    /// Set while a request waits for the first byte of its answer.
    private var timer: Scheduled<Void>?

    init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if timer == nil { start(context) }
        context.fireChannelRead(data)
    }

    private func start(_ context: ChannelHandlerContext) {
        let channel = context.channel
        timer = context.eventLoop.scheduleTask(in: .milliseconds(milliseconds)) {
            channel.close(promise: nil)
        }
    }

    func triggerUserOutboundEvent(
        context: ChannelHandlerContext,
        event: Any,
        promise: EventLoopPromise<Void>?
    ) {
        guard event is RequestCameOn else {
            return context.triggerUserOutboundEvent(event, promise: promise)
        }
        timer?.cancel()
        start(context)
        promise?.succeed()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        timer?.cancel()
        timer = nil
        context.write(data, promise: promise)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
    }
}
