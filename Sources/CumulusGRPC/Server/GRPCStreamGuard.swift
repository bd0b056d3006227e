// Stands before gRPC on each stream: reads on when there is room for the message that comes, and
// ends a stream whose message doesn't get on.
//
// Added by `GRPCListener` to the channel of each HTTP/2 stream. It names the stream to `GRPCDoor`
// by a field of the request's head. What it doesn't read stays with the caller, by HTTP/2's
// windows.

import CumulusModel
import NIOCore
import NIOHPACK
import NIOHTTP2

final class GRPCStreamGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    /// The field of the head with the number of the stream; a caller's own is dropped.
    static let field = "cumulus-stream"
    /// What a caller may send on a stream before it is read.
    static let windowBytes = 64 << 10
    /// A stream that waits for room asks again so soon.
    private static let pause = TimeAmount.milliseconds(50)

    private let room: GRPCRoom
    private let patience: TimeAmount
    private let address: Bytes
    private var number: UInt64 = 0
    private var messages = GRPCMessageSizes()
    /// Bytes of messages that have room, and of those that have none yet.
    private var promised = 0
    private var unpromised = 0
    /// Bytes that are in memory and that the node has not taken over.
    private var held = 0
    private var hasHead = false
    /// Whether gRPC wants to read, and may not yet.
    private var isWaiting = false
    private var isOver = false
    /// Ends the stream unless the message that has begun gets on.
    private var timer: Scheduled<Void>?

    /// - Parameters:
    ///   - address: The address of the caller.
    ///   - patience: The longest time from the first byte of a message to its last, or to when the
    ///     node took one before it, in milliseconds.
    init(_ room: GRPCRoom, from address: Bytes, patience: Int64) {
        self.room = room
        self.address = address
        self.patience = .milliseconds(patience)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        number = room.enter(Taker(loop: context.eventLoop, stream: bound))
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        isOver = true
        timer?.cancel()
        room.leave(number)
        room.release(promised, of: address)
        room.hold(-held, of: address)
        if isWaiting { room.hold(-GRPCStreamGuard.windowBytes, of: address) }
    }

    // MARK: What comes

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .headers(var head):
            hasHead = true
            head.headers.remove(name: GRPCStreamGuard.field)
            head.headers.add(name: GRPCStreamGuard.field, value: "\(number)")
            context.fireChannelRead(wrapInboundOut(.headers(head)))
        case .data(let part):
            if case .byteBuffer(let buffer) = part.data { count(buffer, context) }
            context.fireChannelRead(data)
        default: context.fireChannelRead(data)
        }
    }

    private func count(_ buffer: ByteBuffer, _ context: ChannelHandlerContext) {
        held += buffer.readableBytes
        room.hold(buffer.readableBytes, of: address)
        unpromised += messages.announced(in: buffer.readableBytesView)
        promise()
        if !messages.isInside {
            timer?.cancel()
            timer = nil
        } else if timer == nil {
            startTimer(context)
        }
    }

    private func promise() {
        guard unpromised > 0, room.promise(unpromised, to: address) else { return }
        promised += unpromised
        unpromised = 0
    }

    private func startTimer(_ context: ChannelHandlerContext) {
        let channel = context.channel
        timer = context.eventLoop.scheduleTask(in: patience) { channel.close(promise: nil) }
    }

    fileprivate func taken(_ byteCount: Int, _ context: ChannelHandlerContext) {
        guard !isOver else { return }
        let whole = byteCount + GRPCMessageSizes.prefixBytes
        let gone = min(held, whole)
        held -= gone
        room.hold(-gone, of: address)
        let late = min(unpromised, whole)
        unpromised -= late
        let back = min(promised, whole - late)
        promised -= back
        room.release(back, of: address)
        guard let timer else { return }
        timer.cancel()
        startTimer(context)
    }

    // MARK: What may come

    /// gRPC wants to read on.
    func read(context: ChannelHandlerContext) {
        promise()
        // One message on its way, and few that are here, may be as large as gRPC allows.
        let mayRead = !hasHead || unpromised == 0 && promised <= GRPCStreamGuard.mostPromised
        guard mayRead else { return wait(context) }
        context.read()
    }

    /// A message of the largest size, and one that follows it.
    private static let mostPromised = 8 << 20

    private func wait(_ context: ChannelHandlerContext) {
        guard !isWaiting else { return }
        isWaiting = true
        room.hold(GRPCStreamGuard.windowBytes, of: address)
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: GRPCStreamGuard.pause) {
            let (stream, context) = bound.value
            stream.tryAgain(context)
        }
    }

    private func tryAgain(_ context: ChannelHandlerContext) {
        guard !isOver else { return }
        isWaiting = false
        room.hold(-GRPCStreamGuard.windowBytes, of: address)
        read(context: context)
    }

    private final class Taker: GRPCStreamCount {
        private let loop: any EventLoop
        private let stream: NIOLoopBound<(GRPCStreamGuard, ChannelHandlerContext)>

        init(
            loop: any EventLoop,
            stream: NIOLoopBound<(GRPCStreamGuard, ChannelHandlerContext)>
        ) {
            (self.loop, self.stream) = (loop, stream)
        }

        func taken(_ byteCount: Int) {
            loop.execute { [stream] in
                let (stream, context) = stream.value
                stream.taken(byteCount, context)
            }
        }
    }
}

/// The sizes of the messages of a stream, from the five bytes that gRPC puts before each.
struct GRPCMessageSizes {
    static let prefixBytes = 5

    private var prefix: Bytes = []
    /// Bytes of the message that are still to come.
    private var rest = 0

    /// Whether a message has begun and is not whole.
    var isInside: Bool { rest > 0 || !prefix.isEmpty }

    /// Reads on; returns the bytes of all messages that begin here, with what stands before them.
    mutating func announced(in bytes: some Collection<UInt8>) -> Int {
        var bytes = bytes[...]
        var sum = 0
        while !bytes.isEmpty {
            if rest > 0 {
                let here = min(rest, bytes.count)
                rest -= here
                bytes = bytes.dropFirst(here)
                continue
            }
            let missing = GRPCMessageSizes.prefixBytes - prefix.count
            prefix += bytes.prefix(missing)
            bytes = bytes.dropFirst(missing)
            guard prefix.count == GRPCMessageSizes.prefixBytes else { break }
            rest = prefix.dropFirst().reduce(0) { $0 << 8 | Int($1) }
            sum += rest + GRPCMessageSizes.prefixBytes
            prefix = []
        }
        return sum
    }
}
