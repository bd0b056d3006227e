// The calls on a user's feed: follow it, and mark what it told as read.
//
// Called through `MethodTable`. A call to follow is answered with the pages since a token, and then
// with a page when something happens. It waits until this node has read what the token covers.
//
// Folder: what devices are told while they are connected. Read `FeedCalls`, then `FollowedFeed` and
// `SharedFeeds`; `ComparisonKeeper` finds what a batch of writes left to be found later.

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
                isEndless: !request.untilCheckpoint
            )
            return try feed.page(of: fetch, told: nil)
        }
    }

    static func markRead(_ context: CallContext) throws {
        let limits = context.node.configuration.limits
        try context.parsing { _ in
            let request = try MarkReadRequest(wire: context.message)
            // Check the number first: decoding the ids takes memory.
            let limit = MarkRead.mostIDs(limits)
            guard request.ids.count <= limit else {
                throw ServiceError.tooManyItems(request.ids.count, limit: limit)
            }
            return (ids: try request.ids.map(notificationID), token: request.token)
        } then: { request in
            let token = try token(request.token, try context.scope(), context)
            var operation = MarkRead(request.ids, upTo: token, limits: limits)
            operation.webhook = context.identity.webhook
            // The answer is one empty message.
            try context.write(operation) { _ in [[]] }
        }
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
