// What operators do about the subscriptions of a user: list them with their costs, and end them.
//
// `all` is run by reads, `EndSubscriptions` by the writer. An operator learns what subscriptions
// cost, and not what they ask for.

package import CumulusModel
package import CumulusStorage

package enum OwnedSubscriptions {
    /// The subscriptions of a user in all databases of a scope, by databases and ids.
    ///
    /// Subscriptions that have fired once are among them.
    ///
    /// - Parameter user: Name.
    package static func all(
        of user: String,
        in container: String,
        _ scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws -> [StoredSubscription] {
        guard let known = try Users.find(user, in: reader) else { throw Users.unknown(user) }
        return try reader.subscriptions(in: scope, of: known.recordName(in: container))
    }
}

extension StoredSubscription {
    /// The comparisons of its predicate.
    package var comparisonCount: Int {
        guard case .query(_, let predicate, _) = subscription.kind else { return 0 }
        return predicate.comparisonCount
    }

    /// How many comparisons each change of a record of its type makes because of it.
    ///
    /// A subscription that a value leads to costs the others' records one look-up. 0: it watches
    /// zones as a whole, or has fired.
    package var cost: Int {
        if fired != nil { return 0 }
        switch subscription.kind {
        case .query(_, let predicate, _):
            return predicate.needsValue ? 1 : max(1, comparisonCount)
        case .zone(_, let type), .database(let type): return type == nil ? 0 : 1
        }
    }
}

/// Ends subscriptions as their user would.
package struct EndSubscriptions: Hashable, ContainerChange {
    /// Name of the user.
    package var user: String
    /// In all databases; empty means all subscriptions.
    package var ids: Set<Subscription.ID>

    package init(user: String, ids: Set<Subscription.ID>) {
        self.user = user
        self.ids = ids
    }

    package static var isOperators: Bool { true }
    package var onlyDeletes: Bool { true }

    package func keeps(_ count: Int) -> Bool { count > 0 }

    /// Returns how many there were.
    package func run(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<Int, ServiceError> {
        guard let known = try Users.find(user, in: transaction) else {
            return .failure(Users.unknown(user))
        }
        let owner = known.recordName(in: asker.scope.container)
        let ended = try transaction.subscriptions(in: scope, of: owner)
            .filter { ids.isEmpty || ids.contains($0.subscription.id) }
        if ended.isEmpty { return .success(0) }
        let registers = ended.map {
            Commit.Register(namespace: StoredSubscription.namespace, key: $0.key, value: nil)
        }
        _ = try transaction.perform(
            registers.map(Commit.Operation.register),
            in: scope,
            zone: nil,
            author: Author(user: owner)
        )
        return .success(ended.count)
    }
}
