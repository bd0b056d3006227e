// A feed: what a user's subscriptions tell, a page at a time, as it happens.
//
// Subscriptions are saved by `Database+Subscriptions`. The sync engine follows a feed too.
//
// Folder: what devices are told. Read `FeedSequence`, then `FeedToken`, `FeedRepeats` and
// `Container+Marks`.

public import CumulusModel
import CumulusWire

/// A page of a feed.
public struct FeedPage: Hashable, Sendable {
    /// Notifications in the order in which they are to be applied.
    public var notifications: [FeedNotification]
    /// The subscriptions whose changes the server can't tell completely; nil if it tells them all.
    ///
    /// Ask anew what they watch, by a query or by fetching changes.
    public var reset: FeedReset?
    /// How far the feed was told with this page: keep it once the page is handled.
    public var token: FeedToken
    /// Whether the device has been told everything that the node had.
    public var isUpToDate: Bool

    package init(
        notifications: [FeedNotification],
        reset: FeedReset? = nil,
        token: FeedToken,
        isUpToDate: Bool
    ) {
        self.notifications = notifications
        self.reset = reset
        self.token = token
        self.isUpToDate = isUpToDate
    }
}

extension Container {
    /// Follows what all subscriptions of the user tell: first everything since a token, then each
    /// change as it happens.
    ///
    /// ```swift
    /// for try await page in container.notifications(since: token) {
    ///     for notification in page.notifications { try await app.handle(notification) }
    ///     if let reset = page.reset { try await app.fetchAnew(reset) }
    ///     try app.keep(page.token)
    /// }
    /// ```
    ///
    /// A page comes when there is news; some pages bring only a newer token. A device that
    /// continues from the token of its last page misses nothing and gets nothing twice, for as long
    /// as the server remembers (30 days by default). The server resets what it can't tell exactly;
    /// see ``FeedPage/reset``. If an app ends before it was up to date and continues at another
    /// node, a notification may come again with the same `FeedNotification.id`: apply it again.
    ///
    /// Changes by this device are left out, if ``Configuration/deviceID`` names it.
    ///
    /// The sequence goes on until its task is cancelled, its loop is left or it throws. A lost
    /// connection or node is no error: the sequence goes on at another node. It takes pages from
    /// the server no faster than the loop does. It throws `notAuthenticated` without an access
    /// token, `invalidArguments` for a token of another container or user, `changeTokenExpired` for
    /// a token that this cluster can't use, and what a call throws if no node can be reached in the
    /// time of a call.
    ///
    /// - Parameter token: The token of the last page that was handled; nil means from now on.
    public func notifications(since token: FeedToken?) -> FeedSequence {
        FeedSequence(core: core, token: token)
    }

    /// All notifications of the user's subscriptions until now: CloudKit's notification history.
    ///
    /// ```swift
    /// for try await page in container.notificationHistory() {
    ///     let unread = page.notifications.filter { !$0.isRead }
    ///     app.show(unread)
    ///     if page.isUpToDate { app.keep(page.token) }
    /// }
    /// ```
    ///
    /// It begins with the oldest change that the server still knows. A subscription tells what
    /// happened since it was saved. Several changes of a record come as one notification. Changes
    /// by this device are left out, as in a feed. The sequence ends with the page that is up to
    /// date; ``notifications(since:)`` goes on from that page's token.
    ///
    /// - Parameter token: Only later changes are told; nil means all changes that are known.
    public func notificationHistory(since token: FeedToken? = nil) -> FeedSequence {
        FeedSequence(core: core, token: token, isHistory: true)
    }
}

/// The notifications of a user's subscriptions as they happen; see
/// ``Container/notifications(since:)``.
public struct FeedSequence: AsyncSequence, Sendable {
    /// A page.
    public typealias Element = FeedPage
    /// A `ServiceError`.
    public typealias Failure = any Error

    let core: ClientCore
    let token: FeedToken?
    /// Whether it is a history, which ends when the device is up to date.
    var isHistory = false

    /// An iterator that begins after the token; each iterator follows by itself.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Follows the feed.
    public struct Iterator: AsyncIteratorProtocol {
        /// A page.
        public typealias Element = FeedPage
        /// A `ServiceError`.
        public typealias Failure = any Error

        private let stream: FollowedStream
        private var token: FeedToken?
        private var repeats = FeedRepeats()
        private let isHistory: Bool
        private var hasEnded = false

        init(_ sequence: FeedSequence) {
            token = sequence.token
            isHistory = sequence.isHistory
            stream = FollowedStream(sequence.core, .feedsFollow)
        }

        /// The next page; it comes when there is news, and is nil at the end of a history.
        public mutating func next() async throws -> FeedPage? {
            if hasEnded { return nil }
            let page = try await nextPage().page
            hasEnded = isHistory && page.isUpToDate
            return page
        }

        /// The next page, and whether it is the first page of a stream: the first one of all, or
        /// the first one after a connection was lost.
        mutating func nextPage() async throws -> (page: FeedPage, isFirst: Bool) {
            let request = FollowFeedRequest(
                token: token?.bytes ?? [],
                untilCheckpoint: isHistory,
                isHistory: isHistory
            )
            var isFirst = false
            let message = try await stream.next {
                isFirst = true
                return request.encoded()
            }
            if isFirst { repeats.begin() }
            let page = try decoding { try WireFeedPage(wire: message) }
            let news = page.notifications.filter { repeats.isNews($0) }
            if page.isCheckpoint { repeats = FeedRepeats() }
            self.token = FeedToken(page.token)
            return (
                FeedPage(
                    notifications: news,
                    reset: page.reset,
                    token: FeedToken(page.token),
                    isUpToDate: page.isCheckpoint
                ),
                isFirst
            )
        }
    }
}
