// One device's feed: reads its next page when there is news for it.
//
// `FeedCalls` begins it. Between two pages the stream holds only the function that reads the next
// one. That function keeps what the feed looks for, and the notifications of an unfinished message:
// at most one message of them, which the room of the connection doesn't count. What is
// new is searched on a reader thread, by the first feed that asks; the event loop tells the others.
// hot: once per page of a feed.

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
    /// The device, as `TopicEvent.deviceDigest` names it; 0 if it has no name.
    let ownDevice: UInt64

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
    ///   - reach: From `.memory` nothing is read that takes long: `.notInMemory` is thrown.
    func page(
        of fetch: FetchFeed,
        told: Instant?,
        after begun: [Bytes] = [],
        reach: Reach = .disk
    ) throws -> Page {
        // A feed tells of the public database too.
        if let refusal = mayUse(.public) { throw refusal }
        let now = node.environment.now()
        // Count before the store is read: later rings are news.
        let rings = node.gate.bell.count(of: number)
        let answer = try answer(to: fetch, after: begun, reach)
        let page = answer.page
        if answer.isEnough, let token = fetch.token {
            node.meter.notifications.add(begun.count)
            return Page(message: message(of: begun, token)) { try self.page(of: fetch, told: nil) }
        }
        // How far a read comes depends on what others are told: it ends no message.
        if !page.isLast, !answer.isFull, page.reset == nil, page.awaited.isEmpty {
            let rest = next(after: page, of: fetch)
            let notifications = answer.notifications
            return .unfinished { try self.page(of: rest, told: told, after: notifications) }
        }
        let waits = !page.awaited.isEmpty
        let isDue = told.map { now - $0 >= FollowedFeed.progressMilliseconds } ?? !waits
        let isTold = isDue || answer.message != nil
        let message = isTold ? answer.message ?? message(of: page, []) : []
        node.meter.notifications.add(answer.notifications.count)
        if page.isLast, !isEndless { return Page(message: message) }
        let rest = next(after: page, of: fetch)
        let lastTold = !page.isLast ? nil : isTold ? now : told
        let read: @Sendable (Reach) throws -> Page = {
            try self.page(of: rest, told: lastTold, reach: $0)
        }
        var result = Page(message: message) { try read(.disk) }
        result.isSilent = !isTold
        if page.isLast || waits {
            result.news = AwaitedNews(
                scope: number,
                rings: rings,
                places: answer.places,
                until: (lastTold ?? now) + FollowedFeed.progressMilliseconds
            )
        }
        if page.isLast { result.news?.fromMemory = { try read(.memory) } }
        return result
    }

    /// The places that may have news for the next page; nil means any.
    private func places(of page: FetchFeed.Page) -> [NewsPlace]? {
        if !page.isLast { return page.awaited.map { .comparisons(of: $0) } }
        if page.watches.isOfOthers { return nil }
        return page.watches.topics.map { .topic($0) } + [.subscriptions(of: caller.user)]
    }

    private func message(of page: FetchFeed.Page, _ notifications: [Bytes]) -> Bytes {
        message(of: notifications, page.token, isCheckpoint: page.isLast, reset: page.reset)
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

    // MARK: Reading

    /// What the newest state of the store tells the device.
    private func answer(
        to fetch: FetchFeed,
        after begun: [Bytes],
        _ reach: Reach
    ) throws -> FeedAnswer {
        let (view, version) = node.gate.latestVersion(reach: reach)
        let question = begun.isEmpty ? FeedQuestion(fetch, number, by: caller) : nil
        if let known = node.feeds.answers.known(question, at: version), known.isFor(ownDevice) {
            return known
        }
        let reader = view.reader
        let head = try node.feeds.heads.answer(number, at: version) {
            try FeedHead(of: number, in: reader)
        }
        if reach == .memory, !fetch.isShort(at: head) { throw EngineError.notInMemory }
        let page = try fetch.begin(scope, number, at: head, by: caller, in: reader)
        let answer =
            if let read = page.read {
                try self.read(
                    FeedSearch(node: node, read: read, fetch: fetch, head: head, view: view),
                    for: page,
                    after: begun,
                    at: version
                )
            } else {
                self.answer(with: page, begun)
            }
        node.feeds.answers.keep(answer, to: question, at: version)
        return answer
    }

    /// Finds the news of a page, and judges which of them its user is told.
    private func read(
        _ common: FeedSearch,
        for begunPage: FetchFeed.Page,
        after begun: [Bytes],
        at version: UInt64
    ) throws -> FeedAnswer {
        var (page, search) = (begunPage, common)
        let reader = search.view.reader
        var answer = try node.feeds.pages.answer(search.read, at: version) {
            try common.run()
        }
        let roles = try search.view.schemas.roles(of: caller, in: number, reader).names
        var authors = answer.found?.authors
        let isOwn = ownDevice != 0 && authors?.contains(ownDevice) != false
        if isOwn || !begun.isEmpty || !answer.isWhole(for: caller.user, with: roles) {
            search.reader = FeedSearch.Reader(
                user: caller.user,
                roles: roles,
                ownDevice: isOwn ? ownDevice : 0,
                taken: begun.reduce(0) { $0 + $1.count }
            )
            answer = try search.run()
            if answer.found != nil, answer.isFull, answer.encoded.isEmpty, !begun.isEmpty {
                return self.answer(with: page, begun, isEnough: true)
            }
            let others = answer.found?.authors
            authors = isOwn ? nil : others.flatMap { authors?.union($0) }
        }
        page.take(answer.found, of: search.fetch, with: roles)
        var notifications = begun
        if !page.news.isEmpty {
            let marks = try search.head.marks(of: caller.user, in: number, reader)
            notifications += answer.notifications(
                for: caller.user,
                with: roles,
                marking: marks
            )
        }
        return self.answer(with: page, notifications, isFull: answer.isFull, authors: authors)
    }

    /// - Parameter authors: Devices that must not share the answer; nil means all devices.
    private func answer(
        with page: FetchFeed.Page,
        _ notifications: [Bytes],
        isFull: Bool = false,
        isEnough: Bool = false,
        authors: Set<UInt64>? = []
    ) -> FeedAnswer {
        let waits = !page.awaited.isEmpty
        let isUnfinished = !page.isLast && !isFull && page.reset == nil && !waits
        let isTold = !notifications.isEmpty || page.reset != nil || !page.isLast && !waits
        return FeedAnswer(
            page,
            notifications: notifications,
            isFull: isFull,
            isEnough: isEnough,
            authors: authors,
            places: places(of: page),
            message: isTold && !isUnfinished && !isEnough ? message(of: page, notifications) : nil
        )
    }
}
