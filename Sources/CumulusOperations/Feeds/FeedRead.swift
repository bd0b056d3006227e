// What one page of a feed reads: rows of topics behind a position, that a vector does not cover.
//
// Made by `FetchFeed.begin`. It says nothing of the user or the device: feeds with equal reads in
// one snapshot get the same news, except for a device whose own changes are in it, and for news
// that only one user may be told. The node keeps what it found for the feeds that ask the same.
// hot: once per page of a feed.

package import CumulusModel
package import CumulusStorage

package struct FeedRead: Hashable, Sendable {
    package let scope: ScopeNumber
    /// The subscriptions that are told.
    let watches: FeedWatches
    /// What the device has been told, short, see `Runs`.
    let base: VersionVector
    /// Where the feed was when it read all there was.
    let first: UInt64
    /// Where this page begins.
    package let from: UInt64
    /// The device was told some of it already: it left another run of a node in the middle.
    let isCut: Bool

    package struct Found: Sendable {
        /// Of all users: see `FeedNews.readers`.
        package var news: [FeedNews]
        /// Subscriptions of which something can't be told here.
        package var lost: [SubscriptionName]
        /// Marks of the devices that made changes, see `TopicEvent.deviceMark`.
        package var authors: Set<UInt64>
        /// It holds all up to here.
        package var end: UInt64
        /// Nothing is left behind that.
        package var isLast: Bool
    }

    /// Nil if one commit left more than can be told.
    ///
    /// - Parameters:
    ///   - fetch: For its rules and its environment.
    ///   - end: The page ends there, if not before.
    ///   - mark: Of the device that is told: its own changes are left out. 0 leaves out nothing.
    ///   - schemas: Of the state that is read.
    package func run(
        _ fetch: FetchFeed,
        at head: FeedHead,
        through end: UInt64?,
        leavingOut mark: UInt64,
        in reader: ReadTransaction,
        schemas: SchemaDirectory = SchemaDirectory()
    ) throws(EngineError) -> Found? {
        let end = min(head.place, end ?? head.place)
        let window = try FeedWindow(
            of: watches.topicsOfRecords,
            from: from,
            through: end,
            isLast: end == head.place,
            in: scope,
            reader
        )
        if window.isTooLarge { return nil }
        let known = head.runs.whole(base)
        var telling = FeedTelling(
            fetch,
            mark,
            known: known,
            of: scope,
            window,
            since: first,
            isCut: isCut,
            isLater: from > first,
            reader,
            schemas
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
            isLast: window.isLast
        )
    }
}
