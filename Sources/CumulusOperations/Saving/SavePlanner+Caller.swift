// Whether a save may happen at all: the caller's rights, and the record's type.
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
