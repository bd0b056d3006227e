// The answer to a request that another node carried out: the caller lost its connection there and
// asks again here.
//
// Called by `RememberedChange` if a request id is known from commits only, and by `RepeatedSaves`
// if it is known from the lives that the request created. The answer tells how its records and
// zones are now.

import CumulusModel
import CumulusStorage

package struct DoneElsewhere {
    private let scope: ScopeNumber
    private let caller: Caller
    /// The records that the commits changed, by zone and name.
    private var records: Set<Target> = []
    /// The generations of the zones in which these records were changed.
    private var generations: [String: UInt64] = [:]
    /// The zones that the commits made or deleted.
    private var zones: Set<String> = []
    /// The subscriptions that the commits saved or deleted.
    private var subscriptions: Set<Bytes> = []
    /// Whether some of the commits are no longer in the log.
    private(set) var isForgotten = false
    /// Whether all commits of the request are here, because its node went on to another request.
    private var isWhole = false

    private struct Target: Hashable {
        var zone: String
        var name: String
    }

    init(
        _ dots: [Dot],
        in scope: ScopeNumber,
        by caller: Caller,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) {
        self.scope = scope
        self.caller = caller
        for dot in dots {
            guard let bytes = try transaction.get(.commit(scope, dot)) else {
                isForgotten = true
                continue
            }
            let commit = try transaction.decoding(bytes) { () throws(MalformedBytes) in
                try Commit(bytes)
            }
            note(commit)
        }
        if let last = dots.max() {
            // The commits of one request follow each other in their run.
            let next = Dot(last.incarnation, last.seq + 1)
            if try transaction.get(.commit(scope, next)) != nil { isWhole = true }
        }
    }

    /// Answers for records of one zone, all of which the request saved or deleted.
    init(
        _ addresses: [RecordAddress],
        of zone: Commit.Zone,
        in scope: ScopeNumber,
        by caller: Caller
    ) {
        self.scope = scope
        self.caller = caller
        for address in addresses {
            records.insert(Target(zone: key(address.zone), name: address.name))
            generations[key(address.zone)] = zone.generation
        }
    }

    /// Whether everything that was done can be told.
    ///
    /// If not, the rest may still arrive, or the contents of the commits are forgotten.
    func tells(_ outcome: ModifyOutcome, isAllOrNothing: Bool) -> Bool {
        if isForgotten { return isAllOrNothing }
        if isWhole { return true }
        return (outcome.saves + outcome.deletes).allSatisfy { (item: ModifyOutcome.Item) in
            guard case .failure(let failure) = item else { return true }
            return failure.code != .serverRejectedRequest
        }
    }

    /// Why this node can't answer the caller yet, or at all.
    var refusal: ServiceError {
        var error = ServiceError(
            .serviceUnavailable,
            .nodeBehind,
            isForgotten
                ? "another node carried out some of this request; only that one can tell what"
                : "another node carries out this request, and not all of it is here yet; try again"
        )
        error.retryAfterMilliseconds = isForgotten ? 1_000 : 100
        return error
    }

    /// A zone's name with its owner's, because several owners may share zones of one name.
    private func key(_ address: ZoneAddress) -> String {
        caller.isOwner(named: address.owner) ? address.name : "\(address.owner)/\(address.name)"
    }

    private mutating func note(_ commit: Commit) {
        guard let named = commit.zone else {
            noteSubscriptions(in: commit)
            return
        }
        let zone = key(ZoneAddress(name: named.name, owner: named.database.owner))
        let generation = named.generation
        generations[zone] = generation
        for operation in commit.operations {
            switch operation {
            case .put(let put): records.insert(Target(zone: zone, name: put.recordName))
            case .delete(let name, _, _): records.insert(Target(zone: zone, name: name))
            case .access(let access):
                records.insert(Target(zone: zone, name: access.recordName))
                zones.insert(zone)
            case .zoneCreate, .zoneDelete: zones.insert(zone)
            case .register: break
            }
        }
    }

    private mutating func noteSubscriptions(in commit: Commit) {
        for case .register(let register) in commit.operations
        where register.namespace == StoredSubscription.namespace {
            subscriptions.insert(register.key.last ?? [])
            // All subscriptions of a request are changed by one commit.
            isWhole = true
        }
    }

    func outcome(
        of request: ModifyRecords,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> ModifyOutcome {
        var outcome = ModifyOutcome(saves: request.saves.count, deletes: request.deletes.count)
        for (index, item) in request.saves.enumerated() {
            outcome.saves[index] = try self.outcome(of: item, in: request, transaction)
        }
        for (index, item) in request.deletes.enumerated() where !holds(item.address) {
            // The deletion of a record that doesn't exist makes no commit.
            let row = try row(of: item.address, request.database, transaction)
            if row != nil { outcome.deletes[index] = .failure(DoneElsewhere.failed) }
        }
        return outcome
    }

    /// The living record; nil if there is none.
    private func row(
        of address: RecordAddress,
        _ database: DatabaseScope,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> RecordRow? {
        guard let database = try? Authorisation.database(database, for: caller),
            let found = try transaction.locate(address.zone, in: database, of: scope, by: caller),
            // A later zone of the same name has nothing to do with the request.
            found.zone.generation == generations[key(address.zone)] ?? found.zone.generation,
            let zone = found.number,
            let row = try transaction.record(zone, address.name), !row.isDead,
            try transaction.typeDrops(scope, of: StoredName.shown(row.type)).shown(row.type) != nil
        else { return nil }
        return row
    }

    private func outcome(
        of item: SaveItem,
        in request: ModifyRecords,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> ModifyOutcome.Item {
        guard holds(item.address) else { return .failure(DoneElsewhere.failed) }
        guard let row = try row(of: item.address, request.database, transaction)
        else {
            return .failure(
                ModifyOutcome.Failure(
                    ServiceError(
                        .unknownItem,
                        "the record was saved by another node, and was deleted since"
                    )
                )
            )
        }
        var item = item
        if case .success(let content) = item.content {
            let schema = try transaction.typeSchema(scope, content.type)
            item.content = .success(content.stored(as: schema))
        }
        return .success(ModifyOutcome.Saved(row, of: item))
    }

    func outcome(
        of request: ModifyZones,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> ModifyOutcome {
        var outcome = ModifyOutcome(saves: request.saves.count, deletes: request.deletes.count)
        for (index, address) in request.saves.enumerated() {
            outcome.saves[index] = self.outcome(of: address)
            // A save of a zone that exists makes no commit.
            guard case .success(let address) = address, case .failure = outcome.saves[index],
                let database = try? Authorisation.database(request.database, for: caller)
            else { continue }
            let zone = try transaction.locate(address, in: database, of: scope, by: caller)
            if zone != nil { outcome.saves[index] = .success(ModifyOutcome.Saved()) }
        }
        for (index, address) in request.deletes.enumerated() {
            outcome.deletes[index] = self.outcome(of: address)
        }
        return outcome
    }

    private func outcome(of address: Result<ZoneAddress, ServiceError>) -> ModifyOutcome.Item {
        if isForgotten { return .success(ModifyOutcome.Saved()) }
        guard case .success(let address) = address, zones.contains(key(address)) else {
            return .failure(DoneElsewhere.failed)
        }
        return .success(ModifyOutcome.Saved())
    }

    func outcome(
        of request: ModifySubscriptions,
        _ environment: Environment,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> ModifyOutcome {
        var outcome = ModifyOutcome(saves: request.saves.count, deletes: request.deletes.count)
        for (index, save) in request.saves.enumerated() {
            guard case .success(let subscription) = save,
                try isDone(subscription, in: request, environment, transaction)
            else {
                outcome.saves[index] = .failure(DoneElsewhere.failed)
                continue
            }
        }
        for (index, id) in request.deletes.enumerated() {
            guard case .success(let id) = id, isForgotten || subscriptions.contains(Bytes(id.utf8))
            else {
                outcome.deletes[index] = .failure(DoneElsewhere.failed)
                continue
            }
        }
        return outcome
    }

    /// Whether a subscription was saved, or is already stored as it is to be saved, for which no
    /// register is written.
    private func isDone(
        _ subscription: Subscription,
        in request: ModifySubscriptions,
        _ environment: Environment,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> Bool {
        if isForgotten || subscriptions.contains(Bytes(subscription.id.utf8)) { return true }
        guard let database = try? Authorisation.subscriptions(request.database, of: caller) else {
            return false
        }
        let judge = request.judge(scope, environment, caller, database)
        let judged = try judge.judge(.success(subscription), transaction)
        let key = StoredSubscription.key(caller.user, database) + [Bytes(subscription.id.utf8)]
        let row = try transaction.register(scope, StoredSubscription.namespace, key)
        guard case .success(let wanted) = judged, let value = row?.value else { return false }
        return wanted.storedBytes == value
    }

    private func holds(_ address: RecordAddress) -> Bool {
        isForgotten || records.contains(Target(zone: key(address.zone), name: address.name))
    }

    private static let failed = ModifyOutcome.Failure(
        ServiceError(
            .serverRejectedRequest,
            "another node carried out the request without this item; send it in a new request"
        )
    )
}
