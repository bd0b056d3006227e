// The bytes that one connection holds, and its part of what all connections of the node may hold.
//
// Owned by `CallerConnection`, which says on its loop what it holds. Reader threads ask for room
// and announce what they send, so the counters are atomic. When all connections together hold too
// much, those go on that hold less than their part: callers that read nothing hold up only
// themselves.
// hot: several steps per call.

import CumulusModel
import Synchronization

final class ConnectionRoom: Sendable {
    private let meter: NodeMeter
    private let limits: Limits
    /// Whether a door of this process opened the connection, for one call or a few.
    private let isLocal: Bool
    /// Calls in progress, and answers that the other side has not taken yet.
    private let held = Atomic<Int>(0)
    /// Pages on their way from reader threads, and records on their way from the writer.
    private let arriving = Atomic<Int>(0)
    /// Requests that wait for threads of the store, though their calls may have ended.
    private let queued = Atomic<Int>(0)

    init(_ meter: NodeMeter, _ limits: Limits, isLocal: Bool = false) {
        self.meter = meter
        self.limits = limits
        self.isLocal = isLocal
    }

    var heldBytes: Int { held.value }
    var queuedBytes: Int { queued.value }

    /// Sets what the connection holds; on its loop.
    func hold(_ bytes: Int) {
        let growth = bytes - held.value
        guard growth != 0 else { return }
        meter.heldBytes.add(growth)
        held.add(growth)
    }

    /// Adds to what waits for threads of the store, or takes off; from any thread.
    fileprivate func addQueued(_ byteCount: Int) {
        meter.heldBytes.add(byteCount)
        queued.add(byteCount)
    }

    /// Adds to what is on its way to the loop, or takes off; from any thread.
    func addArriving(_ byteCount: Int) {
        meter.heldBytes.add(byteCount)
        arriving.add(byteCount)
    }

    /// Whether the connection may hold this many bytes in all: requests, and answers that are made.
    func allows(_ bytes: Int) -> Bool {
        allows(bytes, growth: bytes - held.value, limit: limits.nodeUnansweredBytes / 2 * 3)
    }

    /// Whether an answer of this many bytes has room; from any thread.
    ///
    /// Answers stop at half of what requests may take: callers that read nothing leave room for the
    /// requests of others.
    func hasRoom(for byteCount: Int) -> Bool {
        let bytes = held.value + arriving.value + byteCount
        return allows(bytes, growth: byteCount, limit: limits.nodeUnansweredBytes / 4 * 3)
    }

    /// Counts what an answer of the writer shows of the server's records, on its way to the loop.
    ///
    /// Returns false, and counts nothing, if there is no room for it; from any thread.
    func admit(_ byteCount: Int) -> Bool {
        guard hasRoom(for: byteCount) else { return false }
        addArriving(byteCount)
        return true
    }

    /// Whether so much of the node's bytes is held that nobody may keep any for long.
    var isCrowded: Bool { meter.heldBytes.value >= limits.nodeUnansweredBytes / 2 }

    /// - Parameter limit: Bytes of all connections up to which each may grow; beyond it each has an
    ///   equal part of half of the node's bytes.
    private func allows(_ bytes: Int, growth: Int, limit: Int) -> Bool {
        meter.heldBytes.value + growth <= limit
            || bytes + queued.value <= limits.nodeUnansweredBytes / 2
                / max(1, sharers)
    }

    /// Doors open a connection for each call, which must not shrink the parts of callers that have
    /// one for many calls.
    private var sharers: Int {
        meter.connections.value - (isLocal ? 0 : meter.localConnections.value)
    }
}

/// Bytes of a request that wait for a thread of the store.
///
/// They count for the connection that brought them, and for the node, until they are released: also
/// when the call or the connection has ended meanwhile. Held by what is queued.
final class QueuedBytes: Sendable {
    private let byteCount: Atomic<Int>
    private let room: ConnectionRoom

    init(_ byteCount: Int, in room: ConnectionRoom) {
        self.byteCount = Atomic(byteCount)
        self.room = room
        room.addQueued(byteCount)
    }

    /// The thread is done with them.
    func release() {
        room.addQueued(-byteCount.exchange(0, ordering: .relaxed))
    }

    // The queue may drop its work without running it.
    deinit { release() }
}
