// Whether a save's change tag is that of the stored record.
//
// Called by `SavePlanner.plan`; a save that ignores tags passes.

import CumulusModel
import CumulusStorage

extension SavePlanner {
    func checkTag(
        _ content: SaveItem.Content,
        _ row: RecordRow?,
        _ name: String,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> ModifyOutcome.Failure? {
        guard request.policy == .ifUnchanged else { return nil }
        guard let row else {
            guard content.changeTag != nil else { return nil }
            return ModifyOutcome.Failure(
                ServiceError(
                    .unknownItem,
                    "Record not found: it was deleted since it was fetched; save a new one instead"
                )
            )
        }
        if content.changeTag == row.tag { return nil }
        let refusal = try transaction.refusal(
            .read,
            Authorisation.RecordFacts(row),
            in: found.zone.database,
            of: scope,
            to: caller
        )
        // The answer would hold the record.
        if let refusal { return ModifyOutcome.Failure(refusal) }
        let error =
            content.changeTag == nil
            ? ServiceError(
                .serverRecordChanged,
                .recordExists,
                "record to insert already exists; merge into the server's record and save that"
            )
            : ServiceError(
                .serverRecordChanged,
                .changeTagMismatch,
                "client oplock error updating record; merge into the server's record and save that"
            )
        let record = try transaction.view(of: row, named: name, in: found, of: scope)
        return ModifyOutcome.Failure(error, serverRecord: record)
    }
}
