// Reads the record as it is stored now, for a caller whose save carried the tag of another version.
//
// Used by `SavePlanner`, and for repeated requests: a stored outcome holds no records.

import CumulusModel
package import CumulusStorage

extension WriteTransaction {
    /// A record as callers see it; nil if they don't see it.
    mutating func view(
        of row: RecordRow,
        named name: String,
        in found: FoundZone,
        of scope: ScopeNumber,
        for caller: Caller
    ) throws(EngineError) -> RecordView? {
        let view = try decoding(Bytes(name.utf8)) { () throws(MalformedBytes) in
            try found.showing(nil) { _ in RecordView(row, name: name) }
        }
        guard let view else { return nil }
        return try completed(view, in: found, for: caller)
    }
}

extension ModifyRecords {
    /// Adds the server's records, as they are stored now, to a stored outcome of this request, or
    /// the reason why the caller may not see them.
    package func addServerRecords(
        to outcome: inout ModifyOutcome,
        _ scope: ScopeNumber,
        by caller: Caller,
        in transaction: inout WriteTransaction
    ) throws(EngineError) {
        guard let database = try? Authorisation.database(database, for: caller) else { return }
        for (index, item) in saves.enumerated() where outcome.saves.indices.contains(index) {
            guard case .failure(var failure) = outcome.saves[index],
                failure.code == .serverRecordChanged,
                let found = try transaction.find(
                    item.address.zone,
                    in: database,
                    of: scope,
                    by: caller
                ),
                let zone = found.number,
                let row = try transaction.record(zone, item.address.name), !row.isDead
            else { continue }
            let name = item.address.name
            let access = RecordAccess(to: found, of: scope, by: caller)
            var refusal = try access.refusal(.write, row, named: name, &transaction)
            if refusal == nil {
                refusal = try access.refusal(.read, row, named: name, &transaction)
            }
            if let refusal {
                outcome.saves[index] = .failure(ModifyOutcome.Failure(refusal))
                continue
            }
            failure.serverRecord = try transaction.view(
                of: row,
                named: name,
                in: found,
                of: scope,
                for: caller
            )
            outcome.saves[index] = .failure(failure)
        }
        outcome.limitServerRecords(to: limits.answerBytes)
    }
}
