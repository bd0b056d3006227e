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
            let refusal = try refusal(
                ofSaving: content,
                named: name,
                over: row,
                plan,
                &transaction
            )
            return refusal.map { ModifyOutcome.Failure($0) }
        }
        let isUsers = content.type == UserRecords.type || Names.isUserRecordName(name)
        // A user's record exists before it is saved. Its user changes it, and nobody else can
        // create it, as `checkType` says.
        if isUsers, row == nil, !caller.user.isEmpty, name != caller.user { return nil }
        let record =
            row.map { RecordAccess.Record($0, named: name) }
            ?? RecordAccess.Record(
                name: name,
                type: StoredName.shown(content.type),
                createdBy: isUsers ? name : nil
            )
        let verb: Authorisation.Verb = record.createdBy == nil ? .create : .write
        let refusal = try access.refusal(verb, record, &transaction)
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

// MARK: - In another user's zone

extension SavePlanner {
    /// Why a participant may not save that; nil if it may.
    ///
    /// - Parameter row: nil if there is no record that the caller sees.
    private func refusal(
        ofSaving content: SaveItem.Content,
        named name: String,
        over row: RecordRow?,
        _ plan: ZoneBatch.Plan,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> ServiceError? {
        guard let row else {
            // `checkTag` says that a record with this tag is not there, whether or not it is.
            if content.changeTag != nil, request.policy == .ifUnchanged { return nil }
            let parent = content.parent ?? ""
            if let refusal = try refusal(ofPlacing: content, name, parent, plan, &transaction) {
                return refusal
            }
            // The name is taken by what the caller may not see.
            return unseen.contains(name) ? Authorisation.outside : nil
        }
        if let refusal = try access.refusal(.write, row, named: name, &transaction) {
            return refusal
        }
        guard let parent = content.parent, parent != row.parent?.name ?? "" else { return nil }
        if row.share?.name != nil {
            return Authorisation.ownersOnly(.write, "parent of the root of a share")
        }
        return try refusal(ofPlacing: content, name, parent, plan, &transaction)
    }

    /// Why a participant may not put a record below a parent.
    private func refusal(
        ofPlacing content: SaveItem.Content,
        _ name: String,
        _ parent: String,
        _ plan: ZoneBatch.Plan,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> ServiceError? {
        guard let walk = access.walk else { return Authorisation.outside }
        var facts = Authorisation.SharedFacts(name: name, type: StoredName.shown(content.type))
        if !parent.isEmpty {
            facts.roots = try walk.roots(above: parent, transaction) { planned($0, plan) }
            // A record under itself hangs nowhere.
            if try walk.leads(from: parent, to: name, transaction, { planned($0, plan) }) {
                facts.roots = []
            }
        }
        return Authorisation.refusal(.create, facts, walk.view)
    }

    /// What the batch makes of a record; nil means that it stays as it is.
    func planned(_ name: String, _ plan: ZoneBatch.Plan) -> TreeWalk.Link? {
        if plan.dying[name] != nil { return .broken }
        guard let content = items.content(named: name) else { return nil }
        if let parent = content.parent { return .below(parent: parent.isEmpty ? nil : parent) }
        return rows[name] == nil ? .below(parent: nil) : nil
    }
}
