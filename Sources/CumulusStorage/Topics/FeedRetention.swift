// Drops the feed rows of old days as a whole, and rows that no feed needs after that; thins out
// older milestones.
//
// Called by the node's collector, and by simulations. A feed that would need dropped rows is reset.
// Only feeds read these rows.

import CumulusModel

extension WriteTransaction {
    /// Drops the rows of whole days before a time, in milliseconds since 1970 UTC.
    ///
    /// Then drops watched heads that no feed tells any more, and removes one-time subscriptions
    /// whose firing no feed tells any more.
    package mutating func dropFeedRows(
        of scope: ScopeNumber,
        before time: Int64
    ) throws(EngineError) {
        let isChanged = try dropFeedDays(of: scope, before: day(at: time))
        // A feed that can go on has been told what its oldest milestone covers.
        let runs = try loadScope(scope).runs
        let told = try firstFeedVector(of: scope).map(runs.whole) ?? runs.vector
        try removeFired(in: scope, on: told)
        if isChanged { try dropWatchedHeads(of: scope, in: told) }
    }

    /// Returns false if no day is that old.
    private mutating func dropFeedDays(
        of scope: ScopeNumber,
        before day: Day
    ) throws(EngineError) -> Bool {
        let days = try feedDays(of: scope)
        guard days.contains(where: { $0.day < day }) else { return false }
        for (old, _) in days where old < day { put(.feedDay(scope, old), nil) }
        deleteRange(.log, .rows(.topicEvent, of: scope, before: day))
        deleteRange(.log, .rows(.mixed, of: scope, before: day))
        deleteRange(.log, .rows(.repeated, of: scope, before: day))
        // A feed reads everything after its milestone: keep no milestone before the dropped rows.
        let next = try loadScope(scope).nextPosition
        let first = days.first { $0.day >= day }?.position ?? next
        var range = KeyRange.milestones(of: scope)
        range.end = RowKey.milestone(scope, first - 1).bytes
        deleteRange(.log, range)
        // Devices that are up to date go on from this one.
        try needMilestone(in: scope)
        return true
    }

    /// Drops the heads of watched zones that a vector covers, also of topics without subscriptions.
    private mutating func dropWatchedHeads(
        of scope: ScopeNumber,
        in told: VersionVector
    ) throws(EngineError) {
        // Ranges can't be deleted in `meta`.
        for (key, value) in try rows(.meta, .watchedHeads(in: scope)) {
            let run = try RowKey.watchedHead(key).incarnation
            let head = try decoding(key) { () throws(MalformedBytes) in
                try WatchedHead(row: value)
            }
            if told.covers(Dot(run, head.seq)) { put(RowKey(.watchedHead, bytes: key), nil) }
        }
    }

    /// Removes the subscriptions that fired on commits which a vector covers.
    ///
    /// Each node decides for itself, so this makes no commit. The removal keeps the register's
    /// stamp: it does not replace what was saved later elsewhere, and the same register of a node
    /// that still keeps it does not replace the removal.
    private mutating func removeFired(
        in scope: ScopeNumber,
        on told: VersionVector
    ) throws(EngineError) {
        let last = try loadScope(scope).nextPosition - 1
        for (key, dot) in try loadFeeds(of: scope).fired where told.covers(dot) {
            let namespace = StoredSubscription.namespace
            guard var row = try register(scope, namespace, key) else { continue }
            try noteSubscription(key, from: row.value, to: nil, at: last, in: scope)
            row.value = nil
            put(.register(scope, namespace, key), row)
        }
    }

    /// The vector of the oldest milestone from which a feed can go on; nil if no feed can go on.
    private borrowing func firstFeedVector(
        of scope: ScopeNumber
    ) throws(EngineError) -> VersionVector? {
        let lastBreak: SeqRow? = try row(.feedBreak(scope))
        var range = KeyRange.milestones(of: scope)
        range.start = RowKey.milestone(scope, lastBreak?.seq ?? 0).bytes
        return try rows(.log, range, limit: 1).first.map { (key, value) throws(EngineError) in
            try decoding(key) { () throws(MalformedBytes) in try Milestone(row: value).vector }
        }
    }

    private borrowing func feedDays(
        of scope: ScopeNumber
    ) throws(EngineError) -> [(day: Day, position: UInt64)] {
        try rows(.meta, .feedDays(of: scope)).map { (key, value) throws(EngineError) in
            let row = try decoding(key) { () throws(MalformedBytes) in try SeqRow(row: value) }
            return (try RowKey.feedDay(key), row.seq)
        }
    }

    /// The number of the day of a time, in milliseconds since 1970 UTC.
    func day(at time: Int64) -> Day {
        Day(clamping: time / 86_400_000) + state.passedDays
    }

    /// Keeps one milestone a minute among milestones from before a time, in milliseconds since 1970
    /// UTC.
    ///
    /// Looks at no more than `limit` milestones, from the first one after `last` on.
    ///
    /// Returns the position of the last milestone before that time that it looked at; nil if it
    /// found no such milestone.
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
