// Fetches subscriptions, and saves and deletes them.

internal import Cumulus
internal import Foundation

/// Fetches subscriptions by their ids, or all subscriptions.
open class CKFetchSubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
    /// The subscriptions to fetch; nil means all.
    @_Guarded public var subscriptionIDs: [CKSubscription.ID]? = nil
    /// Called once for each subscription.
    @_Block
    public var perSubscriptionResultBlock:
        ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)? = nil
    /// Called at the end.
    @_Block
    public var fetchSubscriptionsResultBlock: ((Result<Void, any Error>) -> Void)? = nil
    /// The old form of both: with all subscriptions.
    @_Block
    public var fetchSubscriptionCompletionBlock:
        (([CKSubscription.ID: CKSubscription]?, (any Error)?) -> Void)? = nil

    @_Guarded private var results: SubscriptionResults = [:]

    /// Fetches all subscriptions.
    public override init() {}

    /// Fetches these subscriptions.
    public convenience init(subscriptionIDs: [CKSubscription.ID]) {
        self.init()
        self.subscriptionIDs = subscriptionIDs
    }

    /// Fetches all subscriptions.
    public class func fetchAllSubscriptionsOperation() -> CKFetchSubscriptionsOperation {
        CKFetchSubscriptionsOperation()
    }

    override func run() async throws {
        let ids = subscriptionIDs
        do {
            results = try await call { database in
                if let ids { return try await database.fetchSubscriptions(ids) }
                let all = try await database.allSubscriptions()
                return all.reduce(into: [:]) {
                    $0[$1.id] = .success(CKSubscription.subscription($1))
                }
            }
        } catch {
            for id in ids ?? [] { results[id] = .failure(error) }
            tell()
            throw error
        }
        tell()
    }

    private func tell() {
        for (id, result) in results { perSubscriptionResultBlock?(id, result) }
    }

    override func conclude(_ error: CKError?) {
        fetchSubscriptionsResultBlock?(error.map { .failure($0) } ?? .success(()))
        let found = results.compactMapValues { try? $0.get() }
        fetchSubscriptionCompletionBlock?(found, error ?? CKError.partial(failures(results)))
    }
}

/// Saves and deletes subscriptions.
open class CKModifySubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
    /// The subscriptions to save.
    @_Guarded public var subscriptionsToSave: [CKSubscription]? = nil
    /// The subscriptions to delete.
    @_Guarded public var subscriptionIDsToDelete: [CKSubscription.ID]? = nil
    /// Called once for each subscription to save.
    @_Block
    public var perSubscriptionSaveBlock:
        ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)? = nil
    /// Called once for each subscription to delete.
    @_Block
    public var perSubscriptionDeleteBlock: ((CKSubscription.ID, Result<Void, any Error>) -> Void)? =
        nil
    /// Called at the end; a `partialFailure` has the errors of the subscriptions that failed.
    @_Block
    public var modifySubscriptionsResultBlock: ((Result<Void, any Error>) -> Void)? = nil
    /// The old form of `modifySubscriptionsResultBlock`: with what was saved and deleted.
    @_Block
    public var modifySubscriptionsCompletionBlock:
        (([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)? = nil

    @_Guarded private var saves: SubscriptionResults = [:]
    @_Guarded private var deletes: [CKSubscription.ID: Result<Void, any Error>] = [:]

    /// An operation without inputs.
    public override init() {}

    /// Saves and deletes these subscriptions.
    public convenience init(
        subscriptionsToSave: [CKSubscription]? = nil,
        subscriptionIDsToDelete: [CKSubscription.ID]? = nil
    ) {
        self.init()
        self.subscriptionsToSave = subscriptionsToSave
        self.subscriptionIDsToDelete = subscriptionIDsToDelete
    }

    override func run() async throws {
        let (all, ids) = (subscriptionsToSave ?? [], subscriptionIDsToDelete ?? [])
        do {
            (saves, deletes) = try await call { database in
                try await database.modifySubscriptions(all, deleting: ids)
            }
        } catch {
            for subscription in all { saves[subscription.subscriptionID] = .failure(error) }
            for id in ids { deletes[id] = .failure(error) }
            tell()
            throw error
        }
        tell()
    }

    private func tell() {
        for (id, result) in saves { perSubscriptionSaveBlock?(id, result) }
        for (id, result) in deletes { perSubscriptionDeleteBlock?(id, result) }
    }

    override func conclude(_ error: CKError?) {
        let error = error ?? CKError.partial(failures(saves).merging(failures(deletes)) { $1 })
        modifySubscriptionsResultBlock?(error.map { .failure($0) } ?? .success(()))
        guard let modifySubscriptionsCompletionBlock else { return }
        // One that was cancelled before it began has no results.
        let saved = (subscriptionsToSave ?? []).filter {
            saves[$0.subscriptionID]?.isSuccess ?? false
        }
        let deleted = (subscriptionIDsToDelete ?? []).filter {
            deletes[$0]?.isSuccess ?? false
        }
        modifySubscriptionsCompletionBlock(saved, deleted, error)
    }
}
