// A commit that no node here made, for tests of what becomes of it.

import CumulusModel
package import CumulusStorage

extension Commit {
    /// The first commit of another incarnation, 42.
    package static func foreign(
        _ operation: Operation,
        milliseconds: Int64,
        zone: Zone? = nil
    ) -> Commit {
        Commit(
            stamp: Stamp(HybridTime(milliseconds: milliseconds), Dot(Incarnation(42), 1)),
            dep: [],
            previousHash: Commit.noHash,
            requestID: [],
            user: "",
            device: [],
            isGuarded: false,
            zone: zone,
            operations: [operation]
        )
    }
}
