// The part of a node's logs that is kept for a member which has not read it, and since when.
//
// Made for each member when an operator asks for the members, and when the collector warns of one,
// with the engine's word on sizes. Once the logs drop what a member lacks, it has to take the
// node's state.

package import CumulusModel
package import CumulusStorage

package struct LogBacklog: Hashable, Sendable {
    /// Commits that the member lacks.
    package private(set) var commits: UInt64 = 0
    /// Approximate bytes of disk that the logs keep for it.
    package private(set) var bytes: UInt64 = 0
    /// The time of the oldest of them in the logs, in milliseconds since 1970 UTC; nil if there is
    /// none.
    package private(set) var oldest: Int64?
    /// Whether the logs have dropped some of them: the member has to take state.
    package private(set) var isCut = false

    package init() {}

    /// The part of a scope that a member lacks.
    ///
    /// - Parameters:
    ///   - reported: The member's reported vector.
    ///   - size: About how many bytes of disk a range of the log takes.
    package init(
        of scope: ScopeNumber,
        reported: VersionVector,
        _ reader: ReadTransaction,
        _ size: (KeyRange) throws(EngineError) -> UInt64
    ) throws(EngineError) {
        let floors = try reader.logFloors(of: scope)
        for last in try reader.vector(of: scope).dots where !reported.covers(last) {
            let (run, known) = (last.incarnation, reported[last.incarnation])
            commits += last.seq - known
            if known < floors[run] { isCut = true }
            let first = max(known, floors[run]) + 1
            guard first <= last.seq else { continue }
            bytes += try size(.commits(scope, run, first...last.seq))
            try note(Dot(run, first), in: scope, reader)
        }
    }

    /// Adds what the member lacks of another scope.
    package mutating func add(_ other: LogBacklog) {
        commits += other.commits
        bytes += other.bytes
        oldest = [oldest, other.oldest].compactMap(\.self).min()
        isCut = isCut || other.isCut
    }

    private mutating func note(
        _ dot: Dot,
        in scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) {
        // A commit that can't be read says nothing of its time.
        guard let bytes = try reader.get(.commit(scope, dot)), let commit = try? Commit(bytes)
        else { return }
        let made = commit.stamp.time.milliseconds
        oldest = min(oldest ?? made, made)
    }

    /// About when the member will have to take state, in milliseconds since 1970 UTC; nil if the
    /// member lacks nothing.
    ///
    /// An estimate: the logs go on growing as they did since the oldest commit that it lacks.
    ///
    /// - Parameters:
    ///   - retention: How long commits stay for a member that lacks them, in milliseconds.
    ///   - room: Bytes by which the logs may still grow.
    package func end(now: Int64, retention: Int64, room: UInt64) -> Int64? {
        if isCut { return now }
        guard let oldest else { return nil }
        let perMillisecond = Double(bytes) / Double(max(1, now - oldest))
        let full = perMillisecond > 0 ? Double(room) / perMillisecond : .infinity
        let byTime = oldest + retention
        return full < Double(max(0, byTime - now)) ? now + Int64(full) : max(now, byTime)
    }
}
