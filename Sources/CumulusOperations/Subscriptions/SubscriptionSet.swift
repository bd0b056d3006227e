// The subscriptions that a user has in a database, while a request changes them.
//
// Read once per request by `ModifySubscriptions`. It enforces the rules about all of them together:
// no two are equivalent, and their number and size have limits. Nodes that save at the same time
// don't see each other's saves, so over several nodes these rules may be broken a little.
//
// A subscription that has fired once is in the set for as long as feeds need its register: it has a
// place and bytes, and can be deleted. It costs no searches, and an equivalent one may be saved.

import CumulusModel
import CumulusStorage

struct SubscriptionSet {
    private struct Entry {
        /// The value of the subscription's register.
        let value: Bytes
        /// The essence; nil if the subscription has fired.
        let essence: Bytes?
        /// The number of comparisons that look through a text or a list of each changed record.
        let searchCount: Int
        /// The topic; nil if the subscription has fired.
        let topic: Topic?

        init(_ stored: StoredSubscription) {
            value = stored.value
            essence = stored.fired == nil ? stored.subscription.essence : nil
            searchCount = stored.fired == nil ? stored.subscription.searchCount : 0
            topic = stored.fired == nil ? Topic(stored) : nil
        }
    }

    private let user: String
    private let database: DatabaseID
    private let limits: Limits
    /// The entries as they are stored, by id.
    private let stored: [Subscription.ID: Entry]
    /// The entries as the request leaves them.
    private var entries: [Subscription.ID: Entry]
    /// The id of a subscription with an essence.
    private var ids: [Bytes: Subscription.ID] = [:]
    /// What the entries watch; it counts their comparisons.
    private var topics = TopicIndex()

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
        var entries: [Subscription.ID: Entry] = [:]
        for known in try transaction.subscriptions(in: scope, of: user, database) {
            let (id, entry) = (known.subscription.id, Entry(known))
            entries[id] = entry
            if let topic = entry.topic { topics.enter(topic) }
            // An error names the first of several equivalent subscriptions.
            if let essence = entry.essence, ids[essence] == nil { ids[essence] = id }
        }
        stored = entries
        self.entries = entries
    }

    /// Saves a subscription, in place of the one with its id.
    ///
    /// - Parameter cost: The comparisons of one record with all users' topics, including this
    ///   topic.
    mutating func save(
        _ subscription: Subscription,
        _ cost: (Topic) throws(EngineError) -> Int
    ) throws(EngineError) -> Result<Void, ServiceError> {
        let stored = StoredSubscription(user: user, database: database, subscription)
        let (id, entry, essence) = (subscription.id, Entry(stored), subscription.essence)
        if let other = ids[essence], other != id {
            return .failure(
                ServiceError(.serverRejectedRequest, "subscription is duplicate of '\(other)'")
            )
        }
        do {
            try check(entry, of: id)
            try checkSum(with: entry, of: id)
            try checkComparisons(with: entry, of: id)
        } catch {
            return .failure(error)
        }
        // This check comes last, as it may have to read all subscriptions of the scope.
        if let topic = entry.topic, let refusal = refusal(of: id, try cost(topic)) {
            return .failure(refusal)
        }
        remove(id)
        entries[id] = entry
        ids[essence] = id
        if let topic = entry.topic { topics.enter(topic) }
        return .success(())
    }

    mutating func delete(_ id: Subscription.ID) -> Result<Void, ServiceError> {
        guard entries[id] != nil else { return .failure(.subscriptionNotFound(id)) }
        remove(id)
        return .success(())
    }

    private mutating func remove(_ id: Subscription.ID) {
        if let topic = entries[id]?.topic { topics.leave(topic) }
        guard let essence = entries.removeValue(forKey: id)?.essence, ids[essence] == id else {
            return
        }
        // Another node may have saved an equivalent one at the same time.
        ids[essence] = entries.filter { $0.value.essence == essence }.keys.min()
    }

    /// The registers that differ from the stored ones, in the order of their ids.
    var changes: [Commit.Register] {
        Set(stored.keys).union(entries.keys).sorted().compactMap { id in
            guard stored[id]?.value != entries[id]?.value else { return nil }
            return Commit.Register(
                namespace: StoredSubscription.namespace,
                key: StoredSubscription.key(user, database) + [Bytes(id.utf8)],
                value: entries[id]?.value
            )
        }
    }

    // MARK: Limits

    /// Checks the size of one subscription, and the number of all.
    private func check(_ entry: Entry, of id: Subscription.ID) throws(ServiceError) {
        guard entry.value.count <= limits.subscriptionBytes else {
            throw ServiceError(
                .limitExceeded,
                .tooLarge,
                """
                subscription '\(id)' takes \(entry.value.count) bytes; at most \
                \(limits.subscriptionBytes) are allowed: shorten its predicate or its texts
                """
            )
        }
        guard entries[id] != nil || entries.count < limits.subscriptionsPerDatabase else {
            throw ServiceError(
                .limitExceeded,
                .tooManyItems,
                """
                a user has at most \(limits.subscriptionsPerDatabase) subscriptions in a \
                database, with those that fired once and that feeds still tell of; delete one first
                """
            )
        }
    }

    /// Checks the bytes and searches of all subscriptions together, with a new one under an id.
    private func checkSum(with entry: Entry, of id: Subscription.ID) throws(ServiceError) {
        let old = entries[id]
        let bytes = entries.values.reduce(entry.value.count - (old?.value.count ?? 0)) {
            $0 + $1.value.count
        }
        guard bytes <= limits.subscriptionBytesPerDatabase else {
            throw ServiceError(
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
        let count = entries.values.reduce(entry.searchCount - (old?.searchCount ?? 0)) {
            $0 + $1.searchCount
        }
        guard entry.searchCount == 0 || count <= most else {
            throw ServiceError(
                .limitExceeded,
                .tooManyItems,
                """
                with '\(id)' a user's subscriptions in this database look through texts and lists \
                \(count) times for each record; at most \(most) are allowed: compare fields with \
                values, or delete one
                """
            )
        }
    }

    /// Checks the comparisons of all subscriptions together.
    ///
    /// Earlier releases had no such limit: above it, changes that don't add comparisons are saved.
    private func checkComparisons(
        with entry: Entry,
        of id: Subscription.ID
    ) throws(ServiceError) {
        var next = topics
        if let old = entries[id]?.topic { next.leave(old) }
        if let new = entry.topic { next.enter(new) }
        let (count, used) = (next.comparisonCount, topics.comparisonCount)
        let most = limits.subscriptionComparisonsPerDatabase
        guard count > most, count > used else { return }
        throw ServiceError(
            .limitExceeded,
            .tooManyItems,
            """
            with '\(id)' a user's subscriptions in this database make up to \(count) comparisons \
            for each record; at most \(most) are allowed, and \(used) are used: shorten its \
            predicate, ask for a value with == or IN, or delete one
            """
        )
    }

    /// Why a topic is too much with the topics of all users; nil if it is not.
    private func refusal(of id: Subscription.ID, _ count: Int) -> ServiceError? {
        let most = limits.subscriptionComparisonsPerType
        if count <= most { return nil }
        return ServiceError(
            .limitExceeded,
            .tooManyItems,
            """
            with '\(id)' the subscriptions of all users to this type make \(count) comparisons \
            for a record; at most \(most) are allowed: ask with == or IN for a value that few \
            records have, or let the operator end some ('cumulus user subscriptions')
            """
        )
    }
}

extension Subscription {
    /// The number of comparisons that look through a text or a list.
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
