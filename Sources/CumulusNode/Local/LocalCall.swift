// One call of a caller in this process, as its side of the connection keeps it.
//
// `LocalConnection` makes it, and ends it with the answer or with an error.

import CumulusModel

extension LocalConnection {
    /// One call, from its first frame to its last; a call by values has no messages.
    struct LocalCall {
        var messages: [Bytes] = []
        /// Messages behind its first one that wait for credit; nil means its first is its last.
        var unsent: ArraySlice<Bytes>?
        /// Its caller sends messages behind the first one as it has them.
        var isOpenEnded = false
        /// Such a message, until the node has room for it, and who is told then.
        var waiting: (message: Bytes, taken: () -> Void)?
        /// Bytes of them that the node has room for.
        var credit = 0
        /// Takes the messages of the answer as they come; nil means they are kept for its end.
        var stream: LocalStream?
        /// Whether it waits until the node has read what its caller has seen.
        var isCausal = false
        let end: @Sendable (Result<[Bytes], ServiceError>) -> Void
    }
}
