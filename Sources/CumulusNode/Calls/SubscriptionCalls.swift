// The calls on subscriptions: save and delete, fetch by ids or all.
//
// Called through `MethodTable`.

import CumulusModel
import CumulusOperations
import CumulusWire

enum SubscriptionCalls {
    static func modify(_ context: CallContext) throws {
        try context.parsing {
            try $0.modifySubscriptions(context.message)
        } then: { request in
            try context.write(.modifySubscriptions(request)) { answer in
                guard case .modified(let outcome) = answer else { return [] }
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
}
