// The save of a share's record: whether it may be a share, and what it changes besides fields.
//
// Called by `SavePlanner.plan` for records of type `cloudkit.share`; the put of its fields is
// planned like any other. The `access` operations of the commit come after its puts.

import CumulusModel
import CumulusStorage

extension SavePlanner {
    /// Whether a save is about a share, by its type or its name.
    static func isShare(_ content: SaveItem.Content, _ name: String) -> Bool {
        content.type == Names.shareType || name == Names.zoneShare || content.share != nil
    }

    /// Why there can't be a share of that name here; nil if there can.
    func checkMayShare(_ content: SaveItem.Content, _ name: String) -> ServiceError? {
        guard found.zone.database.kind == .private else {
            return ServiceError(
                .badDatabase,
                "shares are in private databases only: what is public everybody sees already"
            )
        }
        guard found.zone.name != Names.defaultZone else {
            return WantedShare.invalid(
                "nothing in the default zone can be shared; move it into a custom zone"
            )
        }
        guard content.type == Names.shareType else {
            return ServiceError(
                .invalidArguments,
                .wrongType,
                "a share has the type '\(Names.shareType)', and not '\(content.type)'"
            )
        }
        guard let parts = content.share, (parts.root == nil) != (name == Names.zoneShare) else {
            return nil
        }
        return WantedShare.invalid(
            parts.root == nil
                ? "the share of a zone is named '\(Names.zoneShare)'; give it that name, or a root"
                : "'\(Names.zoneShare)' shares the zone; give the share of a record another name"
        )
    }

    /// Plans how the save changes who may do what.
    func planShare(
        _ content: SaveItem.Content,
        _ put: inout Commit.Put,
        _ row: RecordRow?,
        _ plan: inout ZoneBatch.Plan,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) {
        // The lives of a share count together, so a save ends none of them.
        put.absorbed = []
        guard content.share != nil || row == nil else { return }
        let refusal = try engine { () throws(EngineError) in
            try Feature.access.refusal(in: transaction)
        }
        if let refusal { throw .item(refusal) }
        if row == nil { return try planNewShare(content, put, &plan, in: &transaction) }
        guard let parts = content.share, let zone = found.number,
            let share = try engine({ () throws(EngineError) in
                try transaction.share(put.recordName, in: zone)
            })
        else { return }
        guard share.rootName == parts.root else {
            throw .item(
                WantedShare.invalid(
                    "the share is of something else; what a share is of never changes"
                )
            )
        }
        let births = try engine { () throws(EngineError) in
            try transaction.births(of: share, in: zone)
        }
        let now = transaction.now
        let entries = try item { () throws(ServiceError) in
            try parts.changes(
                of: share.entries,
                ownedBy: found.zone.database.owner,
                now: now,
                request.limits
            )
        }
        if entries.isEmpty { return }
        plan.accesses.append(
            Commit.Access(recordName: put.recordName, births: births, entries: entries)
        )
    }

    private func planNewShare(
        _ content: SaveItem.Content,
        _ put: Commit.Put,
        _ plan: inout ZoneBatch.Plan,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) {
        guard let parts = content.share else {
            throw .item(
                WantedShare.invalid("a new share says what it shares: a root, or the zone")
            )
        }
        // The search for other shares has a limit of its own, and the sharing of a root can't be
        // divided.
        let read = transaction.recordBytes
        defer { transaction.recordBytes = read }
        let root: AccessEntries.Root
        var isNew = false
        if let name = parts.root {
            let birth = try birth(ofRoot: name, plan, in: &transaction)
            isNew = rows[name] == nil
            let key = try requestKey(ofNew: name, plan, in: &transaction)
            root = .record(name: name, birth: rows[name]?.ownDot ?? key?.dot ?? birth)
            try checkUnshared(name, plan, in: &transaction)
        } else {
            root = .zone
            try checkNoRecordIsShared(plan, in: &transaction)
        }
        var entries = AccessEntries()
        entries.join(AccessEntries.root(root))
        // The time is the same at every node that carries out the request.
        let (start, now) = (entries, asker.requestID?.milliseconds ?? transaction.now)
        entries.join(
            try item { () throws(ServiceError) in
                try parts.changes(
                    of: start,
                    ownedBy: found.zone.database.owner,
                    now: now,
                    request.limits
                )
            }
        )
        plan.accesses.append(
            Commit.Access(recordName: put.recordName, births: [], entries: entries.entries)
        )
        guard case .record(let name, let birth) = root else { return }
        // The batch deletes the former share of this root.
        plan.accesses.removeAll { $0.recordName == name }
        plan.accesses.append(
            Commit.Access(
                recordName: name,
                births: isNew ? [] : [birth],
                share: put.recordName
            )
        )
    }

    private func birth(
        ofRoot name: String,
        _ plan: ZoneBatch.Plan,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) -> Dot {
        guard items.content(named: name)?.type != Names.shareType else {
            throw .item(
                WantedShare.invalid(
                    "'\(name)' is a share, which can't be shared; name the record or zone instead"
                )
            )
        }
        guard plan.saving.contains(name),
            let birth = try birth(of: name, plan, in: &transaction)
        else {
            throw .item(
                WantedShare.invalid(
                    "a new share is saved in one batch with its root '\(name)'; save both together"
                )
            )
        }
        return birth
    }

    // MARK: One share for each record

    /// Throws if a record of the zone is shared.
    private func checkNoRecordIsShared(
        _ plan: ZoneBatch.Plan,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) {
        if let added = plan.sharedRoots.first {
            throw .item(Self.shared(added.root, as: added.share))
        }
        guard let zone = found.number, let survey = request.shares else { return }
        let shares = try engine { () throws(EngineError) in
            try survey.shares(in: items.zone, zone, &transaction)
        }
        for name in shares where plan.dying[name] == nil {
            let share = try engine { () throws(EngineError) in
                try transaction.shareInForce(name, in: zone)
            }
            if let root = share?.rootName { throw .item(Self.shared(root, as: name)) }
        }
    }

    /// Throws if the record, a record above it or a record below it is shared already, or by this
    /// batch.
    private func checkUnshared(
        _ root: String,
        _ plan: ZoneBatch.Plan,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) {
        guard let zone = found.number else { return }
        let zoneShare = try engine { () throws(EngineError) in
            try transaction.share(Names.zoneShare, in: zone)
        }
        if zoneShare != nil && plan.dying[Names.zoneShare] == nil || plan.sharesZone {
            throw .item(Self.shared("the zone"))
        }
        var seen: Set<String> = []
        var next: String? = root
        for _ in 0...TreeWalk.mostLinks {
            guard let name = next, seen.insert(name).inserted else { break }
            let row = try engine { () throws(EngineError) in
                try transaction.record(zone, name)
            }
            try checkIsNoRoot(row, name, zone, plan, in: &transaction)
            switch planned(name, plan) {
            case .below(let parent): next = parent
            case .broken: next = nil
            case nil: next = row?.isDead == false ? row?.parent?.name : nil
            }
        }
        try checkBelow(root, zone, plan, in: &transaction)
    }

    private func checkBelow(
        _ root: String,
        _ zone: ZoneNumber,
        _ plan: ZoneBatch.Plan,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) {
        let saved = items.savedChildren
        var room = request.limits.treeRecords
        var seen: Set<String> = [root]
        var pending = [root]
        while let target = pending.popLast() {
            var pages = ReferrerPages(to: target, born: nil, .parent, in: zone)
            var children = saved[target] ?? []
            repeat {
                for child in children
                where !items.moves(child, awayFrom: target) && seen.insert(child).inserted {
                    room -= 1
                    guard room >= 0 else { throw .item(tooLarge(root)) }
                    let row = try engine { () throws(EngineError) in
                        try transaction.record(zone, child)
                    }
                    let isThere = row?.isDead == false || plan.saving.contains(child)
                    guard isThere, plan.dying[child] == nil else { continue }
                    try checkIsNoRoot(row, child, zone, plan, in: &transaction)
                    pending.append(child)
                }
                let page = try engine { () throws(EngineError) in
                    try pages.next(in: transaction)
                }
                guard let page else { break }
                children = page.map(\.name)
            } while true
        }
    }

    /// Throws if a share names the record as its root, either a stored share or one of this batch.
    private func checkIsNoRoot(
        _ row: RecordRow?,
        _ name: String,
        _ zone: ZoneNumber,
        _ plan: ZoneBatch.Plan,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) {
        if plan.share(of: name) != nil { throw .item(Self.shared("record '\(name)'")) }
        guard let row, !row.isDead, let share = row.share?.name, plan.dying[share] == nil else {
            return
        }
        let stands = try engine { () throws(EngineError) in
            try transaction.shareInForce(share, in: zone) != nil
        }
        if stands { throw .item(Self.shared("record '\(name)'")) }
    }

    private func tooLarge(_ root: String) -> ServiceError {
        ServiceError(
            .limitExceeded,
            .tooManyItems,
            """
            more than \(request.limits.treeRecords) records hang below '\(root)', too many to see \
            whether one is shared; share the zone as a whole
            """
        )
    }

    private static func shared(_ what: String) -> ServiceError {
        ServiceError(
            .alreadyShared,
            "\(what) is shared already; add participants to that share, or delete it first"
        )
    }

    private static func shared(_ root: String, as share: String) -> ServiceError {
        ServiceError(
            .alreadyShared,
            """
            record '\(root)' is shared already, and a zone with a shared record can't be shared as \
            a whole; delete its share '\(share)' first
            """
        )
    }
}

extension ZoneBatch.Plan {
    /// Whether the plan makes a share of the zone.
    fileprivate var sharesZone: Bool {
        accesses.contains { $0.recordName == Names.zoneShare && $0.births.isEmpty }
    }

    /// The records that the plan shares, and the names of the shares.
    fileprivate var sharedRoots: [(root: String, share: String)] {
        accesses.compactMap { access in
            guard let share = access.share, !share.isEmpty else { return nil }
            return (access.recordName, share)
        }
    }

    /// The share that the plan makes of a record; nil if it makes none.
    fileprivate func share(of root: String) -> String? {
        sharedRoots.first { $0.root == root }?.share
    }
}

extension StoredShare {
    /// The name of the root record; nil if the zone is shared.
    package var rootName: String? {
        if case .record(let name, _) = root { name } else { nil }
    }
}
