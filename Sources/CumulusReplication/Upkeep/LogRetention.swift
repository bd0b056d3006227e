// How much of the logs stays: what every member has goes soon, what one lacks is kept for it,
// within a time and a size.
//
// Made once for all scopes by the collector, with the engine's word on sizes. Dropping what a
// member lacks costs it a state sync and loses nothing, so a member that is gone can't fill the
// disks of the others. Dropping what answers retries costs a caller whose node died an answer; so
// it goes last, and its youngest minute stays.

package import CumulusModel
package import CumulusStorage

package struct LogRetention: Sendable {
    /// Younger entries stay for retries: milliseconds since 1970 UTC, as all times here.
    package private(set) var kept: Int64
    /// Younger entries stay in any case.
    private let least: Int64
    /// Older entries are dropped even if a member lacks them.
    package private(set) var oldest: Int64
    /// Entries go earlier than usual, for want of room.
    package private(set) var isShort = false

    /// A window that is so little longer than the next is not worth another look at the logs.
    private static let leastDifference: Int64 = 1_000
    /// How long entries stay in any case, in milliseconds: most retries follow within a minute.
    private static let leastKept: Int64 = 60_000

    /// - Parameters:
    ///   - kept: How long entries stay for retries, in milliseconds.
    ///   - longest: How long they stay for a member that lacks them.
    package init(kept: Int64, longest: Int64, now: Int64) {
        self.kept = now - kept
        least = now - min(kept, LogRetention.leastKept)
        oldest = min(now - longest, self.kept)
    }

    /// Whether less could stay.
    package var canShrink: Bool { oldest < least }

    /// Halves the age up to which entries stay for a missing member, and then the age for retries.
    package mutating func halve() {
        isShort = true
        if oldest < kept {
            oldest = LogRetention.halfway(from: oldest, to: kept)
        } else {
            kept = LogRetention.halfway(from: kept, to: least)
            oldest = kept
        }
    }

    private static func halfway(from time: Int64, to end: Int64) -> Int64 {
        let rest = end - time
        return rest > leastDifference ? end - rest / 2 : end
    }

    /// Nothing stays for a member that lacks it but what answers retries.
    package mutating func keepLeast() {
        isShort = true
        oldest = kept
    }

    /// Bytes of what stays of a scope's log, at most.
    ///
    /// - Parameter size: About how many bytes of disk a range of the log takes.
    package func size(
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
    /// - Parameter stable: The vector that every member has reached.
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
