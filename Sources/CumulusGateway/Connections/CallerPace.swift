// How long the other end of a connection is waited for: for a head, for a body, and for an answer
// that it takes.
//
// Put by `GuardedChannel` before HTTP on each connection, which it closes when its caller is too
// slow. `RequestWatch` tells it where a request begins and ends. The time of a body runs only while
// the node waits for it: a node that is busy is not the caller's fault.

import NIOCore

/// How slow a caller may be.
struct PaceBounds: Sendable {
    /// The longest time from the first byte of a head to its last.
    var headMilliseconds: Int64 = 10_000
    /// The longest silence in a body.
    var bodyMilliseconds: Int64 = 20_000
    /// The longest time in which the caller takes no byte of an answer.
    var answerMilliseconds: Int64 = 30_000
    /// The lowest average rate of a body, and of an answer, over a longer time.
    var bytesPerSecond = 1_024
}

/// The time that a caller has left: it is spent by waiting, and comes back with bytes.
struct Pace: Equatable, Sendable {
    private let most: Int64
    private let bytesPerSecond: Int64
    /// The time left in microseconds, so that single bytes count, too.
    private var left: Int64

    init(milliseconds: Int64, bytesPerSecond: Int) {
        most = milliseconds * 1_000
        self.bytesPerSecond = Int64(bytesPerSecond)
        left = most
    }

    /// How long it may still be waited for, if no more bytes come.
    var microseconds: Int64 { max(0, left) }

    mutating func waited(microseconds: Int64) { left -= microseconds }

    mutating func passed(bytes: Int) {
        let gained = Int64(min(bytes, 1 << 40)) * 1_000_000 / bytesPerSecond
        left = min(most, left + gained)
    }
}

/// Told to a connection by `RequestWatch`.
enum RequestStep: Sendable {
    /// The head of a request was read.
    case head
    /// All of it was read.
    case end
}

final class CallerPace: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private enum Stage { case idle, head, body }

    private let bounds: PaceBounds
    private var stage = Stage.idle
    private var body: Pace
    /// When the node began to wait for more of a body; nil: it does not wait.
    private var waitingSince: NIODeadline?
    /// Closes the connection: of a head, or of the wait for more of a body.
    private var timer: Scheduled<Void>?
    private var answer: Pace
    private var writtenBytes = 0
    private var takenBytes = 0
    private var blockedSince: NIODeadline?
    private var answerTimer: Scheduled<Void>?

    init(_ bounds: PaceBounds) {
        self.bounds = bounds
        body = CallerPace.body(bounds)
        answer = Pace(
            milliseconds: bounds.answerMilliseconds,
            bytesPerSecond: bounds.bytesPerSecond
        )
    }

    private static func body(_ bounds: PaceBounds) -> Pace {
        Pace(milliseconds: bounds.bodyMilliseconds, bytesPerSecond: bounds.bytesPerSecond)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        answerTimer?.cancel()
    }

    private func closing(
        _ context: ChannelHandlerContext,
        afterMicroseconds time: Int64
    ) -> Scheduled<Void> {
        let channel = context.channel
        return context.eventLoop.scheduleTask(in: .microseconds(time)) {
            channel.close(promise: nil)
        }
    }

    // MARK: In

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if stage == .idle {
            stage = .head
            let time = bounds.headMilliseconds * 1_000
            timer = closing(context, afterMicroseconds: time)
        } else if stage == .body {
            stopWaiting()
            body.passed(bytes: CallerPace.unwrapInboundIn(data).readableBytes)
        }
        context.fireChannelRead(data)
    }

    /// The node is ready for more.
    func read(context: ChannelHandlerContext) {
        if stage == .body, waitingSince == nil { startWaiting(context) }
        context.read()
    }

    private func startWaiting(_ context: ChannelHandlerContext) {
        waitingSince = .now()
        timer = closing(context, afterMicroseconds: body.microseconds)
    }

    private func stopWaiting() {
        timer?.cancel()
        timer = nil
        guard let since = waitingSince else { return }
        waitingSince = nil
        body.waited(microseconds: (NIODeadline.now() - since).nanoseconds / 1_000)
    }

    func triggerUserOutboundEvent(
        context: ChannelHandlerContext,
        event: Any,
        promise: EventLoopPromise<Void>?
    ) {
        switch event {
        case let step as RequestStep:
            stopWaiting()
            stage = step == .head ? .body : .idle
            body = CallerPace.body(bounds)
            promise?.succeed()
        case is RequestCameOn:
            // A caller may have waited until the node asked for the body.
            let isWaiting = waitingSince != nil
            if stage == .body {
                stopWaiting()
                body = CallerPace.body(bounds)
            }
            if isWaiting { startWaiting(context) }
            context.triggerUserOutboundEvent(event, promise: promise)
        default:
            context.triggerUserOutboundEvent(event, promise: promise)
        }
    }

    // MARK: Out

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        writtenBytes += CallerPace.unwrapOutboundIn(data).readableBytes
        context.write(data, promise: promise)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            judgeAnswer(context)
            answerTimer?.cancel()
            (answerTimer, blockedSince) = (nil, nil)
        } else if blockedSince == nil {
            judgeAnswer(context)
            blockedSince = .now()
            waitForTaking(context)
        }
        context.fireChannelWritabilityChanged()
    }

    private func waitForTaking(_ context: ChannelHandlerContext) {
        let pace = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let time = answer.microseconds
        answerTimer = context.eventLoop.scheduleTask(in: .microseconds(time)) {
            let (pace, context) = pace.value
            pace.judgeAnswer(context)
            if pace.answer.microseconds == 0 { return context.channel.close(promise: nil) }
            pace.blockedSince = .now()
            pace.waitForTaking(context)
        }
    }

    /// Counts what the caller took, and how long it was waited for.
    private func judgeAnswer(_ context: ChannelHandlerContext) {
        if let since = blockedSince {
            answer.waited(microseconds: (NIODeadline.now() - since).nanoseconds / 1_000)
        }
        let options = context.channel.syncOptions
        let buffered = (try? options?.getOption(.bufferedWritableBytes)) ?? 0
        let taken = max(takenBytes, writtenBytes - buffered)
        answer.passed(bytes: taken - takenBytes)
        takenBytes = taken
    }
}
