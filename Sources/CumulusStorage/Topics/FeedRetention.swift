// Drops the feed rows of old days as a whole, and rows that no feed needs after that; thins out
// older milestones.
//
// Called by the node's collector, and by simulations. A feed that would need dropped rows is reset.
// Only feeds read these rows.

import CumulusModel

extension ScopeFeeds {
    /// Drops the rows of whole days before a time, in milliseconds since 1970 UTC.
    ///
    /// Then drops watched heads that no feed tells any more, and removes one-time subscriptions
    /// whose firing no feed tells any more.
    package func dropRows(
        before time: Int64,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let isChanged = try dropDays(before: day(at: time, transaction), &transaction)
        // A feed that can go on has been told what its oldest milestone covers.
        let runs = try transaction.loadScope(scope).runs
        let told = try firstVector(transaction).map(runs.whole) ?? runs.vector
        try removeFired(on: told, &transaction)
        if isChanged { try dropWatchedHeads(in: told, &transaction) }
    }

    /// Returns false if no day is that old.
    private func dropDays(
        before day: Day,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        let days = try days(transaction)
        guard days.contains(where: { $0.day < day }) else { return false }
        for (old, _) in days where old < day { transaction.put(.feedDay(scope, old), nil) }
        transaction.deleteRange(.log, .rows(.topicEvent, of: scope, before: day))
        transaction.deleteRange(.log, .rows(.mixed, of: scope, before: day))
        transaction.deleteRange(.log, .rows(.repeated, of: scope, before: day))
        // A feed reads everything after its milestone: keep no milestone before the dropped rows.
        let next = try transaction.loadScope(scope).nextPosition
        let first = days.first { $0.day >= day }?.position ?? next
        var range = KeyRange.milestones(of: scope)
        range.end = RowKey.milestone(scope, first - 1).bytes
        transaction.deleteRange(.log, range)
        // Devices that are up to date go on from this one.
        try needMilestone(&transaction)
        return true
    }

    /// Drops the heads of watched zones that a vector covers, also of topics without subscriptions.
    private func dropWatchedHeads(
        in told: VersionVector,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        // Ranges can't be deleted in `meta`.
        for (key, value) in try transaction.rows(.meta, .watchedHeads(in: scope)) {
            let run = try RowKey.watchedHead(key).incarnation
            let head = try transaction.decoding(key) { () throws(MalformedBytes) in
                try WatchedHead(row: value)
            }
            if told.covers(Dot(run, head.seq)) {
                transaction.put(RowKey(.watchedHead, bytes: key), nil)
            }
        }
    }

    /// Removes the subscriptions that fired on commits which a vector covers.
    ///
    /// Each node decides for itself, so this makes no commit. The removal keeps the register's
    /// stamp: it does not replace what was saved later elsewhere, and the same register of a node
    /// that still keeps it does not replace the removal.
    private func removeFired(
        on told: VersionVector,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let last = try transaction.loadScope(scope).nextPosition - 1
        for (key, dot) in try load(&transaction).fired where told.covers(dot) {
            let namespace = StoredSubscription.namespace
            guard var row = try transaction.register(scope, namespace, key) else { continue }
            try noteSubscription(key, from: row.value, to: nil, at: last, &transaction)
            row.value = nil
            transaction.put(.register(scope, namespace, key), row)
        }
    }

    /// The vector of the oldest milestone from which a feed can go on; nil if no feed can go on.
    private func firstVector(
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> VersionVector? {
        let lastBreak: SeqRow? = try transaction.row(.feedBreak(scope))
        var range = KeyRange.milestones(of: scope)
        range.start = RowKey.milestone(scope, lastBreak?.seq ?? 0).bytes
        guard let (key, value) = try transaction.rows(.log, range, limit: 1).first else {
            return nil
        }
        return try transaction.decoding(key) { () throws(MalformedBytes) in
            try Milestone(row: value).vector
        }
    }

    private func days(
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> [(day: Day, position: UInt64)] {
        try transaction.rows(.meta, .feedDays(of: scope)).map { (key, value) throws(EngineError) in
            let row = try transaction.decoding(key) { () throws(MalformedBytes) in
                try SeqRow(row: value)
            }
            return (try RowKey.feedDay(key), row.seq)
        }
    }

    /// The number of the day of a time, in milliseconds since 1970 UTC.
    func day(at time: Int64, _ transaction: borrowing WriteTransaction) -> Day {
        Day(clamping: time / 86_400_000) + transaction.state.passedDays
    }

    /// Keeps one milestone a minute among milestones from before a time, in milliseconds since 1970
    /// UTC.
    ///
    /// Looks at no more than `limit` milestones, from the first one after `last` on.
    ///
    /// Returns the position of the last milestone before that time that it looked at; nil if it
    /// found no such milestone.
    package func thinMilestones(
        after last: UInt64,
        before time: Int64,
        limit: Int,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> UInt64? {
        var range = KeyRange.milestones(of: scope)
        range.start = RowKey.milestone(scope, last + 1).bytes
        var (reached, minute): (UInt64?, Int64?) = (nil, nil)
        for (key, value) in try transaction.rows(.log, range, limit: limit) {
            let position = try RowKey.milestone(key)
            let row = try transaction.decoding(key) { () throws(MalformedBytes) in
                try Milestone(row: value)
            }
            if row.time >= time { break }
            if row.time / 60_000 == minute {
                transaction.put(.milestone(scope, position), nil)
            } else {
                minute = row.time / 60_000
            }
            reached = position
        }
        return reached
    }
}
