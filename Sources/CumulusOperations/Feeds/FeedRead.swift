// What one page of a feed reads: the rows of some topics from a position on that a vector does not
// cover.
//
// Made by `FetchFeed.begin`. It names neither the user nor the device, so feeds with equal reads in
// one snapshot share what is found. There are two exceptions: a device whose own changes are among
// them, and news that only one user may be told. hot: once per page of a feed.

package import CumulusModel
package import CumulusStorage

package struct FeedRead: Hashable, Sendable {
    package let scope: ScopeNumber
    /// The subscriptions that are told.
    let watches: FeedWatches
    /// The changes that the device has been told; short, see `Runs`.
    let base: VersionVector
    /// The first position of the read, of which this page may be a later part.
    let first: UInt64
    /// Where this page begins.
    package let from: UInt64
    /// Whether another run of a node told the device some of these changes.
    let isCut: Bool
    /// Whether the device asked its queries later than where this begins.
    let isAsking: Bool

    /// The approximate size of the read in memory.
    package var byteCount: Int { watches.list.count * 1_024 }

    package struct Found: Sendable {
        /// The news for all users; `FeedNews.readers` says which users are told.
        package var news: [FeedNews]
        /// Subscriptions to reset, since something of them can't be told here.
        package var lost: [SubscriptionName]
        /// Digests of the devices that made the changes, see `TopicEvent.deviceDigest`.
        package var authors: Set<UInt64>
        /// The page tells everything up to this position.
        package var end: UInt64
        /// Whether nothing is left after that position.
        package var isLast: Bool
        /// The types whose changes are still to be compared with topics before more can be told.
        package var awaited: [WatchedType] = []
    }

    /// Reads a page; returns nil if one commit left more rows than a page may hold.
    ///
    /// - Parameters:
    ///   - fetch: Gives the rules and the environment.
    ///   - end: The last position of the page; it may end before.
    ///   - ownDevice: Leaves out the changes of this device; 0 leaves out nothing.
    ///   - schemas: The schemas of the state that is read.
    package func run(
        _ fetch: FetchFeed,
        at head: FeedHead,
        through end: UInt64?,
        leavingOut ownDevice: UInt64,
        in reader: ReadTransaction,
        schemas: SchemaDirectory = SchemaDirectory()
    ) throws(EngineError) -> Found? {
        let owed = try owed(at: head, fetch.broken, in: reader)
        // Changes behind the first owed change come with a later page.
        let bound = max(from, owed.position ?? head.lastPosition + 1) - 1
        let end = min(bound, end ?? bound)
        let window = try FeedWindow(
            of: watches.topicsOfRecords,
            from: from,
            through: end,
            isLast: end == head.lastPosition,
            in: scope,
            reader
        )
        if window.isTooLarge { return nil }
        let known = head.runs.whole(base)
        var telling = FeedTelling(
            fetch: fetch,
            ownDevice: ownDevice,
            known: known,
            scope: scope,
            window: window,
            first: first,
            isCut: isCut,
            isAsking: isAsking,
            isLater: from > first,
            reader: reader,
            schemas: schemas
        )
        for watch in watches.list {
            var seen = known
            if let since = watch.seen { seen.merge(head.runs.whole(since)) }
            try telling.tell(watch.stored, watch.topic, since: watch.since, seen)
        }
        let news = telling.news.sorted {
            ($0.position, $0.place, $0.subscription.id)
                < ($1.position, $1.place, $1.subscription.id)
        }
        return Found(
            news: news,
            lost: telling.lost,
            authors: telling.authors,
            end: window.end,
            isLast: window.isLast,
            awaited: window.end == bound && !window.isLast ? owed.types : []
        )
    }

    /// The types that the watches wait for, since changes of them are owed, and the position of the
    /// first of these changes.
    private func owed(
        at head: FeedHead,
        _ broken: BrokenRules,
        in reader: ReadTransaction
    ) throws(EngineError) -> (types: [WatchedType], position: UInt64?) {
        if !head.owesChanges || broken.contains(.feedOwed) { return ([], nil) }
        var (types, position): ([WatchedType], UInt64?) = ([], nil)
        for topic in watches.list.map(\.topic) {
            guard let name = topic.recordType,
                let database = try reader.database(scope, topic.database)
            else { continue }
            let type = WatchedType(database: database, name: name)
            if types.contains(type) { continue }
            guard let first = try reader.firstOwed(of: type, in: scope) else { continue }
            types.append(type)
            position = min(position ?? first, first)
        }
        return (types, position)
    }
}
