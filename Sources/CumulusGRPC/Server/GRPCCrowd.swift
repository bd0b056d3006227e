// The connections of the gRPC listener, counted together and by the networks that they come from.
//
// `GRPCConnection` enters itself and leaves. `GRPCListener` says when the node is about to go:
// callers are told to go elsewhere, then connections are closed.

import CumulusModel
import NIOCore
import NIOHTTP2
import Synchronization

final class GRPCCrowd: Sendable {
    private struct State {
        var listener: (any Channel)?
        var channels: [ObjectIdentifier: any Channel] = [:]
        var ofOne: [Bytes: Int] = [:]
        var isLeaving = false
    }

    private let state = Mutex(State())
    let bounds: GRPCListener.Bounds

    init(_ bounds: GRPCListener.Bounds) {
        self.bounds = bounds
    }

    /// Whether no connection is taken any more.
    var isLeaving: Bool { state.withLock(\.isLeaving) }

    /// Enters the socket that accepts connections.
    func listen(_ channel: any Channel) {
        state.withLock { $0.listener = channel }
    }

    /// Takes a connection in; returns false if there are too many.
    ///
    /// - Parameter address: As `CallerNetwork` has it.
    func enter(_ channel: any Channel, from address: Bytes) -> Bool {
        state.withLock { state in
            let own = state.ofOne[address, default: 0]
            guard !state.isLeaving, state.channels.count < bounds.connections,
                own < bounds.connectionsOfOne
            else { return false }
            state.channels[ObjectIdentifier(channel)] = channel
            state.ofOne[address] = own + 1
            return true
        }
    }

    func leave(_ channel: any Channel, from address: Bytes) {
        state.withLock { state in
            guard state.channels.removeValue(forKey: ObjectIdentifier(channel)) != nil else {
                return
            }
            let own = state.ofOne[address, default: 0] - 1
            state.ofOne[address] = own > 0 ? own : nil
        }
    }

    /// Accepts no more, and tells each caller to go elsewhere (GOAWAY); calls in progress go on.
    ///
    /// gRPC's own way to begin its end would cancel them: it tells their streams, too.
    func sayGoodbye() {
        let (listener, channels) = leaveNow()
        listener?.close(promise: nil)
        for channel in channels {
            channel.eventLoop.execute {
                let pipeline = channel.pipeline.syncOperations
                let context = try? pipeline.context(handlerType: NIOHTTP2Handler.self)
                context?.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
            }
        }
    }

    /// Closes all connections.
    ///
    /// gRPC alone would wait for a caller that doesn't take its answer.
    func end() {
        let (listener, channels) = leaveNow()
        listener?.close(promise: nil)
        for channel in channels { channel.close(promise: nil) }
    }

    private func leaveNow() -> (listener: (any Channel)?, channels: [any Channel]) {
        state.withLock { state in
            state.isLeaving = true
            return (state.listener.take(), Array(state.channels.values))
        }
    }
}
