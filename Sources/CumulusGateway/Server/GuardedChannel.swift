// What stands before HTTP on each connection: TLS by the certificate of the moment, and a time that
// each request has.
//
// Built into the server by `HTTPServer`. A renewed certificate counts from the next connection on.

import HummingbirdCore
import Logging
import NIOCore
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
        }.flatMap {
            base.setup(channel: channel, logger: logger)
        }
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async {
        await base.handle(value: value, logger: logger)
    }
}

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
        if timer == nil {
            let channel = context.channel
            timer = context.eventLoop.scheduleTask(in: .milliseconds(milliseconds)) {
                channel.close(promise: nil)
            }
        }
        context.fireChannelRead(data)
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
