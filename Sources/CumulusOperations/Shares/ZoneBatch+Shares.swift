// What deletions do to shares, and which share a batch changes or ends.
//
// Called by `ZoneBatch` while it plans and when it has made its commit.

import CumulusModel
import CumulusStorage

extension ZoneBatch {
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

    /// Plans what goes or changes with a deleted record because of shares.
    ///
    /// Returns why the record must not go; nil if it may.
    ///
    /// - Parameter shares: Gets the share of a root, which goes with the root.
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
            // Without its record the share no longer counts, whatever the root says.
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
    /// The share that a plan changes or ends; nil if there is none.
    func share(changedBy plan: Plan) -> RecordAddress? {
        let changed = plan.accesses.first { !$0.entries.isEmpty }?.recordName
        guard let name = changed ?? plan.dying.keys.lazy.compactMap(endedShare).first else {
            return nil
        }
        let owner = found.rights.view == nil ? "" : found.zone.database.owner
        return RecordAddress(zone: ZoneAddress(name: found.zone.name, owner: owner), name: name)
    }

    /// The share that ends with a deleted record; nil if none does.
    private func endedShare(_ name: String) -> String? {
        guard let row = rows[name] else { return nil }
        return StoredName.shown(row.type) == Names.shareType ? name : row.share?.name
    }
}

extension RowReader where Self: ~Copyable {
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
