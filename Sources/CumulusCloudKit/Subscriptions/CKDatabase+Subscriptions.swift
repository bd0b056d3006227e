// Subscriptions: list, fetch, save, delete, with `await` and with handlers.

internal import Cumulus
internal import CumulusModel

/// Results of subscriptions by their ids.
typealias SubscriptionResults = [CKSubscription.ID: Result<CKSubscription, any Error>]

extension Database {
    func fetchSubscriptions(_ ids: [CKSubscription.ID]) async throws -> SubscriptionResults {
        try await subscriptions(for: ids).mapValues { result in
            result.map { CKSubscription.subscription($0) }.mapError { CKError(any: $0) }
        }
    }

    func modifySubscriptions(
        _ subscriptions: [CKSubscription],
        deleting ids: [CKSubscription.ID]
    ) async throws -> (
        saveResults: SubscriptionResults,
        deleteResults: [CKSubscription.ID: Result<Void, any Error>]
    ) {
        let results = try await modifySubscriptions(
            saving: subscriptions.map { try $0.model() },
            deleting: ids
        )
        var saves: SubscriptionResults = [:]
        for subscription in subscriptions {
            saves[subscription.subscriptionID] =
                results.saveResults[subscription.subscriptionID]?
                .map { _ in subscription }.mapError { CKError(any: $0) }
        }
        return (saves, results.deleteResults.objects { $0 })
    }
}

extension CKDatabase {
    /// All subscriptions that the user has in this database.
    @discardableResult
    public func allSubscriptions() async throws -> [CKSubscription] {
        try await call { try await $0.allSubscriptions() }.map {
            CKSubscription.subscription($0)
        }
    }

    /// The subscription of that id.
    public func subscription(
        for subscriptionID: CKSubscription.ID
    ) async throws -> CKSubscription {
        try CKDatabase.only(try await subscriptions(for: [subscriptionID])[subscriptionID])
    }

    /// The subscriptions of these ids; each has a result of its own.
    public func subscriptions(
        for ids: [CKSubscription.ID]
    ) async throws -> [CKSubscription.ID: Result<CKSubscription, any Error>] {
        try await call { try await $0.fetchSubscriptions(ids) }
    }

    /// Saves and deletes subscriptions; each has a result of its own.
    public func modifySubscriptions(
        saving subscriptionsToSave: [CKSubscription],
        deleting subscriptionIDsToDelete: [CKSubscription.ID]
    ) async throws -> (
        saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
        deleteResults: [CKSubscription.ID: Result<Void, any Error>]
    ) {
        try await call { database in
            try await database.modifySubscriptions(
                subscriptionsToSave,
                deleting: subscriptionIDsToDelete
            )
        }
    }

    /// Saves a subscription, in place of the user's subscription with that id.
    @discardableResult
    public func save(_ subscription: CKSubscription) async throws -> CKSubscription {
        let results = try await modifySubscriptions(saving: [subscription], deleting: [])
        return try CKDatabase.only(results.saveResults[subscription.subscriptionID])
    }

    /// Deletes a subscription.
    @discardableResult
    public func deleteSubscription(
        withID subscriptionID: CKSubscription.ID
    ) async throws -> CKSubscription.ID {
        let results = try await modifySubscriptions(saving: [], deleting: [subscriptionID])
        try CKDatabase.only(results.deleteResults[subscriptionID])
        return subscriptionID
    }

    // MARK: - Handlers

    /// Fetches all subscriptions that the user has in this database.
    @preconcurrency
    public func fetchAllSubscriptions(
        completionHandler: @escaping @Sendable ([CKSubscription]?, (any Error)?) -> Void
    ) {
        start({ try await $0.allSubscriptions() }, pair(completionHandler))
    }

    /// Fetches the subscription of that id.
    @preconcurrency
    public func fetch(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        start({ try await $0.subscription(for: subscriptionID) }, pair(completionHandler))
    }

    /// Fetches the subscriptions of these ids; each has a result of its own.
    @preconcurrency
    public func fetch(
        withSubscriptionIDs subscriptionIDs: [CKSubscription.ID],
        completionHandler:
            @escaping @Sendable (
                Result<[CKSubscription.ID: Result<CKSubscription, any Error>], any Error>
            ) -> Void
    ) {
        start({ try await $0.subscriptions(for: subscriptionIDs) }, completionHandler)
    }

    /// Saves a subscription, in place of the user's subscription with that id.
    @preconcurrency
    public func save(
        _ subscription: CKSubscription,
        completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        start({ try await $0.save(subscription) }, pair(completionHandler))
    }

    /// Deletes a subscription.
    @preconcurrency
    public func delete(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping @Sendable (CKSubscription.ID?, (any Error)?) -> Void
    ) {
        start(
            { try await $0.deleteSubscription(withID: subscriptionID) },
            pair(completionHandler)
        )
    }

    /// Saves and deletes subscriptions; each has a result of its own.
    @preconcurrency
    public func modifySubscriptions(
        saving subscriptionsToSave: [CKSubscription],
        deleting subscriptionIDsToDelete: [CKSubscription.ID],
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
                        deleteResults: [CKSubscription.ID: Result<Void, any Error>]
                    ), any Error
                >
            ) -> Void
    ) {
        start(
            { database in
                try await database.modifySubscriptions(
                    saving: subscriptionsToSave,
                    deleting: subscriptionIDsToDelete
                )
            },
            completionHandler
        )
    }
}
