// The subscriptions that a user has in a database, while a request changes them.
//
// Read once per request by `ModifySubscriptions`. Holds what is true of all of them together: ids
// stand once, no two are equivalent, and there are only so many. Nodes that save at the same time
// don't know of each other: equivalent ones may then both stand, and a few too many.

import CumulusModel
import CumulusStorage

struct SubscriptionSet {
    private let user: String
    private let database: DatabaseID
    private let limits: Limits
    /// Values by id, as they are stored.
    private let stored: [Subscription.ID: Bytes]
    private var values: [Subscription.ID: Bytes]
    /// Which of them watches what.
    private var ids: [Bytes: Subscription.ID] = [:]
    private var essences: [Subscription.ID: Bytes] = [:]
    /// How often each looks through a text or a list of a record.
    private var searches: [Subscription.ID: Int] = [:]
    /// Values of those that have fired once: they stay, for feeds, until another one has the id.
    private var fired: [Subscription.ID: Bytes] = [:]

    init(
        of user: String,
        _ database: DatabaseID,
        _ limits: Limits,
        in scope: ScopeNumber,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) {
        self.user = user
        self.database = database
        self.limits = limits
        var values: [Subscription.ID: Bytes] = [:]
        for known in try transaction.subscriptions(in: scope, of: user, database) {
            if known.fired != nil {
                fired[known.subscription.id] = known.value
                continue
            }
            let subscription = known.subscription
            values[subscription.id] = subscription.storedBytes
            searches[subscription.id] = subscription.searchCount
            let essence = subscription.essence
            essences[subscription.id] = essence
            // Of equivalent ones the first is named.
            if ids[essence] == nil { ids[essence] = subscription.id }
        }
        stored = values
        self.values = values
    }

    /// Takes one in, in place of that with its id.
    mutating func save(_ subscription: Subscription) -> Result<Void, ServiceError> {
        let essence = subscription.essence
        if let other = ids[essence], other != subscription.id {
            return .failure(
                ServiceError(
                    .serverRejectedRequest,
                    "subscription is duplicate of '\(other)'"
                )
            )
        }
        let value = subscription.storedBytes
        guard value.count <= limits.subscriptionBytes else {
            return .failure(
                ServiceError(
                    .limitExceeded,
                    .tooLarge,
                    """
                    subscription '\(subscription.id)' takes \(value.count) bytes; at most \
                    \(limits.subscriptionBytes) are allowed: shorten its predicate or its texts
                    """
                )
            )
        }
        let isNew = values[subscription.id] == nil
        guard !isNew || values.count < limits.subscriptionsPerDatabase else {
            return .failure(
                ServiceError(
                    .limitExceeded,
                    .tooManyItems,
                    """
                    a user has at most \(limits.subscriptionsPerDatabase) subscriptions in a \
                    database; delete one first
                    """
                )
            )
        }
        if let refusal = refusal(of: subscription, value) { return .failure(refusal) }
        forgetEssence(of: subscription.id)
        searches[subscription.id] = subscription.searchCount
        values[subscription.id] = value
        essences[subscription.id] = essence
        ids[essence] = subscription.id
        return .success(())
    }

    /// What all of them may take together.
    private func refusal(of subscription: Subscription, _ value: Bytes) -> ServiceError? {
        let id = subscription.id
        let bytes = values.reduce(value.count) { $0 + ($1.key == id ? 0 : $1.value.count) }
        guard bytes <= limits.subscriptionBytesPerDatabase else {
            return ServiceError(
                .limitExceeded,
                .tooLarge,
                """
                with '\(id)' a user's subscriptions in this database take \(bytes) bytes; at \
                most \(limits.subscriptionBytesPerDatabase) are allowed: shorten their texts, or \
                delete one
                """
            )
        }
        let most = limits.subscriptionSearchesPerDatabase
        let count = searches.reduce(subscription.searchCount) { $0 + ($1.key == id ? 0 : $1.value) }
        guard subscription.searchCount == 0 || count <= most else {
            return ServiceError(
                .limitExceeded,
                .tooManyItems,
                """
                with '\(id)' a user's subscriptions in this database look through texts and lists \
                \(count) times for each record; at most \(most) are allowed: compare fields with \
                values, or delete one
                """
            )
        }
        return nil
    }

    mutating func delete(_ id: Subscription.ID) -> Result<Void, ServiceError> {
        guard values.removeValue(forKey: id) != nil else {
            return .failure(.subscriptionNotFound(id))
        }
        forgetEssence(of: id)
        searches[id] = nil
        return .success(())
    }

    private mutating func forgetEssence(of id: Subscription.ID) {
        guard let essence = essences.removeValue(forKey: id), ids[essence] == id else { return }
        // Two nodes may have saved another one meanwhile.
        ids[essence] = essences.filter { $0.value == essence }.keys.min()
    }

    /// The registers that make the stored ones what these are, in the order of their ids.
    var changes: [Commit.Register] {
        Set(stored.keys).union(values.keys).sorted().compactMap { id in
            guard stored[id] != values[id] else { return nil }
            return Commit.Register(
                namespace: StoredSubscription.namespace,
                key: StoredSubscription.key(user, database) + [Bytes(id.utf8)],
                value: values[id]
            )
        }
    }
}

extension Subscription {
    /// Comparisons of its predicate that look through a text or a list.
    fileprivate var searchCount: Int {
        guard case .query(_, let predicate, _) = kind else { return 0 }
        return predicate.nodes.count { node in
            guard case .comparison(let comparison) = node else { return false }
            return switch comparison.relation {
            case .listContains, .listContainsAny, .listMemberBeginsWith, .containsAnyToken,
                .containsAllTokens:
                true
            default: false
            }
        }
    }
}

extension ServiceError {
    static func subscriptionNotFound(_ id: String) -> ServiceError {
        ServiceError(
            .unknownItem,
            "Subscription '\(id)' does not exist; check its id, or list the subscriptions"
        )
    }
}
