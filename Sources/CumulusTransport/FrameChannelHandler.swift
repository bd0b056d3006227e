// Carries the bytes of one connection between its socket and its `FrameHandler`: one turn per read,
// one write per turn.
//
// Sits alone in the pipeline of a channel, on the server's side and on the client's, or behind TLS.
// It decides nothing: pauses, times and the end of the connection are the handler's, which is made
// when there is a connection to talk over, with TLS after the handshake. hot: once per read and
// once per write.

package import CumulusModel
import CumulusSystem
package import CumulusWire
package import NIOCore
import NIOSSL
import NIOTLS

package final class FrameChannelHandler: ChannelInboundHandler, FrameLink, @unchecked Sendable {
    // Confined to the channel's event loop; `loop` and the addresses are set once.

    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    package let loop: any FrameLoop
    package private(set) var isLoopback = false
    package private(set) var remoteAddress: Bytes = []
    package private(set) var certificate: Bytes = []
    private let security: Security
    /// Kept when the handler is made, or failed when it can't be.
    private let opened: EventLoopPromise<Void>?
    private let make: MakeFrameHandler
    private var handler: (any FrameHandler)?
    private var context: ChannelHandlerContext?
    private var isTurnDue = false
    private var isClosing = false
    private var isReading = true
    private var pendingBytes = 0
    private var wake: (time: Instant, task: Scheduled<Void>)?
    private static let partBytes = 32 << 10
    /// How long the other side may take to read the last words.
    private static let lingerSeconds: Int64 = 1
    private let handshakeMilliseconds: Int64

    /// The handlers before this one in the pipeline.
    package enum Security: Sendable {
        case plain
        /// TLS, by a certificate with this digest.
        case listener(Bytes)
        /// TLS, by the certificate that comes; for this name, if the other side was named and not
        /// given by its address.
        case dialer(name: String?)
    }

    package init(
        loop: any FrameLoop,
        _ security: Security = .plain,
        handshakeMilliseconds: Int64 = 10_000,
        opened: EventLoopPromise<Void>? = nil,
        _ make: @escaping MakeFrameHandler
    ) {
        self.loop = loop
        self.security = security
        self.handshakeMilliseconds = handshakeMilliseconds
        self.opened = opened
        self.make = make
    }

    // MARK: Channel

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { connected(context) }
    }

    package func channelActive(context: ChannelHandlerContext) {
        connected(context)
        context.fireChannelActive()
    }

    private func connected(_ context: ChannelHandlerContext) {
        if case .plain = security { return begin(context) }
        let channel = context.channel
        channel.eventLoop.assumeIsolated().scheduleTask(
            in: .milliseconds(handshakeMilliseconds)
        ) {
            guard self.handler == nil else { return }
            self.opened?.fail(HandshakeTimeout())
            channel.close(promise: nil)
        }
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted(let name) = event {
            secured(context, speaking: name)
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func secured(_ context: ChannelHandlerContext, speaking name: String?) {
        do {
            guard name == TLS.protocolName else {
                throw TLSProblem("the other side speaks TLS, but not this protocol")
            }
            switch security {
            case .plain: break
            case .listener(let digest): certificate = digest
            case .dialer(let name):
                let peer = try context.pipeline.syncOperations.nioSSL_peerCertificate()
                guard let peer else { throw TLSProblem("the node showed no certificate") }
                try name.map { try TLS.check(peer, isFor: $0) }
                certificate = try TLS.digest(of: peer)
            }
            begin(context)
        } catch {
            opened?.fail(error)
            context.close(promise: nil)
        }
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard handler == nil, !isClosing else { return }
        isLoopback = context.remoteAddress?.isLoopback ?? false
        remoteAddress = context.remoteAddress?.addressBytes ?? []
        handler = make(self, MonotonicClock.now())
        opened?.succeed()
        needsTurn()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isClosing else { return }
        let now = MonotonicClock.now()
        unwrapInboundIn(data).withUnsafeReadableBytes { handler?.received($0, now: now) }
        isTurnDue = true
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        if isTurnDue { endTurn() }
        context.fireChannelReadComplete()
    }

    package func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        opened?.fail(error)
        context.close(promise: nil)
    }

    private func end() {
        wake?.task.cancel()
        wake = nil
        context = nil
        isClosing = true
        handler?.closed()
        handler = nil
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        // Also where the channel never became active.
        self.context = nil
        opened?.fail(ChannelError.eof)
    }

    // MARK: Turns

    package func needsTurn() {
        guard !isTurnDue, let context else { return }
        isTurnDue = true
        context.eventLoop.assumeIsolated().execute { self.endTurn() }
    }

    private func endTurn() {
        isTurnDue = false
        guard let context, let handler, !isClosing else { return }
        let turn = handler.turnEnded(now: MonotonicClock.now())
        if !turn.output.isEmpty { write(turn.output, context) }
        if turn.closes {
            close(context)
            return
        }
        if turn.isReading != isReading { setReading(turn.isReading, context) }
        if let time = turn.wake { schedule(time, context) }
    }

    /// Hands the output over in parts: each that leaves is progress, however slow the other side.
    private func write(_ output: FrameOutput, _ context: ChannelHandlerContext) {
        pendingBytes += output.count
        for piece in output.pieces {
            var buffer = context.channel.allocator.buffer(bytes: piece)
            while buffer.readableBytes > FrameChannelHandler.partBytes,
                let part = buffer.readSlice(length: FrameChannelHandler.partBytes)
            {
                write(part, context)
            }
            write(buffer, context)
        }
        context.flush()
        guard pendingBytes > 0 else { return }
        handler?.writing(pendingBytes, now: MonotonicClock.now())
        // When the other side's time to read them is up, was not known when this turn ended.
        needsTurn()
    }

    private func write(_ part: ByteBuffer, _ context: ChannelHandlerContext) {
        let count = part.readableBytes
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in self.wrote(count) }
        context.write(wrapOutboundOut(part), promise: written)
    }

    private func wrote(_ count: Int) {
        pendingBytes -= count
        handler?.writing(pendingBytes, now: MonotonicClock.now())
        if !isReading { needsTurn() }
    }

    private func setReading(_ reading: Bool, _ context: ChannelHandlerContext) {
        isReading = reading
        _ = context.channel.setOption(.autoRead, value: reading)
        if reading {
            context.read()
        } else if pendingBytes == 0 {
            // Nothing has to leave first: there may be room again already.
            needsTurn()
        }
    }

    private func schedule(_ time: Instant, _ context: ChannelHandlerContext) {
        if let wake, wake.time <= time { return }
        wake?.task.cancel()
        let delay = max(0, time.milliseconds - MonotonicClock.now().milliseconds)
        let task = context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(delay)) {
            self.wake = nil
            self.handler?.timePassed(now: MonotonicClock.now())
            self.endTurn()
        }
        wake = (time, task)
    }

    /// Sends what is left, waits a moment until the other side has read it, and closes.
    private func close(_ context: ChannelHandlerContext) {
        isClosing = true
        wake?.task.cancel()
        wake = nil
        let channel = context.channel
        context.close(mode: .output, promise: nil)
        channel.eventLoop.scheduleTask(in: .seconds(FrameChannelHandler.lingerSeconds)) {
            channel.close(promise: nil)
        }
    }
}

extension SocketAddress {
    /// Whether the address is of this machine only.
    package var isLoopback: Bool {
        switch self {
        case .v4: ipAddress?.hasPrefix("127.") ?? false
        case .v6: ipAddress == "::1" || ipAddress?.hasPrefix("::ffff:127.") ?? false
        case .unixDomainSocket: true
        }
    }

    /// The IP address: 4 bytes, also of IPv4 inside IPv6, or 16; empty if it has none.
    package var addressBytes: Bytes {
        withSockAddr { address, size in
            let bytes = UnsafeRawBufferPointer(start: address, count: size)
            switch self {
            // The address follows the family and the port.
            case .v4: return Bytes(bytes[4..<8])
            // And behind the flow.
            case .v6:
                let all = Bytes(bytes[8..<24])
                let isIPv4 = all.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255])
                return isIPv4 ? Bytes(all[12...]) : all
            case .unixDomainSocket: return []
            }
        }
    }
}
