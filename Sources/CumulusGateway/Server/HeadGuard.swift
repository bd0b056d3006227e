// The heads of requests, before they are read: what HTTP/1.1 demands of them, and what a head that
// can't be read is answered with.
//
// Put by `GuardedChannel` behind the decoder of each connection. Hummingbird answers a decoder's
// error with an empty 400 when the answers before it are sent; this handler says why.

import NIOCore
import NIOHTTP1

final class HeadGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private struct Refusal {
        var status: HTTPResponseStatus
        var reason: String
    }

    /// The refusal of the head that ends this connection.
    private var refusal: Refusal?
    /// The caller waits for "100 Continue" before it sends its body.
    private var isWaiting = false
    /// The field Connection of each answer that is due; nil: the answer has none.
    private var connections: [String?] = []

    // MARK: In

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard refusal == nil else { return }
        guard case .head(var head) = HeadGuard.unwrapInboundIn(data) else {
            isWaiting = false
            return context.fireChannelRead(data)
        }
        HeadGuard.takeApart(&head)
        if let reason = HeadGuard.problem(with: head) {
            refusal = Refusal(status: .badRequest, reason: reason)
            return context.fireErrorCaught(HTTPParserError.invalidHeaderToken)
        }
        isWaiting =
            head.version != .http1_0
            && head.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
        let stays = head.version == .http1_0 ? "keep-alive" : nil
        connections.append(head.isKeepAlive ? stays : "close")
        context.fireChannelRead(HeadGuard.wrapInboundOut(.head(head)))
    }

    /// A target that is a whole URL names the host, whatever the field says.
    private static func takeApart(_ head: inout HTTPRequestHead) {
        let scheme = ["http://", "https://"].first { head.uri.lowercased().hasPrefix($0) }
        if let scheme, head.headers["host"].count == 1 {
            let rest = head.uri.dropFirst(scheme.count)
            let authority = rest.prefix { $0 != "/" && $0 != "?" }
            let target = rest.dropFirst(authority.count)
            head.headers.replaceOrAdd(name: "Host", value: String(authority))
            head.uri = target.hasPrefix("/") ? String(target) : "/" + target
        }
        // Hummingbird looks for this very value.
        if !head.isKeepAlive { head.headers.replaceOrAdd(name: "Connection", value: "close") }
    }

    /// The violation of RFC 9112, section 3.2; nil if the head is right.
    private static func problem(with head: HTTPRequestHead) -> String? {
        let hosts = head.headers["host"]
        if hosts.count > 1 { return "the request has \(hosts.count) fields named Host" }
        guard let host = hosts.first else {
            return head.version == .http1_0 ? nil : "the field Host is missing"
        }
        return WebHosts.isAuthority(host) ? nil : "the field Host holds no host"
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if refusal == nil, let error = error as? HTTPParserError {
            refusal =
                switch error {
                case .headerOverflow:
                    Refusal(
                        status: .requestHeaderFieldsTooLarge,
                        reason: "the URL is too long, or the fields are too large or too many"
                    )
                case .invalidVersion:
                    // The decoder tells a bare line feed behind the version so, too.
                    Refusal(
                        status: .httpVersionNotSupported,
                        reason: "the first line must end in HTTP/1.1, a carriage return and a "
                            + "line feed"
                    )
                default:
                    Refusal(status: .badRequest, reason: "this is no request of HTTP: \(error)")
                }
        }
        context.fireErrorCaught(error)
    }

    // MARK: Out

    func triggerUserOutboundEvent(
        context: ChannelHandlerContext,
        event: Any,
        promise: EventLoopPromise<Void>?
    ) {
        if event is RequestCameOn, isWaiting {
            isWaiting = false
            let head = HTTPResponseHead(version: .http1_1, status: .continue)
            context.writeAndFlush(HeadGuard.wrapOutboundOut(.head(head)), promise: nil)
        }
        context.triggerUserOutboundEvent(event, promise: promise)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .head(var head) = HeadGuard.unwrapOutboundIn(data) else {
            return context.write(data, promise: promise)
        }
        // The answers to requests before this one don't close the connection.
        guard let refusal, head.status == .badRequest, head.headers["connection"] == ["close"]
        else {
            if !connections.isEmpty, let connection = connections.removeFirst() {
                head.headers.replaceOrAdd(name: "Connection", value: connection)
            }
            return context.write(HeadGuard.wrapOutboundOut(.head(head)), promise: promise)
        }
        let text = context.channel.allocator.buffer(string: refusal.reason + "\n")
        head.status = refusal.status
        head.headers.replaceOrAdd(name: "Content-Length", value: "\(text.readableBytes)")
        head.headers.add(name: "Content-Type", value: "text/plain; charset=utf-8")
        context.write(HeadGuard.wrapOutboundOut(.head(head)), promise: promise)
        context.write(HeadGuard.wrapOutboundOut(.body(.byteBuffer(text))), promise: nil)
        // The caller has time to read it before what it still sends is refused.
        let channel = context.channel
        context.eventLoop.scheduleTask(in: .seconds(1)) { channel.close(promise: nil) }
    }
}
