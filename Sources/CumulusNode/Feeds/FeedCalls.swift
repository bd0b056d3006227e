// The call that follows a user's feed: pages since a token, then one for each change that a
// subscription asks for.
//
// Called through `MethodTable`. The token is opened and waited for as in a fetch of changes.
//
// Folder: what devices are told while they are connected. Read `FeedCalls`, then `FollowedFeed` and
// `SharedFeeds`.

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
        guard context.reaches(token?.needed) else { return }
        let (node, caller) = (context.node, context.caller)
        // Where there are other nodes, what it covers may be on its way.
        let isFinal = node.isAlone || context.hasWaited
        let isLost =
            isFinal && token.map { context.isLost($0.needed, since: $0.truncation) } ?? false
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
