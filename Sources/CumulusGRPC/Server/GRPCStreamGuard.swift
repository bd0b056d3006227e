// Stands before gRPC on each stream: lets a message pass when there is room for it, counts answers
// until they are on the wire, and ends a stream that doesn't get on.
//
// Added by `GRPCListener` to the channel of each HTTP/2 stream. It names the stream to `GRPCDoor`
// by a field of the request's head. What it doesn't read stays with the caller, by HTTP/2's
// windows. hot: once per frame.

import CumulusModel
import GRPCCore
import NIOCore
import NIOHPACK
import NIOHTTP2

final class GRPCStreamGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    // Confined to the loop of its channel.

    /// The number of the stream, from a call's metadata; 0 without one.
    static func number(in fields: Metadata) -> UInt64 {
        let named = fields[stringValues: field].first { _ in true }
        return named.flatMap { UInt64($0) } ?? 0
    }

    /// The field of the head with the number of the stream; a caller's own is dropped.
    static let field = "cumulus-stream"
    /// What a caller may send on a stream before it is read.
    static let windowBytes = 64 << 10
    /// Messages pass while no more of answers is unsent.
    private static let mostUnsent = 64 << 10
    /// A message of the largest size, and one that follows it.
    private static let mostPromised = 8 << 20
    /// A stream that waits for room asks again so soon.
    private static let pause = TimeAmount.milliseconds(50)
    /// Answers go to HTTP/2 in parts: each that leaves is progress, however slow the caller.
    private static let partBytes = 16 << 10

    private let connection: GRPCConnection
    private let channel: any Channel
    private let room: GRPCRoom
    private let mostBytes: Int
    private var number: UInt64 = 0
    private var address: Bytes { connection.address }
    private var messages = GRPCMessageSizes()
    /// Bytes of messages that have room, and of those that have none yet.
    private var promised = 0
    private var unpromised = 0
    /// Bytes that are in memory and that the node has not taken over.
    private var held = 0
    /// Frames that came before there was room for what they begin.
    private var waiting: [HTTP2Frame.FramePayload] = []
    /// Whether gRPC wants to read, and may not yet.
    private var wantsMore = false
    /// Whether it looks soon if there is room.
    private var isWaiting = false
    private var hasHead = false
    /// Ends the stream unless the message that has begun gets on.
    private var timer: Scheduled<Void>?
    /// When the request must be whole; nil: when it likes, or it is.
    private var requestEnd: NIODeadline?
    /// Bytes of answers that are not on the wire, and when the last of them left.
    private var unsent = 0
    private var lastProgress = NIODeadline.now()
    private var phase = Phase.requesting
    private var isRequestWhole = false
    private var isOver = false

    private enum Phase {
        case requesting
        /// The head of an answer was written.
        case answering
        /// The end of an answer was written: by gRPC, or here in its place.
        case ending
        case refused
        /// It is on the wire.
        case answered

        /// Whether what comes is still read.
        var isReading: Bool { self == .requesting || self == .answering }
    }

    /// - Parameter mostBytes: Bytes of the largest message that a caller may send.
    init(on connection: GRPCConnection, _ channel: any Channel, mostBytes: Int) {
        self.connection = connection
        self.channel = channel
        self.mostBytes = mostBytes
        room = connection.room
    }

    func handlerAdded(context: ChannelHandlerContext) {
        connection.enter(self)
        let taker = Taker(
            loop: context.eventLoop,
            stream: NIOLoopBound(self, eventLoop: context.eventLoop)
        )
        number = room.enter(taker, from: address, connection.restraint)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        isOver = true
        timer?.cancel()
        waiting = []
        connection.leave(self)
        if isRequestWhole, phase != .answered { room.owe(-1) }
        room.leave(number)
        keep(-promised - unsent)
        room.release(promised, of: address)
        room.sent(unsent, of: address)
        room.hold(-held, of: address)
        if isWaiting { room.hold(-GRPCStreamGuard.windowBytes, of: address) }
    }

    private func keep(_ byteCount: Int) { connection.kept += byteCount }

    // MARK: What comes

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame {
        case .headers(var head):
            if head.endStream { requestIsWhole() }
            guard !hasHead else { return pass(frame, context) }
            hasHead = true
            begin(head.headers)
            head.headers.remove(name: GRPCStreamGuard.field)
            head.headers.add(name: GRPCStreamGuard.field, value: "\(number)")
            context.fireChannelRead(wrapInboundOut(.headers(head)))
        case .data(let part):
            if part.endStream { requestIsWhole() }
            // Nobody reads what comes behind the answer.
            guard phase.isReading else { return }
            if case .byteBuffer(let buffer) = part.data { count(buffer, context) }
            pass(frame, context)
        default: context.fireChannelRead(data)
        }
    }

    /// A call of one message has to have come after some time, unless its caller names one.
    private func begin(_ head: HPACKHeaders) {
        let path = head.first(name: ":path") ?? ""
        guard !GRPCListener.streamingPaths.contains(path), !isRequestWhole,
            !head.contains(name: GRPCHead.Key.timeout)
        else { return }
        requestEnd = .now() + .milliseconds(room.limits.callMilliseconds)
    }

    private func requestIsWhole() {
        guard !isRequestWhole else { return }
        isRequestWhole = true
        requestEnd = nil
        if phase != .answered { room.owe(1) }
    }

    private func count(_ buffer: ByteBuffer, _ context: ChannelHandlerContext) {
        held += buffer.readableBytes
        room.hold(buffer.readableBytes, of: address)
        unpromised += messages.announced(in: buffer.readableBytesView)
        guard messages.largest <= mostBytes else {
            return refuse(.resourceExhausted, "a message has more than \(mostBytes) bytes", context)
        }
        if !messages.isInside {
            timer?.cancel()
            timer = nil
        } else if timer == nil {
            startTimer()
        }
    }

    private func promise() {
        guard unpromised > 0, connection.allows(unpromised),
            room.promise(unpromised, to: address)
        else { return }
        keep(unpromised)
        promised += unpromised
        unpromised = 0
    }

    private var mayPass: Bool {
        promise()
        return unpromised == 0 && unsent <= GRPCStreamGuard.mostUnsent
    }

    private func pass(_ frame: HTTP2Frame.FramePayload, _ context: ChannelHandlerContext) {
        guard phase.isReading else { return }
        guard waiting.isEmpty, mayPass else {
            waiting.append(frame)
            return wait(context)
        }
        context.fireChannelRead(wrapInboundOut(frame))
    }

    /// The message has so long from its first byte to its last, or from when the node took one
    /// before it.
    private func startTimer() {
        let patience = TimeAmount.milliseconds(room.limits.frameMilliseconds)
        timer = channel.eventLoop.scheduleTask(in: patience) { [channel] in
            channel.close(promise: nil)
        }
    }

    fileprivate func taken(_ byteCount: Int) {
        guard !isOver else { return }
        let whole = byteCount + GRPCMessageSizes.prefixBytes
        let gone = min(held, whole)
        held -= gone
        room.hold(-gone, of: address)
        let late = min(unpromised, whole)
        unpromised -= late
        let back = min(promised, whole - late)
        promised -= back
        keep(-back)
        room.release(back, of: address)
        guard let timer else { return }
        timer.cancel()
        startTimer()
    }

    // MARK: What may come

    /// gRPC wants to read on.
    func read(context: ChannelHandlerContext) {
        // gRPC may hold the message that comes, and a few that are here.
        // Behind the request nothing more comes.
        let isFree = !hasHead || isRequestWhole && waiting.isEmpty
        let mayRead =
            isFree || waiting.isEmpty && mayPass && promised <= GRPCStreamGuard.mostPromised
        wantsMore = !mayRead
        guard mayRead else { return wait(context) }
        context.read()
    }

    private func wait(_ context: ChannelHandlerContext) {
        guard !isWaiting else { return }
        isWaiting = true
        room.hold(GRPCStreamGuard.windowBytes, of: address)
        context.eventLoop.assumeIsolated().scheduleTask(in: GRPCStreamGuard.pause) {
            self.tryAgain(context)
        }
    }

    private func tryAgain(_ context: ChannelHandlerContext) {
        guard !isOver else { return }
        isWaiting = false
        room.hold(-GRPCStreamGuard.windowBytes, of: address)
        guard phase.isReading else { return }
        guard mayPass else { return wait(context) }
        let frames = waiting
        waiting = []
        for frame in frames { context.fireChannelRead(wrapInboundOut(frame)) }
        if !frames.isEmpty { context.fireChannelReadComplete() }
        if wantsMore { read(context: context) }
    }

    // MARK: What goes

    func write(
        context: ChannelHandlerContext,
        data: NIOAny,
        promise: EventLoopPromise<Void>?
    ) {
        guard phase == .requesting || phase == .answering else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        switch unwrapOutboundIn(data) {
        case .headers(let head) where head.endStream:
            phase = .ending
            end(with: head, context, promise)
        case .headers:
            phase = .answering
            context.write(data, promise: promise)
        case .data(let part):
            guard case .byteBuffer(let buffer) = part.data else {
                return context.write(data, promise: promise)
            }
            send(buffer, context, promise)
        default: context.write(data, promise: promise)
        }
    }

    private func send(
        _ bytes: ByteBuffer,
        _ context: ChannelHandlerContext,
        _ promise: EventLoopPromise<Void>?
    ) {
        var bytes = bytes
        if unsent == 0 { lastProgress = .now() }
        unsent += bytes.readableBytes
        keep(bytes.readableBytes)
        room.wrote(bytes.readableBytes, of: number, from: address)
        while bytes.readableBytes > GRPCStreamGuard.partBytes,
            let part = bytes.readSlice(length: GRPCStreamGuard.partBytes)
        {
            send(part: part, context, nil)
        }
        send(part: bytes, context, promise)
    }

    private func send(
        part: ByteBuffer,
        _ context: ChannelHandlerContext,
        _ promise: EventLoopPromise<Void>?
    ) {
        let promise = promise ?? context.eventLoop.makePromise()
        let byteCount = part.readableBytes
        promise.futureResult.assumeIsolated().whenComplete { _ in self.sent(byteCount) }
        let frame = HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(part)))
        context.write(wrapOutboundOut(frame), promise: promise)
    }

    /// Bytes of an answer are on the wire, or are dropped.
    private func sent(_ byteCount: Int) {
        guard !isOver else { return }
        lastProgress = .now()
        unsent -= byteCount
        keep(-byteCount)
        room.sent(byteCount, of: address)
    }

    /// Writes the end of an answer.
    private func end(
        with head: HTTP2Frame.FramePayload.Headers,
        _ context: ChannelHandlerContext,
        _ promise: EventLoopPromise<Void>?
    ) {
        let promise = promise ?? context.eventLoop.makePromise()
        promise.futureResult.assumeIsolated().whenComplete { _ in self.answered(context) }
        context.write(wrapOutboundOut(.headers(head)), promise: promise)
    }

    /// The end of an answer is on the wire: a caller that goes on with its request may stop.
    private func answered(_ context: ChannelHandlerContext) {
        guard !isOver, phase != .answered else { return }
        if isRequestWhole { room.owe(-1) }
        phase = .answered
        waiting = []
        timer?.cancel()
        if isRequestWhole { return }
        context.writeAndFlush(wrapOutboundOut(.rstStream(.noError)), promise: nil)
    }

    /// Answers in gRPC's place, which would only reset the stream.
    private func refuse(
        _ code: GRPCStatusNumber,
        _ words: String,
        _ context: ChannelHandlerContext
    ) {
        let isFirst = phase == .requesting
        phase = .refused
        waiting = []
        timer?.cancel()
        var head = HPACKHeaders()
        if isFirst {
            head.add(name: ":status", value: "200")
            head.add(name: "content-type", value: "application/grpc")
        }
        head.add(name: "grpc-status", value: "\(code.rawValue)")
        head.add(name: "grpc-message", value: words)
        end(with: .init(headers: head, endStream: true), context, nil)
        context.flush()
    }

    /// What gRPC calls the reasons for which a stream is refused here.
    private enum GRPCStatusNumber: Int {
        case deadlineExceeded = 4
        case resourceExhausted = 8
    }

    // MARK: Time

    /// Ends the stream if it doesn't get on.
    ///
    /// - Parameter patience: How long an answer may wait without progress.
    func judge(_ now: NIODeadline, _ patience: TimeAmount) {
        if unsent > 0, now - lastProgress > patience { return channel.close(promise: nil) }
        guard let requestEnd, now > requestEnd, phase.isReading else { return }
        self.requestEnd = nil
        let pipeline = channel.pipeline.syncOperations
        guard let context = try? pipeline.context(handler: self) else { return }
        let seconds = room.limits.callMilliseconds / 1_000
        refuse(.deadlineExceeded, "the request was not whole after \(seconds) seconds", context)
    }

    private final class Taker: GRPCStreamCount {
        private let loop: any EventLoop
        private let stream: NIOLoopBound<GRPCStreamGuard>

        init(loop: any EventLoop, stream: NIOLoopBound<GRPCStreamGuard>) {
            (self.loop, self.stream) = (loop, stream)
        }

        func taken(_ byteCount: Int) {
            loop.execute { [stream] in stream.value.taken(byteCount) }
        }
    }
}
