// Whether a save may happen at all: who the caller is, which version it knows, and the type.
//
// Called by `SavePlanner.plan` before anything of the save is looked at.

import CumulusModel
import CumulusStorage

extension SavePlanner {
    func checkCaller(_ row: RecordRow?) -> ModifyOutcome.Failure? {
        Authorisation.refusal(
            row == nil ? .create : .write,
            in: found.zone.database,
            creator: row?.createdBy,
            by: caller
        ).map { ModifyOutcome.Failure($0) }
    }

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

    func checkType(
        _ content: SaveItem.Content,
        _ row: RecordRow?,
        _ name: String
    ) -> ModifyOutcome.Failure? {
        if let refusal = UserRecords.refusal(of: content, named: name, in: found, by: caller) {
            return ModifyOutcome.Failure(refusal)
        }
        guard let row, row.type != content.type else { return nil }
        return ModifyOutcome.Failure(
            ServiceError(
                .invalidArguments,
                .wrongType,
                """
                record '\(name)' has the type '\(StoredName.shown(row.type))', which can't become \
                '\(StoredName.shown(content.type))'
                """
            )
        )
    }
}
