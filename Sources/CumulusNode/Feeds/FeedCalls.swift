// The call that follows a user's feed: pages since a token, then one for each change that a
// subscription asks for.
//
// Called through `MethodTable`. The token is opened and waited for as in a fetch of changes.
//
// Folder: what devices are told while they are connected. Read `FeedCalls`.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

enum FeedCalls {
    static func follow(_ context: CallContext) throws {
        try context.parsing { _ in
            try FollowFeedRequest(wire: context.message)
        } then: { request in
            try follow(request, context)
        }
    }

    private static func follow(_ request: FollowFeedRequest, _ context: CallContext) throws {
        let scope = try context.scope()
        let token = try token(request.token, scope, context)
        guard context.reaches(token?.base) else { return }
        let (node, caller) = (context.node, context.caller)
        // Where there are other nodes, what it covers may be on its way.
        let isFinal = node.isAlone || context.hasWaited
        let isLost = isFinal && token.map { context.isLost($0.base, since: $0.truncation) } ?? false
        try context.follow {
            guard let number = try node.gate.latest(reach: .disk).scope(scope) else {
                throw Containers.unknown(scope.container)
            }
            var fetch = FetchFeed(
                since: token,
                run: node.incarnation,
                environment: scope.environment
            )
            fetch.isLost = isLost
            let feed = FollowedFeed(
                node: node,
                scope: scope,
                number: number,
                caller: caller,
                isEndless: !request.untilCheckpoint
            )
            return try feed.page(of: fetch, told: nil)
        }
    }

    /// Opens a feed token; nil means the request has none.
    private static func token(
        _ bytes: Bytes,
        _ scope: ScopeID,
        _ context: CallContext
    ) throws(ServiceError) -> FeedToken? {
        guard !bytes.isEmpty else { return nil }
        guard let token = context.node.mint.feed(bytes) else {
            throw .tokenExpired("no node of this cluster made it, or it is damaged")
        }
        try token.check(scope, context.caller.user)
        return token
    }
}

/// Reads the pages of one feed.
private struct FollowedFeed: Sendable {
    let node: Node
    let scope: ScopeID
    let number: ScopeNumber
    let caller: Caller
    /// It goes on when the device is up to date.
    let isEndless: Bool

    /// Milliseconds after which a device gets a newer token though nothing was told: with an old
    /// one it would be reset some day.
    private static let progressMilliseconds: Int64 = 600_000

    /// The next page; how to go on is part of it.
    ///
    /// - Parameter told: When the device was told that it is up to date; nil means that it was not
    ///   yet, or that something was told since.
    func page(of fetch: FetchFeed, told: Instant?) throws -> Page {
        let now = node.environment.now()
        // Before the store is looked at: what comes later is news.
        let rings = node.gate.bell.count(of: number)
        let reader = node.gate.latest(reach: .disk)
        let (page, notifications) = try fit(fetch, reader)
        let isDue = told.map { now - $0 >= FollowedFeed.progressMilliseconds } ?? true
        let isTold = isDue || page.isWorthTelling
        var next = fetch
        next.token = page.token
        next.isLost = false
        next.end = nil
        next.place = page.isLast ? page.place : nil
        var message: Bytes = []
        if isTold {
            message = WireFeedPage.encoded(
                notifications: notifications,
                token: node.mint.make(page.token),
                isCheckpoint: page.isLast,
                reset: page.reset
            )
        }
        if page.isLast, !isEndless { return Page(message: message) }
        let (rest, lastTold) = (next, !page.isLast ? nil : isTold ? now : told)
        var answer = Page(message: message) { try self.page(of: rest, told: lastTold) }
        answer.isSilent = !isTold
        if page.isLast {
            answer.news = AwaitedNews(
                scope: number,
                rings: rings,
                places: page.topics.map { .topic($0) } + [.subscriptions(of: caller.user)],
                until: (lastTold ?? now) + FollowedFeed.progressMilliseconds
            )
        }
        return answer
    }

    // MARK: Sizes

    /// A page that fits in a message, and its encoded notifications: all of a commit or none.
    private func fit(
        _ wanted: FetchFeed,
        _ reader: ReadTransaction
    ) throws -> (page: FetchFeed.Page, notifications: [Bytes]) {
        var fetch = wanted
        while true {
            let page = try fetch.run(scope, number, by: caller, in: reader)
            switch try encode(page.news, reader) {
            case .all(let notifications): return (page, notifications)
            case .through(let position): fetch.end = position
            case .none: fetch.isLost = true
            }
        }
    }

    private enum Encoded {
        case all([Bytes])
        /// They are too many: those up to that position may fit.
        case through(UInt64)
        /// One commit is more than a message holds: the device asks anew.
        case none
    }

    private func encode(_ news: [FeedNews], _ reader: ReadTransaction) throws -> Encoded {
        let limits = node.configuration.limits
        var (encoded, byteCount) = ([Bytes](), 0)
        var last: (before: UInt64?, position: UInt64) = (nil, news.first?.position ?? 0)
        for news in news {
            if news.position != last.position { last = (last.position, news.position) }
            let notification = try news.notification(
                node.mint.id(of: news),
                in: number,
                byteLimit: limits.notificationBytes,
                reader
            )
            let bytes = WireFeedPage.encoded(notification)
            byteCount += bytes.count
            if byteCount > limits.pageBytes, let before = last.before { return .through(before) }
            if byteCount > limits.answerBytes { return .none }
            encoded.append(bytes)
        }
        return .all(encoded)
    }
}

extension FetchFeed.Page {
    /// A page that says nothing new needs no message.
    fileprivate var isWorthTelling: Bool { !news.isEmpty || reset != nil || !isLast }
}
