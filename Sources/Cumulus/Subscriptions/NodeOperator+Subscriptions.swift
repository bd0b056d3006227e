// The subscriptions of a user, as an operator lists and ends them.

package import CumulusModel
import CumulusWire

extension NodeOperator {
    /// The costs of a user's subscription.
    package struct UserSubscription: Hashable, Sendable {
        package var database: DatabaseScope
        package var id: Subscription.ID
        /// "query", "zone" or "database"; "unknown" for one of a later release.
        package var kind: String
        /// nil means records of all types.
        package var recordType: String?
        /// The comparisons of its predicate.
        package var comparisons: Int
        /// How many of them each change of a record of the type makes.
        package var cost: Int
        /// It fired once, and costs nothing any more.
        package var hasFired: Bool
    }

    /// The subscriptions of a user in all databases, by databases and ids.
    ///
    /// An operator learns what they cost, and not what they ask for.
    package func subscriptions(
        of user: String,
        in container: String,
        _ environment: Environment
    ) async throws -> [UserSubscription] {
        try await list(
            .subscriptionsList,
            message: ListUserSubscriptionsRequest(Bytes(user.utf8)).encoded(),
            container: container,
            environment
        ) {
            try ListUserSubscriptionsResponse(wire: $0).elements
                .compactMap(UserSubscription.init)
        }
    }

    /// Ends subscriptions of a user in all databases; returns how many there were.
    ///
    /// - Parameter ids: nil means all of the user's subscriptions.
    package func endSubscriptions(
        _ ids: [Subscription.ID]?,
        of user: String,
        in container: String,
        _ environment: Environment
    ) async throws -> Int {
        if ids == [] { return 0 }
        let request = EndSubscriptionsRequest(
            user: Bytes(user.utf8),
            ids: (ids ?? []).map { Bytes($0.utf8) }
        )
        return try await call(
            .subscriptionsEnd,
            message: request.encoded(),
            container: container,
            environment
        ) { Int(try EndSubscriptionsResponse(wire: $0).count) }
    }
}

extension NodeOperator.UserSubscription {
    /// nil if it is of a database that this release doesn't know.
    fileprivate init?(_ wire: WireUserSubscription) {
        guard let database = UInt8(exactly: wire.database).flatMap(DatabaseScope.init(rawValue:))
        else { return nil }
        self.database = database
        id = String(decoding: wire.id, as: UTF8.self)
        kind = WireUserSubscription.Kind(rawValue: wire.kind).map { "\($0)" } ?? "unknown"
        let type = String(decoding: wire.recordType, as: UTF8.self)
        recordType = type.isEmpty ? nil : type
        comparisons = Int(wire.comparisons)
        cost = Int(wire.cost)
        hasFired = wire.hasFired
    }
}
