// Whether a save may happen at all: the caller's rights, and the record's type.
//
// Called by `SavePlanner.plan` before anything of the save is looked at.

import CumulusModel
import CumulusStorage

extension SavePlanner {
    func checkCaller(
        _ content: SaveItem.Content,
        _ row: RecordRow?,
        _ name: String,
        _ plan: ZoneBatch.Plan,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> ModifyOutcome.Failure? {
        switch found.rights {
        case .own: return nil
        case .granted: break
        case .viewer:
            let refusal = try batch.refusal(
                ofSaving: content,
                named: name,
                over: row,
                plan,
                &transaction
            )
            return refusal.map { ModifyOutcome.Failure($0) }
        }
        let isUsers = content.type == UserRecords.type || Names.isUserRecordName(name)
        // A user's record is there before it is saved: its user changes it, and nobody else can
        // make one, as `checkType` says.
        if isUsers, row == nil, !caller.user.isEmpty, name != caller.user { return nil }
        let record =
            row.map { RecordAccess.Record($0, named: name) }
            ?? RecordAccess.Record(
                name: name,
                type: StoredName.shown(content.type),
                createdBy: isUsers ? name : nil
            )
        let verb: Authorisation.Verb = record.createdBy == nil ? .create : .write
        let refusal = try batch.access.refusal(verb, record, &transaction)
        return refusal.map { ModifyOutcome.Failure($0) }
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
