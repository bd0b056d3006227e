// Fetches what a user's subscriptions tell since a token: a page of news, and the token to
// go on with.
//
// Run by the node on a reader thread, from one snapshot per page; a simulator runs it in place. Any
// node can go on from a token that covers no more than it has. What it can't tell exactly it does
// not leave out: the whole feed, or one subscription, is reset, and the device asks anew. hot: once
// per page of a feed.
//
// Folder: what a device is told. Read `FeedToken`, then `FetchFeed`, `FeedWindow` and
// `FeedNews`.

package import CumulusModel
package import CumulusStorage

package struct FetchFeed: Sendable {
    /// nil: from now on.
    package var token: FeedToken?
    /// Where this run of the node read last for this device: the token is of that place.
    package var place: UInt64?
    /// The page ends at this position, if not before.
    package var end: UInt64?
    /// What the token covers was lost with the restore of a backup.
    package var isLost = false
    /// This run of the node.
    package var run: Incarnation
    package var environment: Environment
    /// Always empty in a node.
    package var broken: BrokenRules = []

    package init(since token: FeedToken?, run: Incarnation, environment: Environment) {
        self.token = token
        self.run = run
        self.environment = environment
    }

    package struct Page: Sendable {
        package var news: [FeedNews] = []
        package var reset: FeedReset?
        package var token: FeedToken
        /// The last position of the snapshot.
        package var place: UInt64 = 0
        /// What the feed watches; news of these is news for it.
        package var topics: [Topic.ID] = []
        /// The device is up to date.
        package var isLast: Bool { token.progress == nil }
    }

    package func run(
        _ scope: ScopeID,
        _ number: ScopeNumber,
        by caller: Caller,
        in reader: ReadTransaction
    ) throws(ReadFailure) -> Page {
        do {
            guard !caller.user.isEmpty else { throw Authorisation.feedNeedsUser }
            let runs = try reader.runs(of: number)
            var page = Page(
                token: FeedToken(
                    scope: scope,
                    user: caller.user,
                    base: runs.shortVector,
                    truncation: try reader.truncation(of: number)
                )
            )
            page.place = try reader.lastPosition(of: number)
            let watches = try reader.subscriptions(in: number, of: caller.user).map {
                (stored: $0, topic: Topic($0))
            }
            page.topics = watches.map(\.topic.id)
            guard let token else { return page }
            try token.check(scope, caller.user)
            if isLost {
                page.reset = .all
                return page
            }
            guard broken.contains(.feedBehind) || runs.covers(token.base) else {
                throw ServiceError(
                    .serviceUnavailable,
                    .nodeBehind,
                    """
                    this node has not read yet what the device was told elsewhere; try again, or \
                    go to another node
                    """
                )
            }
            try page.fill(self, watches, since: token, runs, number, caller, reader)
            return page
        } catch {
            throw ReadFailure(error)
        }
    }
}

extension FetchFeed.Page {
    fileprivate mutating func fill(
        _ fetch: FetchFeed,
        _ watches: [(stored: StoredSubscription, topic: Topic)],
        since token: FeedToken,
        _ runs: Runs,
        _ scope: ScopeNumber,
        _ caller: Caller,
        _ reader: ReadTransaction
    ) throws(EngineError) {
        if watches.isEmpty { return }
        let known = runs.whole(token.base)
        let progress = token.progress.flatMap { $0.run == fetch.run ? $0 : nil }
        var first = progress?.first ?? fetch.place.map { $0 + 1 }
        if first == nil { first = try reader.firstPosition(for: known, runs, scope, fetch.broken) }
        guard let first else {
            reset = .all
            return
        }
        if !fetch.broken.contains(.feedBreak),
            let last: SeqRow = try reader.row(.feedBreak(scope)), first <= last.seq
        {
            reset = .all
            return
        }
        var told: [(stored: StoredSubscription, topic: Topic)] = []
        var anew: [SubscriptionName] = []
        for watch in watches {
            let since: SeqRow? = try reader.row(.subscribed(scope, watch.stored.key))
            if let since, since.seq < first || fetch.broken.contains(.feedSince) {
                told.append(watch)
            } else {
                anew.append(
                    SubscriptionName(
                        databaseScope: watch.stored.database.kind,
                        subscriptionID: watch.stored.subscription.id
                    )
                )
            }
        }
        if !anew.isEmpty { reset = .subscriptions(anew) }
        let end = min(place, fetch.end ?? place)
        let window = try FeedWindow(
            of: Set(told.map(\.topic).filter { $0.recordType != nil }.map(\.id)),
            from: progress.map { $0.position + 1 } ?? first,
            through: end,
            isLast: end == place,
            in: scope,
            reader
        )
        if window.isTooLarge {
            reset = .all
            return
        }
        var telling = FeedTelling(fetch, caller, known: known, of: scope, window, reader)
        for watch in told { try telling.tell(watch.stored, watch.topic) }
        news = telling.news.sorted {
            ($0.position, $0.place, $0.subscription.id)
                < ($1.position, $1.place, $1.subscription.id)
        }
        if !window.isLast {
            self.token.base = token.base
            self.token.truncation = token.truncation
            self.token.progress = FeedToken.Progress(
                run: fetch.run,
                first: first,
                position: window.end
            )
        }
    }
}

extension ReadTransaction {
    /// The position behind the last milestone that a reader has seen all of; nil: none is kept.
    fileprivate func firstPosition(
        for known: VersionVector,
        _ runs: Runs,
        _ scope: ScopeNumber,
        _ broken: BrokenRules
    ) throws(EngineError) -> UInt64? {
        var low: UInt64?
        var range = KeyRange.milestones(of: scope)
        if broken.contains(.feedFirst) { return try lastPosition(of: scope) }
        // Vectors only grow: halve the rows between one that is covered and one that is not.
        // (By keys, since positions are numbers.)
        var (first, end) = (UInt64(0), try lastPosition(of: scope) + 1)
        while first < end {
            let middle = first + (end - first) / 2
            range.start = RowKey.milestone(scope, middle).bytes
            guard let (key, value) = try rows(.log, range, limit: 1).first else {
                end = middle
                continue
            }
            let position = try RowKey.milestone(key)
            let row = try decoding(key) { () throws(MalformedBytes) in try Milestone(row: value) }
            if known.covers(runs.whole(row.vector)) {
                low = position
                first = position + 1
            } else {
                end = middle
            }
        }
        if low == nil, broken.contains(.feedMissing) {
            low = try rows(.log, .milestones(of: scope), limit: 1).first.map {
                (key, _) throws(EngineError) in try RowKey.milestone(key)
            }
        }
        return low.map { $0 + 1 }
    }

    /// The last place in the local order.
    fileprivate func lastPosition(of scope: ScopeNumber) throws(EngineError) -> UInt64 {
        var last: UInt64 = 0
        if let (key, _) = try rows(.log, .order(of: scope), backwards: true, limit: 1).first {
            var parts = KeyReader(key)
            _ = try parts.number(ScopeNumber.self)
            last = try parts.number()
        }
        let broken: SeqRow? = try row(.feedBreak(scope))
        return max(last, broken?.seq ?? 0)
    }
}
