// Watches where requests begin and end on a connection, and to which caller the connection belongs.
//
// `GuardedChannel` puts both handlers into the pipeline of each connection: `ConnectionLimiter` at
// the very beginning, `RequestWatch` behind `HeadGuard`. They decide nothing: `OpenConnections` and
// `CallerPace` do, by what they are told here.

import CumulusTransport
import NIOCore
import NIOHTTP1

/// Enters a connection when it opens, and closes it at once if there is no room or it gives way.
final class ConnectionLimiter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let connections: OpenConnections
    private let proxies: TrustedProxies

    init(_ connections: OpenConnections, _ proxies: TrustedProxies) {
        self.connections = connections
        self.proxies = proxies
    }

    func channelActive(context: ChannelHandlerContext) {
        let address = context.channel.remoteAddress?.addressBytes ?? []
        let place = NIOLoopBound(context, eventLoop: context.eventLoop)
        let loop = context.eventLoop
        let isIn = connections.enter(
            ObjectIdentifier(context.channel),
            from: address,
            isProxy: proxies.contains(address)
        ) {
            // Closing here bypasses TLS, which would wait for the caller's goodbye.
            loop.execute { place.value.close(promise: nil) }
        }
        guard isIn else { return context.close(promise: nil) }
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        connections.leave(ObjectIdentifier(context.channel))
        context.fireChannelInactive()
    }
}

/// Tells what a connection does.
final class RequestWatch: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let connections: OpenConnections
    /// The numbers of heads that were read, requests that were read to their ends, and delivered
    /// answers.
    private var (heads, ends, answers) = (0, 0, 0)

    init(_ connections: OpenConnections) {
        self.connections = connections
    }

    private func tell(_ channel: any Channel) {
        let rest: ConnectionPhase = heads > answers ? .body : .idle
        connections.note(ObjectIdentifier(channel), ends > answers ? .answering : rest)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch RequestWatch.unwrapInboundIn(data) {
        case .head:
            heads += 1
            context.triggerUserOutboundEvent(RequestStep.head, promise: nil)
            tell(context.channel)
        case .body: break
        case .end:
            ends += 1
            context.triggerUserOutboundEvent(RequestStep.end, promise: nil)
            tell(context.channel)
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .end = RequestWatch.unwrapOutboundIn(data) else {
            return context.write(data, promise: promise)
        }
        let written = promise ?? context.eventLoop.makePromise()
        let watch = NIOLoopBound((self, context.channel), eventLoop: context.eventLoop)
        written.futureResult.whenSuccess { _ in
            let (watch, channel) = watch.value
            watch.answers += 1
            watch.tell(channel)
        }
        context.write(data, promise: written)
    }
}
