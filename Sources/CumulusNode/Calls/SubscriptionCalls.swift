// The calls on subscriptions: save and delete, fetch by ids or all. Operators ask what a user's
// subscriptions cost, and end them.
//
// `MethodTable` lists them.

import CumulusModel
import CumulusOperations
import CumulusRequests
import CumulusStorage
import CumulusWire

enum SubscriptionCalls {
    static let methods: [MethodEntry] = [
        .init(
            .subscriptionsModify,
            .message,
            [.requestID, .token],
            parse: RequestParser.modifySubscriptions,
            write: { request, _ in request },
            encode: oneMessage { outcome in
                ModifySubscriptionsResponse(
                    saves: outcome.saves.map(error),
                    deletes: outcome.deletes.map(error)
                ).encoded()
            }
        ),
        .init(
            .subscriptionsFetch,
            .parts,
            [.token, .credit],
            parse: RequestParser.fetchSubscriptions,
            read: fetch,
            encode: { results, _ in FetchSubscriptionsResponse(results).encoded() }
        ),
        .init(
            .subscriptionsList,
            .parts,
            .operator,
            parse: decoded { try ListUserSubscriptionsRequest(wire: $0).bytes },
            read: list,
            encode: { found, _ in ListUserSubscriptionsResponse(found).encoded() }
        ),
        .init(
            .subscriptionsEnd,
            .message,
            .act,
            parse: decoded(EndSubscriptionsRequest.init(wire:)),
            change: end,
            encode: ended
        ),
    ]

    private static func error(_ item: ModifyOutcome.Item) -> ServiceError? {
        if case .failure(let failure) = item { failure.error } else { nil }
    }

    private typealias Fetched = [Result<Subscription, ServiceError>]

    private static func fetch(
        _ request: FetchSubscriptions,
        _ context: CallContext
    ) -> Reading<Fetched>? {
        .onDisk { try part(of: request, from: 0, $0) }
    }

    /// The subscriptions from the `start`-th on, until the message is large enough.
    private static func part(
        of request: FetchSubscriptions,
        from start: Int,
        _ context: ReadContext
    ) throws -> Part<Fetched> {
        let page = try request.page(
            from: start,
            byteLimit: context.limits.pageBytes,
            of: context.number,
            by: context.caller,
            in: context.reader
        )
        guard let next = page.next else { return Part(page.results) }
        return Part(page.results) {
            _ = try context.newest(for: request.database)
            return try part(of: request, from: next, context)
        }
    }

    // MARK: For operators

    private static func list(
        _ raw: Bytes,
        _ context: CallContext
    ) throws -> Reading<ArraySlice<WireUserSubscription>>? {
        let user = try Names.checkIdentifier(raw[...], "user name")
        return .onDisk { context in
            let found = try OwnedSubscriptions.all(
                of: user,
                in: context.scope.container,
                context.number,
                context.reader
            ).map(WireUserSubscription.init)
            return Part(list: found[...])
        }
    }

    private static func end(
        _ request: EndSubscriptionsRequest,
        _ context: CallContext
    ) throws -> EndSubscriptions {
        let user = try Names.checkIdentifier(request.user[...], "user name")
        guard request.ids.count <= context.limits.itemsPerRequest else {
            throw ServiceError.tooManyItems(
                request.ids.count,
                limit: context.limits.itemsPerRequest
            )
        }
        let ids = try request.ids.map { try Names.checkASCII($0[...], "subscription id") }
        context.concerns("\(user): \(told(ids))")
        return EndSubscriptions(user: user, ids: Set(ids))
    }

    private static func ended(
        _ count: Int,
        _ request: EndSubscriptionsRequest,
        _ context: CallContext
    ) -> [Bytes] {
        if count == 0 { context.concernsNothing() }
        return [EndSubscriptionsResponse(count: count).encoded()]
    }

    /// The ids as a line of the audit log has them: the first few of many.
    private static func told(_ ids: [Subscription.ID]) -> String {
        if ids.isEmpty { return "all subscriptions" }
        let first = ids.prefix(10).joined(separator: ", ")
        let rest = ids.count > 10 ? " and \(ids.count - 10) more" : ""
        return "subscriptions \(first)\(rest)"
    }
}

extension WireUserSubscription {
    fileprivate init(_ stored: StoredSubscription) {
        let kind: Kind
        let type: String?
        switch stored.subscription.kind {
        case .query(let recordType, _, _): (kind, type) = (.query, recordType)
        case .zone(_, let recordType): (kind, type) = (.zone, recordType)
        case .database(let recordType): (kind, type) = (.database, recordType)
        }
        self.init(
            database: stored.database.kind,
            id: Bytes(stored.subscription.id.utf8),
            kind: kind,
            recordType: Bytes((type ?? "").utf8),
            comparisons: UInt32(clamping: stored.comparisonCount),
            cost: UInt32(clamping: stored.cost),
            hasFired: stored.fired != nil
        )
    }
}
