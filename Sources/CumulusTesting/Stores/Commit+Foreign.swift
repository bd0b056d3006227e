// A commit that no node here made, for tests of what becomes of it.

import CumulusModel
package import CumulusStorage

extension Commit {
    /// A commit of another incarnation, 42: its first unless `seq` says another number.
    package static func foreign(
        _ operation: Operation,
        milliseconds: Int64,
        zone: Zone? = nil,
        seq: UInt64 = 1
    ) -> Commit {
        Commit(
            stamp: Stamp(HybridTime(milliseconds: milliseconds), Dot(Incarnation(42), seq)),
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
