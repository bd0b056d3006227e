// The calls on a user's feed: follow it, and mark what it told as read.
//
// `MethodTable` lists them. A call to follow is answered with the pages since a token, and then
// with a page when something happens. It waits until this node has read what the token covers.
//
// Folder: what devices are told while they are connected. Read `FeedCalls`, then `FollowedFeed`,
// `FeedAnswer` and `CommonFeeds`; `ComparisonKeeper` finds what a batch of writes left to be found
// later. `PushCalls` and `Node+Pushes` are about devices that are woken.

import CumulusModel
import CumulusOperations
import CumulusRequests
import CumulusStorage
import CumulusWire

enum FeedCalls {
    static let methods: [MethodEntry] = [
        .init(
            .feedsFollow,
            .endlessParts,
            [.token, .credit],
            parse: decoded(FollowFeedRequest.init(wire:)),
            begin: follow
        ),
        .init(
            .feedsMarkRead,
            .message,
            [.requestID, .token],
            parse: marks,
            write: markRead,
            // The answer is one empty message.
            encode: oneMessage { _ in [] }
        ),
    ]

    private static func follow(_ request: FollowFeedRequest, _ context: CallContext) throws {
        let scope = try context.scope()
        let token = try token(request.token, scope, context)
        let isLost = token.map { context.isLost($0.needed, since: $0.truncation) } ?? false
        guard isLost || context.reaches(token?.needed) else { return }
        let (node, caller, mayUse) = (context.node, context.caller, context.mayUse)
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
            fetch.isHistory = request.isHistory
            let feed = FollowedFeed(
                node: node,
                scope: scope,
                number: number,
                caller: caller,
                mayUse: mayUse,
                isEndless: !request.untilCheckpoint,
                ownDevice: TopicEvent.deviceDigest(caller.device, of: caller.user)
            )
            return try feed.page(of: fetch, told: nil)
        }
    }

    /// What is to be marked, with the token as it came.
    private struct Marks {
        let ids: [FeedNotification.ID]
        let token: Bytes
    }

    @Sendable private static func marks(
        _ parser: RequestParser
    ) -> (Bytes) throws -> Marks {
        { bytes in
            let request = try MarkReadRequest(wire: bytes)
            // Check the number first: decoding the ids takes memory.
            let limit = MarkRead.mostIDs(parser.limits)
            guard request.ids.count <= limit else {
                throw ServiceError.tooManyItems(request.ids.count, limit: limit)
            }
            return Marks(ids: try request.ids.map(notificationID), token: request.token)
        }
    }

    private static func markRead(_ marks: Marks, _ context: CallContext) throws -> MarkRead {
        let token = try token(marks.token, try context.scope(), context)
        var change = MarkRead(marks.ids, upTo: token, limits: context.limits)
        change.webhook = context.identity.webhook
        return change
    }

    private static func notificationID(
        _ bytes: Bytes
    ) throws(ServiceError) -> FeedNotification.ID {
        guard bytes.count == FeedNotification.ID.byteCount else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                """
                the id of a notification has \(FeedNotification.ID.byteCount) bytes, and not \
                \(bytes.count); use ids that a feed told
                """
            )
        }
        return FeedNotification.ID(bytes: bytes)
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
