// The answer to a request that another node carried out and this one heard of: the caller lost its
// connection there and asks again here.
//
// Called by `WriteRequest` when a request id is known by its commits only. What they did is done;
// the answer tells how it stands now.

import CumulusModel
import CumulusStorage

struct DoneElsewhere {
    private let scope: ScopeNumber
    private let caller: Caller
    /// Records that the commits changed, by zone and name.
    private var records: Set<Target> = []
    /// Zones that they made or deleted.
    private var zones: Set<String> = []
    /// Some of the commits are no longer in the log: all items count as done.
    private var isForgotten = false

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
    }

    private mutating func note(_ commit: Commit) {
        guard let zone = commit.zone?.name else { return }
        for operation in commit.operations {
            switch operation {
            case .put(let put): records.insert(Target(zone: zone, name: put.recordName))
            case .delete(let name, _): records.insert(Target(zone: zone, name: name))
            case .zoneCreate, .zoneDelete: zones.insert(zone)
            case .register: break
            }
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
            outcome.deletes[index] = .failure(DoneElsewhere.failed)
        }
        return outcome
    }

    private func outcome(
        of item: SaveItem,
        in request: ModifyRecords,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> ModifyOutcome.Item {
        guard holds(item.address) else { return .failure(DoneElsewhere.failed) }
        guard let database = try? Authorisation.database(request.database, for: caller),
            let zone = try transaction.find(
                item.address.zone,
                in: database,
                of: scope,
                by: caller
            )?.number,
            let row = try transaction.record(zone, item.address.name), !row.isDead
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
        return .success(ModifyOutcome.Saved(row, of: item))
    }

    func outcome(of request: ModifyZones) -> ModifyOutcome {
        var outcome = ModifyOutcome(saves: request.saves.count, deletes: request.deletes.count)
        for (index, address) in request.deletes.enumerated() {
            if isForgotten { continue }
            if case .success(let address) = address, zones.contains(address.name) { continue }
            outcome.deletes[index] = .failure(DoneElsewhere.failed)
        }
        return outcome
    }

    private func holds(_ address: RecordAddress) -> Bool {
        isForgotten || records.contains(Target(zone: address.zone.name, name: address.name))
    }

    private static let failed = ModifyOutcome.Failure(
        ServiceError(
            .serverRejectedRequest,
            "another node carried out the request without this item; send it in a new request"
        )
    )
}
