// The snapshots that this node hands over to others. One whose sending broke off is kept for a
// while, so that the other node goes on where it was.
//
// `PeerCalls`, which reads the pages, asks it. An open snapshot costs disk space, so there are few.
// An unread snapshot gives way to a new one. Each is closed once it has not been read for as long
// as a stream waits for credit. A node takes one state at a time, so each has one snapshot here.

import CumulusModel
import CumulusReplication
import CumulusStorage
import CumulusWire
import Synchronization

/// One of the few places for a snapshot that is handed over.
final class StateSlot: Sendable {
    static let limit = 2
    private let meter: NodeMeter

    fileprivate init(_ meter: NodeMeter) throws {
        self.meter = meter
        meter.statesHandedOver.add(1)
        guard meter.statesHandedOver.value <= StateSlot.limit else {
            throw ServiceError.overloaded(
                "this node hands its state to \(StateSlot.limit) others already"
            )
        }
    }

    // Also called if `init` throws, since all properties are set by then.
    deinit { meter.statesHandedOver.add(-1) }
}

/// A stream that sends a snapshot; the snapshot is in use as long as the stream's pages hold this.
final class StateStream: Sendable {
    private let slot: StateSlot
    /// The name of the snapshot; empty if it is not kept for a peer.
    let snapshot: Bytes

    init(_ slot: StateSlot, snapshot: Bytes = []) {
        self.slot = slot
        self.snapshot = snapshot
    }
}

final class HandedStates: Sendable {
    private struct Kept {
        let peer: Bytes
        let scope: ScopeID
        /// The state from its beginning.
        let outbound: OutboundState
        let slot: StateSlot
        weak var stream: StateStream?
        /// The time at which it was last read.
        var used: Instant
    }

    private let meter: NodeMeter
    /// Snapshots by name.
    private let kept = Mutex<[Bytes: Kept]>([:])

    static let nameBytes = 16

    init(_ meter: NodeMeter) {
        self.meter = meter
    }

    /// Makes room for a new snapshot; throws if others read the most that there may be.
    ///
    /// - Parameter peer: The node that takes the state; nil for a comparison. Snapshots that were
    ///   kept for the same peer are released.
    func slot(for peer: Bytes?) throws -> StateSlot {
        makeRoom(for: peer)
        return try StateSlot(meter)
    }

    private func makeRoom(for peer: Bytes?) {
        // They end outside of the lock.
        _ = kept.withLock { kept in
            var dropped = kept.filter { $0.value.peer == peer }
            let isFull = meter.statesHandedOver.value - dropped.count >= StateSlot.limit
            let idle = kept.filter { $0.value.stream == nil && $0.value.peer != peer }
            if isFull, let oldest = idle.min(by: { $0.value.used < $1.value.used }) {
                dropped[oldest.key] = oldest.value
            }
            for name in dropped.keys { kept[name] = nil }
            return dropped
        }
    }

    /// Keeps a snapshot that has not been read yet.
    func keep(
        _ outbound: OutboundState,
        _ slot: StateSlot,
        named name: Bytes,
        for peer: Bytes,
        _ scope: ScopeID,
        now: Instant
    ) -> StateStream {
        let stream = StateStream(slot, snapshot: name)
        kept.withLock {
            $0[name] = Kept(
                peer: peer,
                scope: scope,
                outbound: outbound,
                slot: slot,
                stream: stream,
                used: now
            )
        }
        return stream
    }

    /// Goes on with a snapshot from behind a position.
    func goOn(
        with name: Bytes,
        for peer: Bytes,
        _ scope: ScopeID,
        from position: StatePosition,
        now: Instant
    ) throws(ServiceError) -> (outbound: OutboundState, stream: StateStream) {
        let found = kept.withLock { kept -> (OutboundState, StateStream)? in
            guard let entry = kept[name], entry.peer == peer, entry.scope == scope else {
                return nil
            }
            // The stream before may not have noticed that its connection is gone.
            let stream = StateStream(entry.slot, snapshot: name)
            kept[name]?.stream = stream
            kept[name]?.used = now
            return (entry.outbound, stream)
        }
        guard let (outbound, stream) = found else {
            throw ServiceError(
                .changeTokenExpired,
                "this node does not keep that snapshot any more; take its state from the beginning"
            )
        }
        guard let rest = outbound.rest(behind: position) else {
            throw ServiceError(
                .invalidArguments,
                .protocolError,
                "that position is not in the snapshot"
            )
        }
        return (rest, stream)
    }

    /// A page of it is read.
    func use(_ name: Bytes, now: Instant) {
        kept.withLock { $0[name]?.used = now }
    }

    /// Closes snapshots that have not been read since then.
    func drop(unusedSince limit: Instant) {
        _ = kept.withLock { kept in
            let dropped = kept.filter { $0.value.used <= limit }
            for name in dropped.keys { kept[name] = nil }
            return dropped
        }
    }
}
