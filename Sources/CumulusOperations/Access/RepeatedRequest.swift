// Answers a repeated request as before, as far as its caller still has the rights that it needs.
//
// Called by `RememberedChange` for remembered answers, and for requests that another node carried
// out. Nothing is changed: what was done stays.

import CumulusModel
package import CumulusStorage

extension ModifyRecords {
    /// Replaces outcomes that the caller may no longer be told by the refusals of a new request.
    ///
    /// A save needs WRITE on its record, or CREATE if the caller created the record. The values of
    /// incremented fields, and the creator of the record, need READ too. Deletions tell nothing.
    package func askAgain(
        _ outcome: inout ModifyOutcome,
        _ scope: ScopeNumber,
        by caller: Caller,
        in transaction: inout WriteTransaction
    ) throws(EngineError) {
        if database == .shared {
            return try askAgainShared(&outcome, scope, by: caller, in: &transaction)
        }
        guard database == .public else { return }
        for (index, item) in saves.enumerated() where outcome.saves.indices.contains(index) {
            let zone = item.address.zone
            guard case .success(var saved) = outcome.saves[index] else { continue }
            guard let found = try transaction.find(zone, in: .public, of: scope, by: caller) else {
                fail(zone, &outcome)
                continue
            }
            guard let type = try type(of: item, in: found, transaction) else { continue }
            let access = RecordAccess(to: found, of: scope, by: caller)
            let record = RecordAccess.Record(
                name: item.address.name,
                type: type,
                createdBy: saved.createdBy
            )
            var new = record
            new.createdBy = nil
            var refusal = try access.refusal(.write, record, &transaction)
            // A caller who may create records may have created this one.
            if refusal != nil, saved.createdBy == caller.user,
                try access.refusal(.create, new, &transaction) == nil
            {
                refusal = nil
            }
            if let refusal {
                outcome.saves[index] = .failure(ModifyOutcome.Failure(refusal))
            } else if try access.refusal(.read, record, &transaction) != nil {
                saved.hide(from: caller)
                outcome.saves[index] = .success(saved)
            }
        }
    }

    /// The type of the stored record; if there is none, the type of the record that was to be
    /// saved.
    private func type(
        of item: SaveItem,
        in found: FoundZone,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> String? {
        if let zone = found.number, let row = try transaction.record(zone, item.address.name),
            !row.isDead
        {
            return StoredName.shown(row.type)
        }
        return (try? item.content.get()).map { StoredName.shown($0.type) }
    }

    /// Replaces outcomes in zones of other users.
    ///
    /// All items of a zone that the caller no longer sees are refused, and so are saves of records
    /// that it may no longer change.
    private func askAgainShared(
        _ outcome: inout ModifyOutcome,
        _ scope: ScopeNumber,
        by caller: Caller,
        in transaction: inout WriteTransaction
    ) throws(EngineError) {
        for address in zones {
            let database = DatabaseID(kind: .shared, owner: caller.user)
            let found = try transaction.find(address, in: database, of: scope, by: caller)
            guard let found, let zone = found.number else {
                fail(address, &outcome)
                continue
            }
            let access = RecordAccess(to: found, of: scope, by: caller)
            for index in saves.indices where saves[index].address.zone == address {
                let name = saves[index].address.name
                guard outcome.saves.indices.contains(index),
                    case .success = outcome.saves[index],
                    let row = try transaction.record(zone, name), !row.isDead,
                    let refusal = try access.refusal(.write, row, named: name, &transaction)
                else { continue }
                outcome.saves[index] = .failure(ModifyOutcome.Failure(refusal))
            }
        }
    }
}
