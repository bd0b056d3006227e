// Creates and deletes zones of the caller's private database, and leaves zones of other users.
//
// Run by the writer in the order of the request, each zone in a commit of its own: zone requests
// are not atomic.
//
// Folder: what requests about zones mean. Read `ModifyZones`, then `ReadZones` and `ZoneDirectory`.

package import CumulusModel
package import CumulusStorage

package struct ModifyZones: RememberedChange {
    package var database: DatabaseScope
    /// The addresses of the zones; an error takes the place of an invalid one.
    package var saves: [Result<ZoneAddress, ServiceError>]
    package var deletes: [Result<ZoneAddress, ServiceError>]
    package var limits: Limits

    package init(
        database: DatabaseScope,
        saves: [Result<ZoneAddress, ServiceError>] = [],
        deletes: [Result<ZoneAddress, ServiceError>] = [],
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
        try done.outcome(of: self, transaction)
    }

    package func run(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<ModifyOutcome, ServiceError> {
        let caller = asker.caller
        let database: DatabaseID
        do {
            database = try Authorisation.database(self.database, for: caller)
            try check(database, by: caller)
        } catch {
            return .failure(error)
        }
        let author = Author(
            requestID: asker.requestID,
            user: caller.user,
            device: caller.device
        )
        var outcome = ModifyOutcome(saves: saves.count, deletes: deletes.count)
        var living: Int?
        for (index, address) in saves.enumerated() {
            let change = try save(address, in: database, scope, by: caller, &living, &transaction)
            outcome.saves[index] = try apply(change, scope, author, &transaction, &outcome)
        }
        for (index, address) in deletes.enumerated() {
            let change =
                database.kind == .shared
                ? try leave(address, in: database, scope, by: caller, transaction)
                : try delete(address, in: database, scope, by: caller, transaction, &outcome)
            outcome.deletes[index] = try apply(change, scope, author, &transaction, &outcome)
        }
        return .success(outcome)
    }

    private func check(_ database: DatabaseID, by caller: Caller) throws(ServiceError) {
        let count = saves.count + deletes.count
        guard count <= limits.itemsPerRequest else {
            throw .tooManyItems(count, limit: limits.itemsPerRequest)
        }
        // Deleting a zone of the shared database means leaving it.
        if database.kind == .shared, saves.isEmpty { return }
        guard database.kind == .private else {
            if caller.role == .anonymous {
                throw ServiceError(
                    .notAuthenticated,
                    "changing zones needs a signed-in user; connect with an access token"
                )
            }
            throw ServiceError(
                .badDatabase,
                "the \(database.kind.name) database has no custom zones; use the private database"
            )
        }
    }

    /// What must be done about one zone; nil if nothing must.
    private typealias Change = Result<
        (zone: Commit.Zone, operations: [Commit.Operation])?, ServiceError
    >

    /// - Parameter living: The number of zones in the database; nil if they were not counted yet.
    ///   Counting reads all zones that were ever made, so it is done once per request.
    private func save(
        _ address: Result<ZoneAddress, ServiceError>,
        in database: DatabaseID,
        _ scope: ScopeNumber,
        by caller: Caller,
        _ living: inout Int?,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Change {
        guard case .success(let address) = address else { return address.map { _ in nil } }
        guard caller.isOwner(named: address.owner) else {
            return .failure(.zoneNotFound(address, in: database.kind))
        }
        if try transaction.locate(address.name, in: database, of: scope) != nil {
            return .success(nil)
        }
        let number = try transaction.database(scope, database)
        let row = try number.flatMap { number throws(EngineError) in
            try transaction.zone(number, address.name)
        }
        let count: Int
        if let living {
            count = living
        } else if let number {
            count = try transaction.zoneRows(of: number).count { $0.row.exists }
        } else {
            count = 0
        }
        guard count < limits.zonesPerDatabase else {
            return .failure(
                ServiceError(
                    .limitExceeded,
                    .tooManyItems,
                    "a database holds at most \(limits.zonesPerDatabase) zones"
                )
            )
        }
        guard let generation = Zones.nextGeneration(after: row) else {
            return .failure(
                ServiceError(
                    .limitExceeded,
                    "a zone '\(address.name)' can't be made again; choose another name"
                )
            )
        }
        living = count + 1
        let zone = Commit.Zone(database: database, name: address.name, generation: generation)
        return .success((zone, [.zoneCreate]))
    }

    private func delete(
        _ address: Result<ZoneAddress, ServiceError>,
        in database: DatabaseID,
        _ scope: ScopeNumber,
        by caller: Caller,
        _ transaction: borrowing WriteTransaction,
        _ outcome: inout ModifyOutcome
    ) throws(EngineError) -> Change {
        guard case .success(let address) = address else { return address.map { _ in nil } }
        guard address.name != Names.defaultZone else {
            return .failure(
                ServiceError(
                    .invalidArguments,
                    .invalidValue,
                    "the default zone can't be deleted"
                )
            )
        }
        guard let found = try transaction.locate(address, in: database, of: scope, by: caller)
        else { return .failure(.zoneNotFound(address, in: database.kind)) }
        if outcome.share == nil, let number = found.number,
            try transaction.share(Names.zoneShare, in: number) != nil
        {
            let zone = ZoneAddress(name: address.name)
            outcome.share = RecordAddress(zone: zone, name: Names.zoneShare)
        }
        return .success((found.zone, [.zoneDelete(reason: 0)]))
    }

    /// Gives up the caller's place in all shares of a zone.
    private func leave(
        _ address: Result<ZoneAddress, ServiceError>,
        in database: DatabaseID,
        _ scope: ScopeNumber,
        by caller: Caller,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> Change {
        guard case .success(let address) = address else { return address.map { _ in nil } }
        guard let found = try transaction.locate(address, in: database, of: scope, by: caller),
            let number = found.number
        else { return .failure(.zoneNotFound(address, in: database.kind)) }
        if let refusal = try Feature.access.refusal(in: transaction) { return .failure(refusal) }
        let owner = found.zone.database.owner
        let row = try transaction.visibleZone(address.name, of: owner, to: caller.user, in: scope)
        var operations: [Commit.Operation] = []
        for name in row?.shares ?? [] {
            guard let share = try transaction.share(name, in: number),
                let left = try transaction.leave(share, by: caller.user, in: number)
            else { continue }
            operations.append(.access(left))
        }
        return .success(operations.isEmpty ? nil : (found.zone, operations))
    }

    private func apply(
        _ change: Change,
        _ scope: ScopeNumber,
        _ author: Author,
        _ transaction: inout WriteTransaction,
        _ outcome: inout ModifyOutcome
    ) throws(EngineError) -> ModifyOutcome.Item {
        switch change {
        case .failure(let error): return .failure(ModifyOutcome.Failure(error))
        case .success(nil): return .success(ModifyOutcome.Saved())
        case .success(.some(let (zone, operations))):
            let (commit, _) = try transaction.perform(
                operations,
                in: scope,
                zone: zone,
                author: author
            )
            outcome.dots.append(commit.stamp.dot)
            return .success(ModifyOutcome.Saved())
        }
    }
}
