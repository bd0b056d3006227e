// The users whose profiles changed in this run of the process, in the order in which that happened.
//
// `WriteTransaction.join` adds to it, also in a batch that is not written in the end, so that it
// may name users whose profiles are as they were. Read by `UserNames` of CumulusOperations, which
// follows it instead of reading all profiles again. It never names a user twice.

package import CumulusModel
import Synchronization

package final class ChangedProfiles: Sendable {
    private struct State {
        var known: Set<Bytes> = []
        var users: [Bytes] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// Adds a user; called before the new profile can be read.
    func add(_ userID: Bytes) {
        state.withLock { state in
            if state.known.insert(userID).inserted { state.users.append(userID) }
        }
    }

    /// The ids of users that were added behind the first `count`.
    package func users(after count: Int) -> ArraySlice<Bytes> {
        state.withLock { $0.users.dropFirst(count) }
    }
}
