// How long feeds can go back: the rows of old days go whole, and milestones thin out with age.
//
// Called by the node's collector, and by simulations. A feed whose place is gone with them is
// reset; nothing else depends on these rows.

import CumulusModel

extension WriteTransaction {
    private static let millisecondsPerDay: Int64 = 86_400_000

    /// Drops what happened before a time, in milliseconds since 1970 UTC, by whole days.
    package mutating func dropFeedRows(
        of scope: ScopeNumber,
        before time: Int64
    ) throws(EngineError) {
        let day = Day(clamping: time / Self.millisecondsPerDay) + state.passedDays
        let days = try feedDays(of: scope)
        guard days.contains(where: { $0.day < day }) else { return }
        for (old, _) in days where old < day { put(.feedDay(scope, old), nil) }
        deleteRange(.log, .rows(.topicEvent, of: scope, before: day))
        deleteRange(.log, .rows(.mixed, of: scope, before: day))
        // A feed reads on behind its milestone: what is there must be whole.
        let next = try loadScope(scope).nextPosition
        let first = days.first { $0.day >= day }?.position ?? next
        var range = KeyRange.milestones(of: scope)
        range.end = RowKey.milestone(scope, first - 1).bytes
        deleteRange(.log, range)
        // Devices that are up to date go on.
        try needMilestone(in: scope)
    }

    private borrowing func feedDays(
        of scope: ScopeNumber
    ) throws(EngineError) -> [(day: Day, position: UInt64)] {
        try rows(.meta, .feedDays(of: scope)).map { (key, value) throws(EngineError) in
            var parts = KeyReader(key)
            _ = try parts.number(ScopeNumber.self)
            let day = try parts.number(Day.self)
            let row = try decoding(key) { () throws(MalformedBytes) in try SeqRow(row: value) }
            return (day, row.seq)
        }
    }

    /// Of milestones from before a time, in milliseconds since 1970 UTC, keeps one a minute; looks
    /// at some of them, from behind a position.
    ///
    /// Returns the last one looked at that is old enough; nil if there was none.
    package mutating func thinMilestones(
        of scope: ScopeNumber,
        after last: UInt64,
        before time: Int64,
        limit: Int
    ) throws(EngineError) -> UInt64? {
        var range = KeyRange.milestones(of: scope)
        range.start = RowKey.milestone(scope, last + 1).bytes
        var (reached, minute): (UInt64?, Int64?) = (nil, nil)
        for (key, value) in try rows(.log, range, limit: limit) {
            let position = try RowKey.milestone(key)
            let row = try decoding(key) { () throws(MalformedBytes) in try Milestone(row: value) }
            if row.time >= time { break }
            if row.time / 60_000 == minute {
                put(.milestone(scope, position), nil)
            } else {
                minute = row.time / 60_000
            }
            reached = position
        }
        return reached
    }
}
