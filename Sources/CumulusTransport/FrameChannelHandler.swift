// Carries the bytes of one connection between its socket and its `FrameHandler`: one turn per read,
// one write per turn.
//
// Sits alone in the pipeline of a channel, on the server's side and on the client's. It decides
// nothing: pauses, times and the end of the connection are the handler's. hot: once per read and
// once per write.

package import CumulusWire
package import NIOCore

package final class FrameChannelHandler: ChannelInboundHandler, FrameLink, @unchecked Sendable {
    // Confined to the channel's event loop; `loop` and `isLoopback` are set once.

    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    package let loop: any FrameLoop
    package private(set) var isLoopback = false
    private let make: MakeFrameHandler
    private var handler: (any FrameHandler)?
    private var context: ChannelHandlerContext?
    private var isTurnDue = false
    private var isClosing = false
    private var isReading = true
    private var pendingBytes = 0
    private var wake: (time: Instant, task: Scheduled<Void>)?
    /// How long the other side may take to read the last words.
    private static let lingerSeconds: Int64 = 1

    package init(loop: any FrameLoop, _ make: @escaping MakeFrameHandler) {
        self.loop = loop
        self.make = make
    }

    // MARK: Channel

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { begin(context) }
    }

    package func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard handler == nil, !isClosing else { return }
        isLoopback = context.remoteAddress?.isLoopback ?? false
        handler = make(self, MonotonicClock.now())
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

    private func write(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
        pendingBytes += bytes.count
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in self.wrote(bytes.count) }
        let buffer = context.channel.allocator.buffer(bytes: bytes)
        context.writeAndFlush(wrapOutboundOut(buffer), promise: written)
        guard pendingBytes > 0 else { return }
        handler?.writing(pendingBytes, now: MonotonicClock.now())
        // When the other side's time to read them is up, was not known when this turn ended.
        needsTurn()
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
}
