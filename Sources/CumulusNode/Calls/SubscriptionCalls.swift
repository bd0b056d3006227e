// The calls on subscriptions: save and delete, fetch by ids or all; and for operators what those of
// a user cost, and their end.
//
// Called through `MethodTable`.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

enum SubscriptionCalls {
    static func modify(_ context: CallContext) throws {
        try context.parsing {
            try $0.modifySubscriptions(context.message)
        } then: { request in
            try context.write(request) { outcome in
                let response = ModifySubscriptionsResponse(
                    saves: outcome.saves.map(error),
                    deletes: outcome.deletes.map(error)
                )
                return [response.encoded()]
            }
        }
    }

    private static func error(_ item: ModifyOutcome.Item) -> ServiceError? {
        if case .failure(let failure) = item { failure.error } else { nil }
    }

    static func fetch(_ context: CallContext) throws {
        try context.parsing {
            try $0.fetchSubscriptions(context.message)
        } then: { request in
            try context.readFromDisk { try page(of: request, from: 0, $0) }
        }
    }

    /// The subscriptions from the `start`-th on, until the message is large enough.
    private static func page(
        of request: FetchSubscriptions,
        from start: Int,
        _ context: ReadContext
    ) throws -> Page {
        let page = try request.page(
            from: start,
            byteLimit: context.limits.pageBytes,
            of: context.number,
            by: context.caller,
            in: context.reader
        )
        let message = FetchSubscriptionsResponse.encoded(page.results)
        guard let next = page.next else { return Page(message: message) }
        return Page(message: message) {
            _ = try context.newest(for: request.database)
            return try self.page(of: request, from: next, context)
        }
    }

    // MARK: For operators

    static func list(_ context: CallContext) throws {
        let request = try ListUserSubscriptionsRequest(wire: context.message)
        let user = try Names.checkIdentifier(request.user[...], "user name")
        try context.readFromDisk { context in
            let found = try OwnedSubscriptions.all(
                of: user,
                in: context.scope.container,
                context.number,
                context.reader
            ).map(WireUserSubscription.init)
            return Page(found[...], encode: ListUserSubscriptionsResponse.answer)
        }
    }

    static func end(_ context: CallContext) throws {
        let request = try EndSubscriptionsRequest(wire: context.message)
        let user = try Names.checkIdentifier(request.user[...], "user name")
        guard request.ids.count <= context.limits.itemsPerRequest else {
            throw ServiceError.tooManyItems(
                request.ids.count,
                limit: context.limits.itemsPerRequest
            )
        }
        let ids = try request.ids.map { try Names.checkASCII($0[...], "subscription id") }
        context.concerns("\(user): \(told(ids))")
        let end = EndSubscriptions(user: user, ids: Set(ids))
        try context.change(end) { count in
            if count == 0 { context.concernsNothing() }
            return [EndSubscriptionsResponse.encoded(count: count)]
        }
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
