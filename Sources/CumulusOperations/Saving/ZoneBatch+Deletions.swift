// Which records a batch deletes: the named ones, and the ones that go with them by deleteSelf
// references and shares, as far as one commit has room for them.
//
// Called by `ZoneBatch` in each round of planning. The rest is left to later turns of the writer,
// after a survey.

import CumulusModel
import CumulusStorage

extension ZoneBatch {
    mutating func planDeletes(in transaction: inout WriteTransaction) throws(EngineError) -> Plan {
        var plan = Plan()
        plan.saving = items.saving
        // All named records go with the first commit. Before a survey nothing is cached, so each
        // record may take a read of the disk: if there are more than one turn may read, they are
        // surveyed.
        let (turn, commit) = (transaction.state.turnRecords, transaction.state.cascadeRecords)
        var room = (request.survey == nil ? turn : commit) - items.deletes.count
        for index in items.deletes where !items.hasFailed(.delete(index)) {
            if let failure = try planDelete(index, &room, &plan, in: &transaction) {
                items.fail(.delete(index), failure)
            }
        }
        if plan.isLong {
            for (index, failure) in request.survey?.failures ?? [:]
            where items.deletes.contains(index) && !items.hasFailed(.delete(index)) {
                items.fail(.delete(index), failure)
            }
        } else {
            try checkChildren(of: plan, in: &transaction)
        }
        return plan
    }

    private func planDelete(
        _ index: Int,
        _ room: inout Int,
        _ plan: inout Plan,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> ModifyOutcome.Failure? {
        let name = request.deletes[index].address.name
        let row = rows[name]
        let leaves = access.walk != nil && row?.type == Names.shareType
        if !leaves, let refusal = try refusal(ofDeleting: row, named: name, &transaction) {
            return ModifyOutcome.Failure(refusal)
        }
        if Names.isUserRecordName(name), row != nil || name == caller.user {
            return ModifyOutcome.Failure(UserRecords.deletion)
        }
        if let failure = try tagFailure(of: request.deletes[index], over: row, &transaction) {
            return failure
        }
        guard let row, let zone = found.number, plan.dying[name] == nil else { return nil }
        if leaves {
            return try planLeave(name, in: zone, &plan, &transaction)
                .map { ModifyOutcome.Failure($0) }
        }
        var pending = [(name: name, row: row)]
        plan.dying[name] = index
        while let (target, row) = pending.popLast() {
            plan.deletions.append((target, row))
            var shares: [StoredShare] = []
            let refusal = try planShares(
                of: row,
                named: target,
                in: zone,
                &plan,
                &shares,
                &transaction
            )
            if let refusal { return ModifyOutcome.Failure(refusal) }
            for share in shares {
                plan.dying[share.name] = index
                pending.append((share.name, share.row))
            }
            var pages = ReferrerPages(to: target, born: row.births, .deleteSelf, in: zone)
            pages: while let owned = try pages.next(in: transaction) {
                let next = owned.filter { plan.dying[$0.name] == nil }
                try transaction.readAhead(next.map { .record(zone, $0.name) })
                for child in owned where plan.dying[child.name] == nil {
                    let isNamed = items.deletes(child.name)
                    guard try items.goes(child, with: target) else { continue }
                    guard isNamed || !isFull(transaction) else {
                        plan.open.insert(target)
                        break pages
                    }
                    guard let row = try transaction.load(zone, child.name), !row.isDead,
                        try !transaction.lens(of: scope).hides(child.field, of: row.type)
                    else { continue }
                    guard isNamed || room > 0 else {
                        plan.open.insert(target)
                        break pages
                    }
                    if !isNamed { room -= 1 }
                    plan.dying[child.name] = index
                    pending.append((child.name, row))
                }
            }
            if needsSurvey(plan) { break }
        }
        return nil
    }

    /// Whether the request has read so much that the rest of its cascade is left to later turns.
    private func isFull(_ transaction: borrowing WriteTransaction) -> Bool {
        transaction.recordBytes >= transaction.state.storedBytesPerTurn
    }

    /// Whether everything must be planned again after a survey.
    func needsSurvey(_ plan: Plan) -> Bool { plan.isLong && request.survey == nil }

    /// Fails deletions of a parent whose children stay, also in a cascade; a record that stays
    /// keeps its own parent, too.
    private mutating func checkChildren(
        of plan: Plan,
        in transaction: inout WriteTransaction
    ) throws(EngineError) {
        guard let zone = found.number else { return }
        var parents: [String: [String]] = [:]
        var staying: [(name: String, child: String)] = []
        for (name, row) in plan.deletions {
            guard try isShown(name, in: zone, &transaction) else { continue }
            var pages = ReferrerPages(to: name, born: row.births, .parent, in: zone)
            pages: while let children = try pages.next(in: transaction) {
                for child in children.map(\.name) where !items.moves(child, awayFrom: name) {
                    if plan.dying[child] != nil {
                        parents[child, default: []].append(name)
                    } else if try isShown(child, in: zone, &transaction) {
                        staying.append((name, child))
                        break pages
                    }
                }
            }
        }
        var seen: Set<String> = []
        while let (name, child) = staying.popLast() {
            guard seen.insert(name).inserted, let item = plan.dying[name],
                !items.hasFailed(.delete(item))
            else { continue }
            let shownChild = try readable(child, &transaction)
            let refusal = Self.orphan(shownChild, of: try readable(name, &transaction))
            items.fail(.delete(item), ModifyOutcome.Failure(refusal))
            for parent in parents[name] ?? [] { staying.append((parent, name)) }
        }
    }

    /// Whether callers see a record; one whose type was dropped stops no deletion.
    private func isShown(
        _ name: String,
        in zone: ZoneNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        let lens = try transaction.lens(of: scope)
        guard lens.hasDrops, let row = try transaction.record(zone, name) else { return true }
        return !lens.hides(row.type)
    }
}
