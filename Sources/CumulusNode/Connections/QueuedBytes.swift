// Bytes of a request that a thread of the store has yet to be done with.
//
// They count for the connection that brought them, and for the node, until then: also when the call
// has ended meanwhile, or the connection. Made by `ClientSession`, held by what is queued.

import Synchronization

final class QueuedBytes: Sendable {
    private let byteCount: Atomic<Int>
    private let session: ClientSession

    init(_ byteCount: Int, of session: ClientSession) {
        self.byteCount = Atomic(byteCount)
        self.session = session
        session.noteQueued(byteCount)
    }

    /// They are not held any more.
    func release() {
        session.noteQueued(-byteCount.exchange(0, ordering: .relaxed))
    }

    // Where it was let go of without having been looked at.
    deinit { release() }
}
