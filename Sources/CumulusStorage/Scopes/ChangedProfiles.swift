// The users whose profiles changed in this run of the process, in order.
//
// `ScopeRegisters.join` adds to it, even in a batch that is not written in the end, so it may
// name users whose profiles did not change. `UserNames` of CumulusOperations follows it instead of
// reading all profiles again. It names a user once.

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

    /// The ids of users that were added after the first `count`.
    package func users(after count: Int) -> ArraySlice<Bytes> {
        state.withLock { $0.users.dropFirst(count) }
    }
}
