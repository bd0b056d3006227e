// How operators list the subscriptions of a user with their costs, and end them.
//
// Reads run `all`, and the writer runs `EndSubscriptions`. An operator learns what subscriptions
// cost, and not what they ask for.

package import CumulusModel
package import CumulusStorage

package enum OwnedSubscriptions {
    /// The subscriptions of a user in all databases of a scope, by databases and ids.
    ///
    /// Subscriptions that have fired once are among them.
    ///
    /// - Parameter user: The user's name.
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
    /// The number of comparisons in its predicate.
    package var comparisonCount: Int {
        guard case .query(_, let predicate, _) = subscription.kind else { return 0 }
        return predicate.comparisonCount
    }

    /// The number of comparisons that it adds to each change of a record of its type.
    ///
    /// A subscription that is found by a value costs each record one look-up. The cost is 0 if it
    /// watches zones as a whole, or has fired.
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
    /// The name of the user.
    package var user: String
    /// The ids to end, in all databases; empty means all subscriptions.
    package var ids: Set<Subscription.ID>

    package init(user: String, ids: Set<Subscription.ID>) {
        self.user = user
        self.ids = ids
    }

    package static var isOperators: Bool { true }
    package var onlyDeletes: Bool { true }

    package func keeps(_ count: Int) -> Bool { count > 0 }

    /// Ends the subscriptions; the outcome is their number.
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
