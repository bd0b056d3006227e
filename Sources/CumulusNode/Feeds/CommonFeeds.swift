// The pages of feeds from the newest state of the store, read and encoded once for all feeds with
// equal reads: devices of one user, and users with equal subscriptions.
//
// Held by the node, asked by `FollowedFeed` on event loops and reader threads. A save that a
// thousand devices follow is looked up once; each user then costs a token, and each device a write
// to its socket.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

final class CommonFeeds: Sendable {
    let heads = CommonPages<ScopeNumber, FeedHead> { _, _ in 0 }
    let pages = CommonPages<FeedRead, FeedSearch.Answer> { read, answer in
        answer.encoded.reduce(read.byteCount) { $0 + $1.bytes.count }
    }
    /// What the devices of a user are told.
    let answers = CommonPages<FeedQuestion, FeedAnswer>(
        size: { _, answer in answer.byteCount },
        isShared: { $0.isShared }
    )
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
        /// Whether the message has no room for what comes next.
        var isFull = false

        /// Whether a user with these roles is told all of it, as far as that is known.
        func isWhole(for user: String, with roles: Set<String>) -> Bool {
            // Another reader may still have room for what a full message has not.
            found != nil && !isFull
                && encoded.allSatisfy { $0.readers.include(user, with: roles) }
        }

        /// The notifications for a user with these roles, with the user's marks.
        func notifications(
            for user: String,
            with roles: Set<String>,
            marking marks: ReadMarks
        ) -> [Bytes] {
            encoded.filter { $0.readers.include(user, with: roles) }.map {
                marks.holds($0.id, of: $0.dots) ? WireNotification.marked($0.bytes) : $0.bytes
            }
        }
    }

    /// The reader that a page is for, if it is not the same for all who ask the same.
    struct Reader {
        let user: String
        let roles: Set<String>
        /// Leaves out the changes of this device; 0 leaves out nothing.
        let ownDevice: UInt64
        /// Bytes of notifications that are in the message already.
        let taken: Int
    }

    let node: Node
    let read: FeedRead
    let fetch: FetchFeed
    let head: FeedHead
    let view: StoreView
    /// Only what it is told fills its page.
    var reader: Reader?

    /// Reads a page that fits in a message.
    func run() throws -> Answer {
        var end: UInt64?
        var isFull = false
        while true {
            let found = try read.run(
                fetch,
                at: head,
                through: end,
                leavingOut: reader?.ownDevice ?? 0,
                in: view.reader,
                schemas: view.schemas
            )
            guard let found else { return Answer() }
            switch try encode(found.news) {
            case .all(let encoded): return Answer(found: found, encoded: encoded, isFull: isFull)
            case .through(let position): (end, isFull) = (position, true)
            case .nothing: return Answer(found: found, isFull: true)
            case .none: return Answer()
            }
        }
    }

    private enum Size {
        case all([Encoded])
        /// They are too many for a page; those up to this position may fit.
        case through(UInt64)
        /// The message holds enough without them.
        case nothing
        /// One commit has more than a message holds, so the feed is reset.
        case none
    }

    private func encode(_ news: [FeedNews]) throws -> Size {
        let limits = node.configuration.limits
        let told = news.filter { news in
            reader.map { news.readers.include($0.user, with: $0.roles) } ?? true
        }
        let taken = reader?.taken ?? 0
        var (encoded, byteCount) = ([Encoded](), taken)
        var last: (before: UInt64?, position: UInt64) = (nil, told.first?.position ?? 0)
        for news in told {
            if news.position != last.position { last = (last.position, news.position) }
            let id = node.mint.id(of: news)
            let notification = try news.notification(
                id,
                in: read.scope,
                byteLimit: limits.notificationBytes,
                view.reader
            )
            let bytes = WireNotification(notification).encoded()
            byteCount += bytes.count
            if byteCount > limits.pageBytes {
                if let before = last.before { return .through(before) }
                if taken > 0 { return .nothing }
            }
            if byteCount > limits.answerBytes { return .none }
            encoded.append(Encoded(id: id, dots: news.dots, bytes: bytes, readers: news.readers))
        }
        return .all(encoded)
    }
}
