// How far this node has a scope, and how far back its feed rows go.
//
// Read by `FetchFeed.run`, and by the node once for each state of the store: all feeds that are
// answered from one snapshot share it.

import CumulusModel
package import CumulusStorage

package struct FeedHead: Sendable {
    let runs: Runs
    let truncation: HybridTime
    /// The last position.
    package let lastPosition: UInt64
    /// The position of the oldest milestone, after which all rows are kept; nil if the scope has no
    /// milestone.
    let oldest: UInt64?
    /// The position of the last break; 0 if there was none.
    let lastBreak: UInt64
    /// The position at which a subscription changed last; 0 if there was none.
    let lastSubscription: UInt64
    /// Whether changes are still to be compared with topics, see `OwedChange`.
    let owesChanges: Bool
    /// Whether some user marked notifications as read.
    private let isMarked: Bool

    package init(of scope: ScopeNumber, in reader: ReadTransaction) throws(EngineError) {
        func position(_ key: RowKey) throws(EngineError) -> UInt64 {
            let row: SeqRow? = try reader.row(key)
            return row?.seq ?? 0
        }
        (runs, lastPosition) = try reader.progress(of: scope)
        truncation = try reader.truncation(of: scope)
        lastBreak = try position(.feedBreak(scope))
        lastSubscription = try position(.subscribed(scope, StoredSubscription.anyKey))
        owesChanges = try reader.owedType(of: scope) != nil
        let marks = KeyRange.registers(scope, ReadMarks.namespace)
        isMarked = try !reader.rows(.meta, marks, limit: 1).isEmpty
        oldest = try reader.rows(.log, .milestones(of: scope), limit: 1).first.map {
            (key, _) throws(EngineError) in try RowKey.milestone(key)
        }
    }

    /// The marks of a user, with a whole vector.
    ///
    /// - Parameter reader: Reads the same snapshot.
    package func marks(
        of user: String,
        in scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> ReadMarks {
        if !isMarked { return ReadMarks() }
        var marks = try reader.readMarks(of: ReadMarks.Reader(user), in: scope)
        marks.vector = runs.whole(marks.vector)
        return marks
    }
}
