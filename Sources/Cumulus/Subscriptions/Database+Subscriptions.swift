// Subscriptions: save, fetch, list, delete.
//
// Folder: what a user wants to be told of. Read `Database+Subscriptions`.

public import CumulusModel
import CumulusWire

extension Database {
    /// All subscriptions that the user has in this database, in the order of their ids.
    ///
    /// Predicates come in the server's form: they mean what was saved, sometimes in other words.
    public func allSubscriptions() async throws -> [Subscription] {
        try await fetch(nil).map { try $0.get() }
    }

    /// The subscription with that id.
    public func subscription(for subscriptionID: Subscription.ID) async throws -> Subscription {
        let results = try await subscriptions(for: [subscriptionID])
        guard let result = results[subscriptionID] else { throw Database.missingResult }
        return try result.get()
    }

    /// The subscriptions with these ids; each has a result of its own.
    public func subscriptions(
        for ids: [Subscription.ID]
    ) async throws -> [Subscription.ID: Result<Subscription, any Error>] {
        var found: [Subscription.ID: Result<Subscription, any Error>] = [:]
        let limit = try await core.hello().limits.itemsPerRequest
        for part in Array(Set(ids)).parts(of: limit) {
            let results = try await fetch(Array(part))
            try Database.check(results.count, of: part.count)
            for (id, result) in zip(part, results) {
                found[id] = result.mapError { $0 as any Error }
            }
        }
        return found
    }

    /// - Parameter ids: nil means all subscriptions.
    private func fetch(_ ids: [Subscription.ID]?) async throws -> [SubscriptionResult] {
        let request = FetchSubscriptionsRequest(
            database: databaseScope,
            ids: ids?.map { Bytes($0.utf8) }
        )
        let messages = try await core.read(.subscriptionsFetch, request.encoded())
        return try decoding {
            try messages.flatMap { try FetchSubscriptionsResponse(wire: $0).results }
        }
    }

    /// Saves a subscription, in place of the user's subscription with that id.
    ///
    /// - Throws: `serverRejectedRequest` if an equivalent subscription has another id;
    ///   `invalidArguments` for a predicate that no query may have, or without a change to fire on;
    ///   `badDatabase` for a kind that this database doesn't have; `limitExceeded` if the user has
    ///   too many subscriptions, or they are too large.
    @discardableResult
    public func save(_ subscription: Subscription) async throws -> Subscription {
        let results = try await modifySubscriptions(saving: [subscription], deleting: [])
        guard let result = results.saveResults[subscription.id] else {
            throw Database.missingResult
        }
        return try result.get()
    }

    /// Deletes a subscription.
    ///
    /// - Throws: `unknownItem` if the user has no subscription with that id.
    @discardableResult
    public func deleteSubscription(
        withID subscriptionID: Subscription.ID
    ) async throws -> Subscription.ID {
        let results = try await modifySubscriptions(saving: [], deleting: [subscriptionID])
        try results.deleteResults[subscriptionID]?.get()
        return subscriptionID
    }

    /// Saves and deletes subscriptions, in this order; each has a result of its own.
    ///
    /// A request that exceeds the server's limits is sent in parts. If the first part fails as a
    /// whole, the call throws. If a later part does, its subscriptions fail, and so do the
    /// subscriptions after it.
    public func modifySubscriptions(
        saving subscriptionsToSave: [Subscription],
        deleting subscriptionIDsToDelete: [Subscription.ID]
    ) async throws -> (
        saveResults: [Subscription.ID: Result<Subscription, any Error>],
        deleteResults: [Subscription.ID: Result<Void, any Error>]
    ) {
        var saveResults: [Subscription.ID: Result<Subscription, any Error>] = [:]
        var deleteResults: [Subscription.ID: Result<Void, any Error>] = [:]
        let parts = try await split(subscriptionsToSave, subscriptionIDsToDelete)
        var failure: ServiceError?
        for (number, part) in parts.enumerated() {
            do {
                if let failure { throw Database.unsent(after: failure) }
                let answer = try await modify(part)
                for (subscription, error) in zip(part.saves, answer.saves) {
                    saveResults[subscription.id] =
                        error.map { .failure($0) } ?? .success(subscription)
                }
                for (id, error) in zip(part.deletes, answer.deletes) {
                    deleteResults[id] = error.map { .failure($0) } ?? .success(())
                }
            } catch let error as ServiceError where number > 0 {
                failure = failure ?? error
                for subscription in part.saves { saveResults[subscription.id] = .failure(error) }
                for id in part.deletes { deleteResults[id] = .failure(error) }
            }
        }
        return (saveResults, deleteResults)
    }

    private struct Part {
        var saves: [Subscription] = []
        var deletes: [Subscription.ID] = []
        var byteCount = 0
    }

    /// Cuts a request where it would exceed the server's limits.
    private func split(
        _ saves: [Subscription],
        _ deletes: [Subscription.ID]
    ) async throws -> [Part] {
        let limits = try await core.hello().limits
        var parts = [Part()]
        func makeRoom(_ byteCount: Int) {
            let part = parts[parts.count - 1]
            let count = part.saves.count + part.deletes.count
            // Leave room for the other parts of the message.
            let isLong = part.byteCount + byteCount > limits.requestBytes - 1_024
            if count > 0, isLong || count >= limits.itemsPerRequest { parts.append(Part()) }
            parts[parts.count - 1].byteCount += byteCount
        }
        for subscription in saves {
            makeRoom(WireSubscription(subscription).byteCount + 8)
            parts[parts.count - 1].saves.append(subscription)
        }
        for id in deletes {
            makeRoom(id.utf8.count + 8)
            parts[parts.count - 1].deletes.append(id)
        }
        return parts
    }

    /// One request, within the server's limits.
    private func modify(
        _ part: Part
    ) async throws -> (saves: [ServiceError?], deletes: [ServiceError?]) {
        let (saving, deleting) = (part.saves, part.deletes)
        let request = ModifySubscriptionsRequest(
            database: databaseScope,
            saves: saving.map { WireSubscription($0) },
            deletes: deleting.map { Bytes($0.utf8) }
        )
        let messages = try await core.change(.subscriptionsModify, request.encoded())
        var answer: (saves: [ServiceError?], deletes: [ServiceError?]) = ([], [])
        for message in messages {
            let part = try decoding { try ModifySubscriptionsResponse(wire: message) }
            answer.saves += part.saves
            answer.deletes += part.deletes
        }
        try Database.check(answer.saves.count, of: saving.count)
        try Database.check(answer.deletes.count, of: deleting.count)
        return answer
    }
}
