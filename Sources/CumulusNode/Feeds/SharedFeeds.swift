// The pages of feeds from the newest state of the store, read and encoded once for all feeds with
// equal reads: devices of one user, and users with equal subscriptions.
//
// Held by the node, asked by `FollowedFeed` on reader threads. A save that a thousand devices
// follow is looked up once; each device then costs a token and a write to its socket.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

struct SharedFeeds: Sendable {
    let heads = SharedPages<ScopeNumber, FeedHead> { _, _ in 0 }
    let pages = SharedPages<FeedRead, FeedSearch.Answer> { read, answer in
        answer.encoded.reduce(read.byteCount) { $0 + $1.bytes.count }
    }
}

/// Finds the news of a page that fits in a message, and encodes their notifications.
struct FeedSearch {
    /// A notification as it goes over the wire, unread.
    struct Encoded: Sendable {
        let id: FeedNotification.ID
        let dots: [Dot]
        let bytes: Bytes
        /// The users who are told, of all who ask.
        let readers: Grants.Readers
    }

    struct Answer: Sendable {
        /// nil if one commit has more news than a message holds.
        var found: FeedRead.Found?
        var encoded: [Encoded] = []

        /// The notifications for a user with these roles, with the user's marks.
        func notifications(
            for user: String,
            with roles: Set<String>,
            marking marks: ReadMarks
        ) -> [Bytes] {
            encoded.filter { $0.readers.include(user, with: roles) }.map {
                marks.holds($0.id, of: $0.dots) ? WireFeedPage.marked($0.bytes) : $0.bytes
            }
        }
    }

    let node: Node
    let read: FeedRead
    let fetch: FetchFeed
    let head: FeedHead
    let view: StoreView

    /// Reads a page that fits in a message.
    ///
    /// - Parameter mark: Leaves out the changes of the device with this mark; 0 leaves out nothing.
    func run(leavingOut mark: UInt64 = 0) throws -> Answer {
        var end: UInt64?
        while true {
            let found = try read.run(
                fetch,
                at: head,
                through: end,
                leavingOut: mark,
                in: view.reader,
                schemas: view.schemas
            )
            guard let found else { return Answer() }
            switch try encode(found.news) {
            case .all(let encoded): return Answer(found: found, encoded: encoded)
            case .through(let position): end = position
            case .none: return Answer()
            }
        }
    }

    private enum Size {
        case all([Encoded])
        /// They are too many for a page; those up to this position may fit.
        case through(UInt64)
        /// One commit has more than a message holds, so the feed is reset.
        case none
    }

    private func encode(_ news: [FeedNews]) throws -> Size {
        let limits = node.configuration.limits
        var (encoded, byteCount) = ([Encoded](), 0)
        var last: (before: UInt64?, position: UInt64) = (nil, news.first?.position ?? 0)
        for news in news {
            if news.position != last.position { last = (last.position, news.position) }
            let id = node.mint.id(of: news)
            let notification = try news.notification(
                id,
                in: read.scope,
                byteLimit: limits.notificationBytes,
                view.reader
            )
            let bytes = WireFeedPage.encoded(notification)
            byteCount += bytes.count
            if byteCount > limits.pageBytes, let before = last.before { return .through(before) }
            if byteCount > limits.answerBytes { return .none }
            encoded.append(Encoded(id: id, dots: news.dots, bytes: bytes, readers: news.readers))
        }
        return .all(encoded)
    }
}
