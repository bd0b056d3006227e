// The newest commits of one run, in memory: a reader that is nearly up to date is sent them without
// a look into the log.
//
// `VisibleState` keeps them for this node's own run of each scope, and adds a batch once it is
// durable. hot: once per batch, and once per page for a peer.

package import CumulusModel

package struct RecentCommits: Sendable {
    /// The number of the first one.
    private var first: UInt64 = 1
    /// The bytes that their origin encoded, one after the other without a gap.
    private var commits: [Bytes] = []
    package private(set) var byteCount = 0

    package init() {}

    /// Adds commits; the last one has the number `last`.
    ///
    /// If they do not follow what is here, they take its place.
    package mutating func add(_ more: [Bytes], through last: UInt64) {
        let start = last + 1 - UInt64(more.count)
        if start != first + UInt64(commits.count) {
            (first, commits, byteCount) = (start, [], 0)
        }
        commits += more
        byteCount += more.reduce(0) { $0 + $1.count }
    }

    /// The commits above `seq`, up to `last`; nil if they are not all here.
    package func commits(above seq: UInt64, through last: UInt64) -> [Bytes]? {
        guard seq < last else { return [] }
        guard first <= seq + 1, last < first + UInt64(commits.count) else { return nil }
        return Array(commits[Int(seq + 1 - first)...Int(last - first)])
    }
}
