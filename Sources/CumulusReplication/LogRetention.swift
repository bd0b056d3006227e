// How much of the logs stays: what every member has goes soon, what one lacks is kept for it,
// within a time and a size.
//
// Made once for all scopes by whoever forgets, with the engine's word on sizes. Dropping what a
// member lacks costs it a state sync and loses nothing, so a member that is gone can't fill the
// disks of the others.

package import CumulusModel
package import CumulusStorage

package struct LogRetention: Sendable {
    /// What is younger stays in any case: milliseconds since 1970 UTC, as all times here.
    package let kept: Int64
    /// What is older goes though a member lacks it.
    package private(set) var oldest: Int64
    /// So much of the logs doesn't fit that younger entries go than usual.
    package private(set) var isFull = false

    /// - Parameters:
    ///   - kept: How long entries stay in any case, in milliseconds.
    ///   - longest: How long they stay for a member that lacks them.
    package init(kept: Int64, longest: Int64, now: Int64) {
        self.kept = now - kept
        oldest = min(now - longest, self.kept)
    }

    /// Halves the time until what stays of all scopes fits.
    ///
    /// - Parameters:
    ///   - limit: Bytes of disk.
    ///   - size: About how many of them a range of the log takes.
    package mutating func fit(
        _ scopes: [ScopeNumber],
        limit: UInt64,
        _ reader: ReadTransaction,
        size: (KeyRange) throws(EngineError) -> UInt64
    ) throws(EngineError) {
        while oldest < kept {
            var sum: UInt64 = 0
            for scope in scopes {
                sum += try self.size(of: scope, reader, size)
            }
            if sum <= limit { return }
            isFull = true
            oldest = kept - (kept - oldest) / 2
        }
    }

    /// Bytes of what stays, at most.
    private func size(
        of scope: ScopeNumber,
        _ reader: ReadTransaction,
        _ size: (KeyRange) throws(EngineError) -> UInt64
    ) throws(EngineError) -> UInt64 {
        let dropped = try Collection.made(before: oldest, of: scope, reader)
        var sum: UInt64 = 0
        for last in try reader.vector(of: scope).dots where dropped[last.incarnation] < last.seq {
            let rest = dropped[last.incarnation] + 1...last.seq
            sum += try size(.commits(scope, last.incarnation, rest))
        }
        return sum
    }

    /// How far the log of a scope may be dropped.
    ///
    /// - Parameter stable: What every member has.
    package func end(
        of scope: ScopeNumber,
        stable: VersionVector,
        _ reader: ReadTransaction
    ) throws(EngineError) -> VersionVector {
        var end = try Collection.made(before: kept, of: scope, reader).minimum(stable)
        end.merge(try Collection.made(before: oldest, of: scope, reader))
        return end
    }
}
