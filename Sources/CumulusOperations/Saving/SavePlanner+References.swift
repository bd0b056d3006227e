// The references and the parent of a save: to which lives they point, and how many owners a record
// has.
//
// Called by `SavePlanner.plan`; `ZoneBatch` plans cascades.

import CumulusModel
import CumulusStorage

extension SavePlanner {
    func planReferences(
        _ put: inout Commit.Put,
        _ row: RecordRow?,
        _ plan: inout ZoneBatch.Plan,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) {
        let fields = try owningReferences(of: put)
        if fields.isEmpty { return }
        if Names.isUserRecordName(put.recordName) { throw .item(UserRecords.deletion) }
        var counted = try owners(in: row)
        for (field, references) in fields {
            for reference in references {
                let name = reference.target
                if let birth = try birth(of: name, plan, in: &transaction) {
                    put.targets.append(
                        .init(field: field, element: reference.element, birth: birth)
                    )
                }
                if counted.insert(Owner(name: name, field: field)).inserted {
                    try checkTarget(name, of: row, plan, in: &transaction)
                    try addOwner(name, &plan, in: &transaction)
                }
            }
        }
    }

    /// Throws if a participant is about to refer to a record that it may not see.
    ///
    /// The reference would give it a hold on the record: it would take up room there, keep the
    /// owner from deleting the record, or be deleted with it. A missing record is refused with the
    /// same error. References that the record has already may stay.
    private func checkTarget(
        _ target: String,
        of row: RecordRow?,
        _ plan: ZoneBatch.Plan,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) {
        guard access.walk != nil else { return }
        if row?.share?.name != nil {
            throw .item(Authorisation.ownersOnly(.write, "deletion of the root of a share"))
        }
        // A save of a record that the caller may not know of fails by itself.
        if rows[target] != nil || plan.saving.contains(target), plan.dying[target] == nil { return }
        let isSeen = try engine { () throws(EngineError) in
            guard plan.dying[target] == nil, let zone = found.number,
                let life = try life(of: target, in: zone, &transaction),
                try !transaction.lens(of: scope).hides(life.type)
            else { return false }
            let record = RecordAccess.Record(name: target, type: StoredName.shown(life.type))
            return try access.refusal(.read, record, &transaction) == nil
        }
        guard !isSeen else { return }
        throw .item(
            ServiceError(
                .referenceViolation,
                """
                a deleteSelf reference names '\(target)', which is not there or not shared with \
                you; in the shared database refer to records that you see, or save them first or \
                in the same batch
                """
            )
        )
    }

    /// The deleteSelf references of a save, by field; the targets of other references may be
    /// missing.
    private func owningReferences(
        of put: Commit.Put
    ) throws(PlanFailure) -> [(field: String, references: [RecordBody.OwningReference])] {
        var fields: [(field: String, references: [RecordBody.OwningReference])] = []
        for entry in put.fields.entries where entry.type?.holdsReferences == true {
            let references = try malformed { () throws(MalformedBytes) in
                try put.fields.owningReferences(entry)
            }
            if !references.isEmpty { fields.append((put.fields.name(of: entry), references)) }
        }
        return fields
    }

    /// A record whose deletion deletes the referring one, and the field of the reference.
    struct Owner: Hashable {
        var name: String
        var field: String
    }

    func owners(in row: RecordRow?) throws(PlanFailure) -> Set<Owner> {
        let held = try malformed { () throws(MalformedBytes) in try row?.backReferences() ?? [] }
        return Set(
            held.filter { $0.kind == .deleteSelf }.map { Owner(name: $0.target, field: $0.field) }
        )
    }

    /// The birth of a living record, or of one that this batch creates; nil if there is no such
    /// record, or this batch deletes it.
    func birth(
        of name: String,
        _ plan: ZoneBatch.Plan,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) -> Dot? {
        if plan.dying[name] != nil { return nil }
        if let row = rows[name] { return row.birth.dot }
        return try engine { () throws(EngineError) in
            if plan.saving.contains(name) { return try transaction.nextDot(scope) }
            guard let zone = found.number, let life = try life(of: name, in: zone, &transaction),
                try !transaction.lens(of: scope).hides(life.type)
            else { return nil }
            return life.birth
        }
    }

    private func life(
        of name: String,
        in zone: ZoneNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> ZoneTargets.Life? {
        if let known = targets?[name] { return known.life }
        return ZoneTargets.Life(try transaction.load(zone, name))
    }

    /// Counts one more deleteSelf reference to a record.
    func addOwner(
        _ target: String,
        _ plan: inout ZoneBatch.Plan,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) {
        let limit = request.limits.ownersPerRecord
        var count: ZoneBatch.OwnerCount
        if let known = plan.owned[target] {
            count = known
        } else {
            count = ZoneBatch.OwnerCount()
            count.stored = try engine { () throws(EngineError) in
                if let known = targets?[target] { return known.owners }
                guard let zone = found.number else { return 0 }
                return try transaction.countOwned(by: target, in: zone, limit: limit)
            }
        }
        if count.sum >= limit, !count.isExact, let zone = found.number {
            count.stored = try engine { () throws(EngineError) in
                try stayingOwners(of: target, in: zone, plan, &transaction)
            }
            count.isExact = true
        }
        guard count.sum < limit else {
            throw .item(
                ServiceError(
                    .limitExceeded,
                    .tooManyOwners,
                    """
                    Limit exceeded for number of owning references to single record: '\(target)' \
                    has \(limit)
                    """
                )
            )
        }
        count.added += 1
        plan.owned[target] = count
    }

    /// The number of deleteSelf references to a record that callers can see and that this batch
    /// leaves unchanged.
    func stayingOwners(
        of target: String,
        in zone: ZoneNumber,
        _ plan: ZoneBatch.Plan,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Int {
        let lens = try transaction.lens(of: scope)
        let all = try transaction.referrers(to: target, born: nil, .deleteSelf, in: zone)
        var count = 0
        for referrer in all where plan.dying[referrer.name] == nil {
            guard try items.goes(referrer, with: target) else { continue }
            if lens.hasDrops {
                guard let row = try transaction.record(zone, referrer.name) else { continue }
                if lens.hides(row.type) || lens.hides(referrer.field, of: row.type) { continue }
            }
            count += 1
        }
        return count
    }

    func planParent(
        _ content: SaveItem.Content,
        _ put: inout Commit.Put,
        _ plan: ZoneBatch.Plan,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) {
        guard let parent = content.parent else { return }
        if parent.isEmpty {
            put.parent = Commit.ParentChange(recordName: "", birth: nil)
            return
        }
        guard let birth = try birth(of: parent, plan, in: &transaction) else {
            throw .item(SavePlanner.noParent(parent))
        }
        put.parent = Commit.ParentChange(recordName: parent, birth: birth)
    }

    static func noParent(_ name: String) -> ServiceError {
        ServiceError(
            .referenceViolation,
            "the parent '\(name)' does not exist; save it first or in the same batch"
        )
    }
}
