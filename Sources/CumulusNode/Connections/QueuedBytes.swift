// Bytes of a request that a thread of the store has yet to be done with.
//
// They count for the connection that brought them, and for the node, until then: also when the call
// has ended meanwhile, or the connection. Made by `ClientSession`, held by what is queued.

import Synchronization

final class QueuedBytes: Sendable {
    private let byteCount: Atomic<Int>
    private let room: ConnectionRoom

    init(_ byteCount: Int, in room: ConnectionRoom) {
        self.byteCount = Atomic(byteCount)
        self.room = room
        room.addQueued(byteCount)
    }

    /// They are not held any more.
    func release() {
        room.addQueued(-byteCount.exchange(0, ordering: .relaxed))
    }

    // Where it was let go of without having been looked at.
    deinit { release() }
}
