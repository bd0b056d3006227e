// Compares the change tag of a save or a deletion with the tag of the stored record.
//
// Called by `SavePlanner.plan` and by `ZoneBatch`; an item that ignores tags passes. The comparison
// needs READ, whatever its result: a tag tells that others changed the record.

import CumulusModel
import CumulusStorage

extension SavePlanner {
    func checkTag(
        _ content: SaveItem.Content,
        _ row: RecordRow?,
        _ name: String,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> ModifyOutcome.Failure? {
        // Shares are always compared, since a list of participants is saved as a whole.
        guard request.policy == .ifUnchanged || content.type == Names.shareType else {
            guard request.policy == .overReadable, let row else { return nil }
            let refusal = try access.refusal(.read, row, named: name, &transaction)
            return refusal.map { ModifyOutcome.Failure($0) }
        }
        guard let row else {
            guard content.changeTag != nil else { return nil }
            return ModifyOutcome.Failure(
                ServiceError(
                    .unknownItem,
                    "Record not found: it was deleted since it was fetched; save a new one instead"
                )
            )
        }
        let refusal = try access.refusal(.read, row, named: name, &transaction)
        if let refusal { return ModifyOutcome.Failure(refusal) }
        if content.changeTag == row.tag { return nil }
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
        let record = try transaction.view(
            of: row,
            named: name,
            in: found,
            of: scope,
            for: caller
        )
        return ModifyOutcome.Failure(error, serverRecord: record)
    }
}

extension ZoneBatch {
    /// Why a record is not deleted, because it has changed or is gone; nil if it may be deleted.
    ///
    /// - Parameter row: The record; nil if the caller sees none.
    func tagFailure(
        of delete: DeleteItem,
        over row: RecordRow?,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> ModifyOutcome.Failure? {
        guard let changeTag = delete.changeTag else { return nil }
        guard let row else {
            return ModifyOutcome.Failure(
                ServiceError(.unknownItem, "Record not found: it was deleted since it was fetched")
            )
        }
        let name = delete.address.name
        if let refusal = try access.refusal(.read, row, named: name, &transaction) {
            return ModifyOutcome.Failure(refusal)
        }
        if changeTag == row.tag { return nil }
        return ModifyOutcome.Failure(
            ServiceError(
                .serverRecordChanged,
                .changeTagMismatch,
                "client oplock error deleting record; fetch it, and delete what is there now"
            )
        )
    }
}
