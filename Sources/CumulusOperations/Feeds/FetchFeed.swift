// Fetches what a user's subscriptions tell since a token: a page of news, and the token to go on
// with.
//
// Run by the node on a reader thread, from one snapshot per page; a simulator runs it in place. Any
// node that has all changes a token covers can go on from it. What can't be told exactly is reset:
// the whole feed, or one subscription. The device then asks anew. hot: once per page of a feed.
//
// Folder: what a device is told. Read `FeedToken`, then `FetchFeed` with `FeedHead`, `FeedWatches`
// and `FeedRead`, then `FeedWindow`, `FeedNews` and `FeedTelling`; and `MarkRead`.

package import CumulusModel
package import CumulusStorage

package struct FetchFeed: Sendable {
    /// nil means from now on; or from the oldest change that is kept, if `isHistory`.
    package var token: FeedToken?
    /// Whether a subscription that is newer than the token tells what happened since it was saved,
    /// instead of a reset.
    package var isHistory = false
    /// The position of the token, if this run of the node made it and knows it.
    package var position: UInt64?
    /// The user's subscriptions as they were at a position of this run of the node.
    package var watches: (list: FeedWatches, position: UInt64)?
    /// Whether changes that the token covers were lost when a backup was restored.
    package var isLost = false
    /// Whether an earlier page of the same call had the device ask its queries: it may do so at any
    /// time until the call ends.
    package var isAsking = false
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
        package var reset: FeedReset? {
            didSet { if reset != nil { token.isAsking = true } }
        }
        package var token: FeedToken
        /// The last position of the snapshot.
        package var lastPosition: UInt64
        /// The user's subscriptions.
        package var watches: FeedWatches
        /// The read that finds the news of the page; nil if there is nothing to read.
        package fileprivate(set) var read: FeedRead?
        /// Subscriptions that the last page of the read resets.
        fileprivate var anew: [SubscriptionName] = []
        /// The types whose changes are still to be compared with topics: once they are, the feed
        /// goes on.
        package fileprivate(set) var awaited: [WatchedType] = []
        /// Whether the device is up to date.
        package var isLast: Bool { token.progress == nil }
    }

    /// A page, from one snapshot.
    package func run(
        _ scope: ScopeID,
        _ number: ScopeNumber,
        by caller: Caller,
        in reader: ReadTransaction
    ) throws(ReadFailure) -> Page {
        do {
            let head = try FeedHead(of: number, in: reader)
            var page = try begin(scope, number, at: head, by: caller, in: reader)
            if let read = page.read {
                let ownDevice = TopicEvent.deviceDigest(caller.device, of: caller.user)
                let found = try read.run(
                    self,
                    at: head,
                    through: nil,
                    leavingOut: ownDevice,
                    in: reader
                )
                let roles = try SchemaDirectory().roles(of: caller, in: number, reader)
                page.take(found, of: self, with: roles.names)
            }
            return page
        } catch let failure as ReadFailure {
            throw failure
        } catch {
            throw ReadFailure(error)
        }
    }

    /// Whether an event loop may begin the page: it goes on where the last one ended, the user's
    /// subscriptions are known, and all of them are about records.
    package func isShort(at head: FeedHead) -> Bool {
        guard let watches, position != nil, head.lastSubscription <= watches.position
        else { return false }
        return watches.list.isOfRecords
    }

    /// A page without its news: `Page.read` finds them, and `Page.take` adds them.
    ///
    /// - Parameter head: The head of the same snapshot.
    package func begin(
        _ scope: ScopeID,
        _ number: ScopeNumber,
        at head: FeedHead,
        by caller: Caller,
        in reader: ReadTransaction
    ) throws(ReadFailure) -> Page {
        do {
            try Authorisation.checkFeed(of: caller)
            var page = Page(
                token: FeedToken(
                    scope: scope,
                    user: caller.user,
                    base: head.runs.shortVector,
                    truncation: head.truncation,
                    isAsking: isAsking
                ),
                lastPosition: head.lastPosition,
                watches: try watches(of: caller.user, number, at: head, reader)
            )
            guard let (token, position) = try beginning(page.token, number, at: head, reader) else {
                page.token.isAsking = true
                return page
            }
            try token.check(scope, caller.user)
            if isLost {
                page.reset = .all
                return page
            }
            try token.checkReach(head.runs, broken)
            try prepare(&page, after: token, position, number, at: head, reader)
            return page
        } catch {
            throw ReadFailure(error)
        }
    }

    /// Decides what a page reads, and what it resets.
    private func prepare(
        _ page: inout Page,
        after token: FeedToken,
        _ position: UInt64?,
        _ scope: ScopeNumber,
        at head: FeedHead,
        _ reader: ReadTransaction
    ) throws(EngineError) {
        if page.watches.list.isEmpty { return }
        guard let first = try first(after: token, position, scope, at: head, reader),
            broken.contains(.feedBreak) || first > head.lastBreak
        else {
            page.reset = .all
            return
        }
        let told = try told(page.watches, from: first, scope, at: head, reader)
        page.anew = told.anew
        page.read = FeedRead(
            scope: scope,
            watches: told.watches,
            base: token.base,
            first: first,
            from: progress(in: token).map { $0.position + 1 } ?? first,
            isCut: progress(in: token)?.isCut ?? (token.progress != nil),
            isAsking: token.isAsking
        )
    }

    /// The token from which the page goes on, and its position in this run if that is known; nil if
    /// the feed begins now.
    ///
    /// - Parameter now: A token of everything that this node has.
    private func beginning(
        _ now: FeedToken,
        _ scope: ScopeNumber,
        at head: FeedHead,
        _ reader: ReadTransaction
    ) throws(EngineError) -> (token: FeedToken, position: UInt64?)? {
        if let token { return (token, position) }
        guard isHistory, let oldest = try reader.oldestMilestone(of: scope, at: head) else {
            return nil
        }
        var token = now
        token.base = oldest.vector
        return (token, oldest.position)
    }

    /// The user's subscriptions, at the head.
    private func watches(
        of user: String,
        _ scope: ScopeNumber,
        at head: FeedHead,
        _ reader: ReadTransaction
    ) throws(EngineError) -> FeedWatches {
        if let watches, head.lastSubscription <= watches.position { return watches.list }
        return FeedWatches(
            try reader.subscriptions(in: scope, of: user).map {
                FeedWatches.Watch(stored: $0, topic: Topic($0))
            }
        )
    }

    /// The token's progress, if this run of the node made it.
    private func progress(in token: FeedToken) -> FeedToken.Progress? {
        token.progress.flatMap { $0.run == run ? $0 : nil }
    }

    /// The position after everything that the device was told; nil if it is no longer known.
    private func first(
        after token: FeedToken,
        _ position: UInt64?,
        _ scope: ScopeNumber,
        at head: FeedHead,
        _ reader: ReadTransaction
    ) throws(EngineError) -> UInt64? {
        if let first = progress(in: token)?.first ?? position.map({ $0 + 1 }) {
            // Rows from an old position on may have been dropped, also within a read.
            guard let oldest = head.oldest, oldest < first || broken.contains(.feedMissing) else {
                return nil
            }
            return first
        }
        return try reader.firstPosition(for: head.runs.whole(token.base), at: head, scope, broken)
    }

    /// Divides subscriptions into those that the page tells, and those that it resets.
    ///
    /// A subscription is reset if this node learned of it after the device was told last.
    private func told(
        _ watches: FeedWatches,
        from first: UInt64,
        _ scope: ScopeNumber,
        at head: FeedHead,
        _ reader: ReadTransaction
    ) throws(EngineError) -> (watches: FeedWatches, anew: [SubscriptionName]) {
        if head.lastSubscription < first { return (watches, []) }
        var told: [FeedWatches.Watch] = []
        var anew: [SubscriptionName] = []
        for watch in watches.list {
            let since: SeqRow? = try reader.row(.subscribed(scope, watch.stored.key))
            if let since, since.seq < first || broken.contains(.feedSince) {
                told.append(watch)
            } else if let since, isHistory {
                var watch = watch
                watch.since = since.seq
                watch.seen = try reader.lastMilestone(through: since.seq, of: scope)?.vector
                told.append(watch)
            } else {
                anew.append(watch.stored.name)
            }
        }
        return (FeedWatches(told), anew)
    }
}

extension FetchFeed.Page {
    /// Adds the news that the page's user may read, and moves the token.
    ///
    /// - Parameters:
    ///   - found: The result of `read`; nil resets the feed, because one commit left too much.
    ///   - fetch: The fetch that began the page.
    ///   - roles: The roles of the schema that the page's user was given.
    package mutating func take(
        _ found: FeedRead.Found?,
        of fetch: FetchFeed,
        with roles: Set<String>
    ) {
        guard let found, let read else {
            reset = .all
            return
        }
        news = found.news.filter {
            fetch.broken.contains(.feedReaders) || $0.readers.include(token.user, with: roles)
        }
        if found.isLast {
            // Earlier pages of the read don't name these subscriptions, so that each is reset once.
            let names = anew + found.lost
            if !names.isEmpty { reset = .subscriptions(names) }
            return
        }
        awaited = found.awaited
        token.progress = FeedToken.Progress(
            run: fetch.run,
            first: read.first,
            position: found.end,
            seen: token.base,
            isCut: read.isCut
        )
        token.base = read.base
        token.isAsking = read.isAsking
        token.truncation = fetch.token?.truncation ?? token.truncation
    }
}

extension ReadTransaction {
    /// The oldest milestone from which a feed can go on; nil if no milestone since the last break
    /// is kept.
    fileprivate func oldestMilestone(
        of scope: ScopeNumber,
        at head: FeedHead
    ) throws(EngineError) -> (position: UInt64, vector: VersionVector)? {
        var range = KeyRange.milestones(of: scope)
        if head.lastBreak > 0 { range.start = RowKey.milestone(scope, head.lastBreak).bytes }
        return try rows(.log, range, limit: 1).first.map(milestone)
    }

    /// The last milestone up to a position; nil if all kept milestones are later.
    fileprivate func lastMilestone(
        through position: UInt64,
        of scope: ScopeNumber
    ) throws(EngineError) -> (position: UInt64, vector: VersionVector)? {
        var range = KeyRange.milestones(of: scope)
        range.end = RowKey.milestone(scope, position + 1).bytes
        return try rows(.log, range, backwards: true, limit: 1).first.map(milestone)
    }

    private func milestone(
        _ row: (key: Bytes, value: Bytes)
    ) throws(EngineError) -> (position: UInt64, vector: VersionVector) {
        let position = try RowKey.milestone(row.key)
        let milestone = try decoding(row.key) { () throws(MalformedBytes) in
            try Milestone(row: row.value)
        }
        return (position, milestone.vector)
    }

    /// The position after the last milestone that a vector covers; nil if it covers none.
    fileprivate func firstPosition(
        for known: VersionVector,
        at head: FeedHead,
        _ scope: ScopeNumber,
        _ broken: BrokenRules
    ) throws(EngineError) -> UInt64? {
        if broken.contains(.feedFirst) { return head.lastPosition }
        var low: UInt64?
        var range = KeyRange.milestones(of: scope)
        // Binary search over positions: the vectors of milestones only grow.
        var (first, end) = (UInt64(0), head.lastPosition + 1)
        while first < end {
            let middle = first + (end - first) / 2
            range.start = RowKey.milestone(scope, middle).bytes
            guard let (key, value) = try rows(.log, range, limit: 1).first else {
                end = middle
                continue
            }
            let position = try RowKey.milestone(key)
            let row = try decoding(key) { () throws(MalformedBytes) in try Milestone(row: value) }
            if known.covers(head.runs.whole(row.vector)) {
                low = position
                first = position + 1
            } else {
                end = middle
            }
        }
        if low == nil, broken.contains(.feedMissing) { low = head.oldest }
        return low.map { $0 + 1 }
    }
}

extension Authorisation {
    /// Refuses callers that are not users: only users have feeds.
    static func checkFeed(of caller: Caller) throws(ServiceError) {
        switch caller.role {
        case .user: return
        case .server: throw ServiceKeys.userNeeded
        case .anonymous:
            throw ServiceError(
                .notAuthenticated,
                "feeds are for signed-in users; connect with an access token"
            )
        case .operator:
            throw ServiceError(
                .permissionFailure,
                "an operator has no feed; use a user's access token"
            )
        }
    }
}
