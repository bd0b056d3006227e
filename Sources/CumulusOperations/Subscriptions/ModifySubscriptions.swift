// Saves and deletes subscriptions of the caller in one database.
//
// Run by the writer, in request order: saves first, each judged by itself. All changes of a request
// are one commit, with a register for each subscription.
//
// Folder: what requests about subscriptions mean. Read `ModifySubscriptions`, then
// `SubscriptionJudge` and `SubscriptionSet`. `OwnedSubscriptions` is for operators.

package import CumulusModel
package import CumulusStorage

package struct ModifySubscriptions: RememberedChange {
    package var database: DatabaseScope
    /// Subscriptions to save; an error is the item's result.
    package var saves: [Result<Subscription, ServiceError>]
    /// Ids of subscriptions to delete; an error is the item's result.
    package var deletes: [Result<Subscription.ID, ServiceError>]
    package var limits: Limits

    package init(
        database: DatabaseScope,
        saves: [Result<Subscription, ServiceError>] = [],
        deletes: [Result<Subscription.ID, ServiceError>] = [],
        limits: Limits = .standard
    ) {
        self.database = database
        self.saves = saves
        self.deletes = deletes
        self.limits = limits
    }

    package var onlyDeletes: Bool { saves.isEmpty }
    package var isAllOrNothing: Bool { saves.count + deletes.count == 1 }

    package func items(
        of done: DoneElsewhere,
        for asker: Asker,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> ModifyOutcome {
        try done.outcome(of: self, asker.scope.environment, transaction)
    }

    package func run(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<ModifyOutcome, ServiceError> {
        let caller = asker.caller
        let database: DatabaseID
        do {
            database = try Authorisation.subscriptions(self.database, of: caller)
            try check()
        } catch {
            return .failure(error)
        }
        let judge = judge(scope, asker.scope.environment, caller, database)
        var set = try SubscriptionSet(of: caller.user, database, limits, in: scope, transaction)
        var outcome = ModifyOutcome(saves: saves.count, deletes: deletes.count)
        for (index, save) in saves.enumerated() {
            let saved: Result<Void, ServiceError>
            switch try judge.judge(save, transaction) {
            case .failure(let error): saved = .failure(error)
            case .success(let subscription):
                saved = try set.save(subscription) { topic throws(EngineError) in
                    try ScopeFeeds(of: scope).comparisonCount(with: topic, &transaction)
                }
            }
            outcome.saves[index] = ModifyOutcome.item(saved)
        }
        for (index, id) in deletes.enumerated() {
            outcome.deletes[index] = ModifyOutcome.item(id.flatMap { set.delete($0) })
        }
        let registers = set.changes
        if registers.isEmpty { return .success(outcome) }
        let (commit, _) = try transaction.perform(
            registers.map(Commit.Operation.register),
            in: scope,
            zone: nil,
            author: Author(
                requestID: asker.requestID,
                user: caller.user,
                device: caller.device
            )
        )
        outcome.dots = [commit.stamp.dot]
        return .success(outcome)
    }

    /// Judges the saves of this request.
    ///
    /// - Parameter environment: Decides which fields have indexes.
    func judge(
        _ scope: ScopeNumber,
        _ environment: Environment,
        _ caller: Caller,
        _ database: DatabaseID
    ) -> SubscriptionJudge {
        SubscriptionJudge(
            scope: scope,
            environment: environment,
            caller: caller,
            database: database,
            limits: limits
        )
    }

    private func check() throws(ServiceError) {
        let count = saves.count + deletes.count
        guard count <= limits.itemsPerRequest else {
            throw .tooManyItems(count, limit: limits.itemsPerRequest)
        }
    }
}

extension Authorisation {
    /// The database of a call about subscriptions; refuses callers that are not users.
    static func subscriptions(
        _ kind: DatabaseScope,
        of caller: Caller
    ) throws(ServiceError) -> DatabaseID {
        switch caller.role {
        case .user: return try database(kind, for: caller)
        case .server: throw ServiceKeys.userNeeded
        case .anonymous:
            throw ServiceError(
                .notAuthenticated,
                "subscriptions are a signed-in user's; connect with an access token"
            )
        case .operator:
            throw ServiceError(
                .permissionFailure,
                "an operator has no subscriptions; use a user's access token"
            )
        }
    }
}

extension ModifyOutcome {
    fileprivate static func item(_ result: Result<Void, ServiceError>) -> Item {
        result.map { Saved() }.mapError { Failure($0) }
    }
}
