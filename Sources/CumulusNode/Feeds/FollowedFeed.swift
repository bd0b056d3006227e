// One device's feed: reads its next page when there is news for it.
//
// `FeedCalls` begins it. Between two pages the stream holds only the function that reads the next
// one. That function keeps what the feed looks for, and the notifications of an unfinished message:
// at most one message of them, which the room of the connection doesn't count. hot: once per page
// of a feed.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

struct FollowedFeed: Sendable {
    let node: Node
    let scope: ScopeID
    let number: ScopeNumber
    let caller: Caller
    /// Why a database is closed to the caller by now.
    let mayUse: @Sendable (DatabaseScope) -> ServiceError?
    /// Whether the feed goes on when the device is up to date.
    let isEndless: Bool

    /// How often a quiet feed gets a newer token, so that its token does not become too old.
    private static let progressMilliseconds: Int64 = 600_000
    /// A longer list of subscriptions is read again for each page.
    private static let mostWatchesInMemory = 64

    /// The next page, with the function that reads the page after it.
    ///
    /// - Parameters:
    ///   - told: When the device last got a page that made it up to date; nil if it is not up to
    ///     date.
    ///   - begun: Notifications of the message that were found in earlier reads.
    func page(of fetch: FetchFeed, told: Instant?, after begun: [Bytes] = []) throws -> Page {
        // A feed tells of the public database too.
        if let refusal = mayUse(.public) { throw refusal }
        let now = node.environment.now()
        // Count before the store is read: later rings are news.
        let rings = node.gate.bell.count(of: number)
        let found = try read(fetch, after: begun)
        let page = found.page
        if found.isEnough, let token = fetch.token {
            node.meter.notifications.add(begun.count)
            return Page(message: message(of: begun, token)) { try self.page(of: fetch, told: nil) }
        }
        let notifications = begun + found.notifications
        // How far a read comes depends on what others are told: it ends no message.
        if !page.isLast, !found.isFull, page.reset == nil, page.awaited.isEmpty {
            let rest = next(after: page, of: fetch)
            return .unfinished { try self.page(of: rest, told: told, after: notifications) }
        }
        let waits = !page.awaited.isEmpty
        let isDue = told.map { now - $0 >= FollowedFeed.progressMilliseconds } ?? !waits
        let isTold =
            isDue || !notifications.isEmpty || page.reset != nil || !page.isLast && !waits
        var message: Bytes = []
        if isTold {
            message = self.message(
                of: notifications,
                page.token,
                isCheckpoint: page.isLast,
                reset: page.reset
            )
        }
        node.meter.notifications.add(notifications.count)
        if page.isLast, !isEndless { return Page(message: message) }
        let rest = next(after: page, of: fetch)
        let lastTold = !page.isLast ? nil : isTold ? now : told
        var answer = Page(message: message) { try self.page(of: rest, told: lastTold) }
        answer.isSilent = !isTold
        if page.isLast || waits {
            answer.news = AwaitedNews(
                scope: number,
                rings: rings,
                places: places(of: page),
                until: (lastTold ?? now) + FollowedFeed.progressMilliseconds
            )
        }
        return answer
    }

    /// The places that may have news for the next page; nil means any.
    private func places(of page: FetchFeed.Page) -> [NewsPlace]? {
        if !page.isLast { return page.awaited.map { .comparisons(of: $0) } }
        if page.watches.isOfOthers { return nil }
        return page.watches.topics.map { .topic($0) } + [.subscriptions(of: caller.user)]
    }

    private func message(
        of notifications: [Bytes],
        _ token: FeedToken,
        isCheckpoint: Bool = false,
        reset: FeedReset? = nil
    ) -> Bytes {
        FeedPage(
            notifications: notifications,
            token: node.mint.make(token),
            isCheckpoint: isCheckpoint,
            reset: reset
        ).encoded()
    }

    /// The fetch of the page after this one.
    private func next(after page: FetchFeed.Page, of fetch: FetchFeed) -> FetchFeed {
        var next = fetch
        next.token = page.token
        next.isLost = false
        if page.isLast {
            next.isHistory = false
            next.isAsking = page.token.isAsking
        }
        next.position = page.isLast ? page.lastPosition : nil
        let isKept = page.watches.topics.count <= FollowedFeed.mostWatchesInMemory
        next.watches = isKept ? (page.watches, page.lastPosition) : nil
        return next
    }

    /// The result of a read for the device.
    private struct Found {
        let page: FetchFeed.Page
        /// Encoded.
        var notifications: [Bytes] = []
        /// The message has no room for what comes next.
        var isFull = false
        /// The message holds enough without anything of this page.
        var isEnough = false
    }

    /// A page from the newest state of the store, and its notifications.
    private func read(_ fetch: FetchFeed, after begun: [Bytes]) throws -> Found {
        let (view, version) = node.gate.latestVersion()
        let reader = view.reader
        let head = try node.feeds.heads.answer(number, at: version) {
            try FeedHead(of: number, in: reader)
        }
        var page = try fetch.begin(scope, number, at: head, by: caller, in: reader)
        guard let read = page.read else { return Found(page: page) }
        var search = FeedSearch(node: node, read: read, fetch: fetch, head: head, view: view)
        var answer = try node.feeds.pages.answer(read, at: version) { try search.run() }
        let roles = try view.schemas.roles(of: caller, in: number, reader).names
        let ownDevice = TopicEvent.deviceDigest(caller.device, of: caller.user)
        let isOwn = ownDevice != 0 && answer.found?.authors.contains(ownDevice) != false
        if isOwn || !begun.isEmpty || !answer.isWhole(for: caller.user, with: roles) {
            search.reader = FeedSearch.Reader(
                user: caller.user,
                roles: roles,
                ownDevice: isOwn ? ownDevice : 0,
                taken: begun.reduce(0) { $0 + $1.count }
            )
            answer = try search.run()
            if answer.found != nil, answer.isFull, answer.encoded.isEmpty, !begun.isEmpty {
                return Found(page: page, isEnough: true)
            }
        }
        page.take(answer.found, of: fetch, with: roles)
        var found = Found(page: page, isFull: answer.isFull)
        if page.news.isEmpty { return found }
        let marks = try head.marks(of: caller.user, in: number, reader)
        found.notifications = answer.notifications(for: caller.user, with: roles, marking: marks)
        return found
    }
}
