// What a batch may do in another user's zone, and what deletions do to shares.
//
// Called by `ZoneBatch` while it plans, and by `SavePlanner` for the parents of saves.

import CumulusModel
import CumulusStorage

extension ZoneBatch {
    // MARK: Saves in another user's zone

    /// Why a participant may not save that; nil if it may.
    ///
    /// - Parameter row: nil if there is no record that the caller sees.
    func refusal(
        ofSaving content: SaveItem.Content,
        named name: String,
        over row: RecordRow?,
        _ plan: Plan,
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
        _ plan: Plan,
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
    func planned(_ name: String, _ plan: Plan) -> TreeWalk.Link? {
        if plan.dying[name] != nil { return .broken }
        guard let content = content(named: name) else { return nil }
        if let parent = content.parent { return .below(parent: parent.isEmpty ? nil : parent) }
        return rows[name] == nil ? .below(parent: nil) : nil
    }

    // MARK: Deletions

    /// Gives up the caller's place in a share; returns why it can't.
    func planLeave(
        _ name: String,
        in zone: ZoneNumber,
        _ plan: inout Plan,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> ServiceError? {
        if let refusal = try Feature.access.refusal(in: transaction) { return refusal }
        if let share = try transaction.share(name, in: zone),
            let leave = try transaction.leave(share, by: caller.user, in: zone)
        {
            plan.accesses.append(leave)
        }
        return nil
    }

    /// What goes with a record, or stays and changes with it, because of shares.
    ///
    /// Returns why the record must not go; nil if it may.
    ///
    /// - Parameter shares: Filled with the share of a root, which goes with it.
    func planShares(
        of row: RecordRow,
        named name: String,
        in zone: ZoneNumber,
        _ plan: inout Plan,
        _ shares: inout [StoredShare],
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> ServiceError? {
        let isShare = StoredName.shown(row.type) == Names.shareType
        guard row.share?.name != nil || isShare else { return nil }
        if access.walk != nil { return Authorisation.ownersOnly(.delete, "root of a share") }
        if isShare, let share = try transaction.share(name, in: zone),
            case .record(let root, let birth) = share.root,
            let rootRow = try transaction.record(zone, root), !rootRow.isDead,
            rootRow.isBorn(at: birth), rootRow.share?.name == name,
            // Without its record the share counts no more, whatever the root says.
            try Feature.access.refusal(in: transaction) == nil
        {
            let access = Commit.Access(recordName: root, births: rootRow.births, share: "")
            plan.accesses.append(access)
        }
        if let shareName = row.share?.name, plan.dying[shareName] == nil,
            let share = try transaction.share(shareName, in: zone),
            share.root?.isLife(row, named: name) == true
        {
            shares.append(share)
        }
        return nil
    }
}

extension ZoneBatch {
    /// A share that a plan changes or ends.
    func share(changedBy plan: Plan, in found: FoundZone) -> RecordAddress? {
        let changed = plan.accesses.first { !$0.entries.isEmpty }?.recordName
        guard let name = changed ?? plan.dying.keys.lazy.compactMap(endedShare).first else {
            return nil
        }
        let owner = found.rights.view == nil ? "" : found.zone.database.owner
        return RecordAddress(zone: ZoneAddress(name: found.zone.name, owner: owner), name: name)
    }

    /// The share that ends with a record; nil if none does.
    private func endedShare(_ name: String) -> String? {
        guard let row = rows[name] else { return nil }
        return StoredName.shown(row.type) == Names.shareType ? name : row.share?.name
    }
}

extension WriteTransaction {
    /// The change by which a user leaves a share; nil if the user is not in.
    borrowing func leave(
        _ share: StoredShare,
        by user: String,
        in zone: ZoneNumber
    ) throws(EngineError) -> Commit.Access? {
        var left = AccessEntries()
        for participant in share.entries.participants
        where participant.user == user && participant.hasAccepted {
            left.join(share.entries.leaving(participant))
        }
        guard !left.isEmpty else { return nil }
        return Commit.Access(
            recordName: share.name,
            births: try births(of: share, in: zone),
            entries: left.entries
        )
    }
}
