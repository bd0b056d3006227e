// What stands before HTTP on each connection: TLS by the certificate of the moment, a time that
// each request has, a time in which a caller takes what it was sent, and a guard of heads.
//
// Built into the server by `HTTPServer`. A renewed certificate counts from the next connection on.

import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL

struct GuardedChannel: ServerChildChannel {
    let base: HTTP1Channel
    let requestMilliseconds: Int64
    let secure: HTTPServer.Secure?

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            if let secure {
                try pipeline.addHandler(NIOSSLServerHandler(context: try secure()))
            }
            try pipeline.addHandler(RequestDeadline(milliseconds: requestMilliseconds))
            try pipeline.addHandler(StalledAnswer())
        }.flatMap {
            base.setup(channel: channel, logger: logger)
        }.flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(HeadGuard(), position: .after(decoder))
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

/// Closes a connection whose caller does not take what it was sent.
final class StalledAnswer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// How long a connection may be full.
    private static let patience = TimeAmount.seconds(30)
    private var timer: Scheduled<Void>?

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
        if !context.channel.isWritable {
            let channel = context.channel
            timer = context.eventLoop.scheduleTask(in: StalledAnswer.patience) {
                channel.close(promise: nil)
            }
        }
        context.fireChannelWritabilityChanged()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
    }
}
