// One connection of gRPC, nearest to its socket: whether it may come and stay, and what all its
// calls together hold.
//
// Put into its channel by `GRPCSockets`; `GRPCStreamGuard` enters each stream. It closes a
// connection whose caller says nothing, takes nothing, or has no call for long: gRPC's own timers
// wait for an answer to a ping before they close, and a caller that doesn't answer would stay.

import CumulusModel
import CumulusNode
import CumulusTransport
import NIOCore

final class GRPCConnection: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    // Confined to the loop of its channel.

    /// A connection that waits for room looks again so soon.
    private static let pause = TimeAmount.milliseconds(50)

    let room: GRPCRoom
    /// What `CallerNetwork` leaves of the other end's address.
    private(set) var address: Bytes = []
    /// What holds up a caller that ignores when to come again.
    let restraint = SharedRestraint()
    /// Bytes of requests that have room, and of answers that are not on the wire.
    var kept = 0
    private let crowd: GRPCCrowd
    private let bounds: GRPCListener.Bounds
    private var isIn = false
    private var isWaiting = false
    private var streams: [ObjectIdentifier: GRPCStreamGuard] = [:]
    private var timer: Scheduled<Void>?
    private var lastByte = NIODeadline.now()
    /// When its last stream ended.
    private var idleSince = NIODeadline.now()
    /// All bytes that were given to the socket, and how many of them it had taken last.
    private var written = 0
    private var sent = 0
    private var lastProgress = NIODeadline.now()

    init(_ crowd: GRPCCrowd, _ room: GRPCRoom) {
        self.crowd = crowd
        self.room = room
        bounds = crowd.bounds
    }

    // MARK: Coming and going

    func channelActive(context: ChannelHandlerContext) {
        address = CallerNetwork.of(context.remoteAddress?.addressBytes ?? [])
        guard crowd.enter(context.channel, from: address) else {
            return context.close(promise: nil)
        }
        isIn = true
        lookAgain(context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        if isIn { crowd.leave(context.channel, from: address) }
        isIn = false
        timer?.cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
    }

    // MARK: Bytes

    func read(context: ChannelHandlerContext) {
        guard isIn, !room.isOpen(to: address) else { return context.read() }
        if isWaiting { return }
        isWaiting = true
        context.eventLoop.assumeIsolated().scheduleTask(in: GRPCConnection.pause) {
            self.isWaiting = false
            if self.isIn { self.read(context: context) }
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        lastByte = .now()
        context.fireChannelRead(data)
    }

    func write(
        context: ChannelHandlerContext,
        data: NIOAny,
        promise: EventLoopPromise<Void>?
    ) {
        written += unwrapOutboundIn(data).readableBytes
        context.write(data, promise: promise)
    }

    // MARK: Streams

    func enter(_ stream: GRPCStreamGuard) {
        streams[ObjectIdentifier(stream)] = stream
    }

    func leave(_ stream: GRPCStreamGuard) {
        streams[ObjectIdentifier(stream)] = nil
        if streams.isEmpty { idleSince = .now() }
    }

    /// Whether its calls may keep so many bytes more; one always may.
    func allows(_ byteCount: Int) -> Bool {
        kept == 0 || kept + byteCount <= room.limits.unansweredBytes
    }

    // MARK: Time

    private func lookAgain(_ context: ChannelHandlerContext) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(lookTime)) {
            self.look(context)
        }
    }

    /// A second, if the bounds are the usual ones.
    private var lookTime: Int64 {
        let shortest = min(
            bounds.idleMilliseconds,
            bounds.silenceMilliseconds,
            room.limits.crowdedWriteMilliseconds
        )
        return max(20, shortest / 5)
    }

    private func look(_ context: ChannelHandlerContext) {
        guard isIn else { return }
        let now = NIODeadline.now()
        let patience = patience
        guard !isLost(now), !isStalled(context, now, patience) else {
            return context.close(promise: nil)
        }
        for stream in Array(streams.values) { stream.judge(now, patience) }
        lookAgain(context)
    }

    /// How long a write may make no progress; less while others need the room.
    private var patience: TimeAmount {
        let usual = room.limits.stalledWriteMilliseconds
        return .milliseconds(
            room.isCrowded ? min(room.limits.crowdedWriteMilliseconds, usual) : usual
        )
    }

    /// Whether nothing is heard of the caller, or nothing comes of its connection.
    ///
    /// A silent caller was asked by a ping meanwhile, and had as long to answer. A caller without a
    /// call was told to go.
    private func isLost(_ now: NIODeadline) -> Bool {
        if now - lastByte > .milliseconds(2 * bounds.silenceMilliseconds) { return true }
        let rest = bounds.idleMilliseconds + bounds.graceMilliseconds
        return streams.isEmpty && now - idleSince > .milliseconds(rest)
    }

    private func isStalled(
        _ context: ChannelHandlerContext,
        _ now: NIODeadline,
        _ patience: TimeAmount
    ) -> Bool {
        let options = context.channel.syncOptions
        let waiting = (try? options?.getOption(.bufferedWritableBytes)) ?? 0
        if waiting == 0 || written - waiting > sent {
            sent = written - waiting
            lastProgress = now
        }
        return now - lastProgress > patience
    }
}
