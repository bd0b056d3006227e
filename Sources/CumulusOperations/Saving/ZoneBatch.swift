// The part of a modify request that concerns one zone: plan first, then one commit. Also decides
// what goes with a deleted record, and what forbids its deletion.
//
// The plan judges every item against the stored rows and the other items, and again without the
// items that failed, which others may have relied on, until nobody else fails. Chains of parents,
// as long as the request, fail in one go. Only then does anything change. hot: once per save.
//
// Folder: what a save and a delete mean. Read `ZoneBatch`, which makes one commit of a request's
// items, then `SavePlanner`, which judges one save step by step, and `SavePlanner+Schema`,
// `SavePlanner+References` and the other steps in the order in which it names them.

import CumulusModel
import CumulusStorage

struct ZoneBatch {
    let request: ModifyRecords
    let scope: ScopeNumber
    let caller: Caller
    let address: ZoneAddress
    private let saves: [Int]
    let deletes: [Int]
    private let savesByName: [String: Int]
    private let deletesByName: [String: Int]
    /// Living rows of the records that the items name.
    private(set) var rows: [String: RecordRow] = [:]
    /// Those of them whose types were dropped: to callers they aren't there.
    private var dropped: [String: RecordRow] = [:]
    /// Names of living records that the caller may not know of: of another user's zone.
    private(set) var unseen: Set<String> = []
    let access: RecordAccess
    private var failures: [Int: ModifyOutcome.Failure] = [:]
    /// nil: the request has no id, and can't be repeated.
    private(set) var requestID: RequestID?
    /// What was looked up before the writer's turn; nil: nothing was.
    private(set) var targets: ZoneTargets?

    /// - Parameter answered: Saves that were carried out before.
    init(
        request: ModifyRecords,
        scope: ScopeNumber,
        caller: Caller,
        address: ZoneAddress,
        access: RecordAccess,
        answered: [Int] = []
    ) {
        self.request = request
        self.access = access
        self.scope = scope
        self.caller = caller
        self.address = address
        saves = request.saves.indices.filter {
            request.saves[$0].address.zone == address && !answered.contains($0)
        }
        deletes = request.deletes.indices.filter { request.deletes[$0].address.zone == address }
        savesByName = Dictionary(
            saves.map { (request.saves[$0].address.name, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        deletesByName = Dictionary(
            deletes.map { (request.deletes[$0].address.name, $0) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// Carries the items out; returns false, and has changed nothing, if a survey is needed first.
    mutating func run(
        _ found: FoundZone,
        _ requestID: RequestID?,
        in transaction: inout WriteTransaction,
        _ outcome: inout ModifyOutcome
    ) throws(EngineError) -> Bool {
        self.requestID = requestID
        try load(found, in: &transaction)
        targets = try request.targets?.targets(in: address, &transaction)
        noteFaults()
        let isAtomic = request.isAtomic && found.capabilities.contains(.atomic)
        let plan = try settle(found, isAtomic: isAtomic, in: &transaction)
        if needsSurvey(plan) { return false }
        if isAtomic && !failures.isEmpty {
            failRest(ModifyOutcome.atomicFailure)
            report([], [], to: &outcome)
            return true
        }
        let results = try perform(plan, in: found, requestID, &transaction, &outcome)
        request.allowance?.spend(plan.grown)
        report(plan.savedItems, results, to: &outcome)
        try hideValues(of: plan.savedItems, in: found, &transaction, &outcome)
        return true
    }

    // MARK: Preparation

    /// Saves and deletes have one set of keys: a delete's is negative.
    private func deleteKey(_ index: Int) -> Int { -1 - index }

    private mutating func load(
        _ found: FoundZone,
        in transaction: inout WriteTransaction
    ) throws(EngineError) {
        guard let number = found.number else { return }
        let deleted = deletes.map { request.deletes[$0].address.name }
        for name in saves.map({ request.saves[$0].address.name }) + deleted {
            guard let row = try transaction.load(number, name), !row.isDead else { continue }
            if access.walk != nil,
                try access.refusal(.read, row, named: name, &transaction) != nil
            {
                unseen.insert(name)
            } else if try transaction.lens(of: scope).hides(row.type) {
                dropped[name] = row
            } else {
                rows[name] = row
            }
        }
    }

    /// Items that could not even be read.
    private mutating func noteFaults() {
        for index in saves {
            if case .failure(let error) = request.saves[index].content {
                failures[index] = ModifyOutcome.Failure(error)
            }
        }
        for index in deletes {
            if let error = request.deletes[index].fault {
                failures[deleteKey(index)] = ModifyOutcome.Failure(error)
            }
        }
    }

    // MARK: Plan

    /// Rounds of planning: three are many, and a request that is made for it takes no more.
    private static let mostRounds = 16

    /// Plans until nobody else fails; in an atomic zone one failure is enough.
    private mutating func settle(
        _ found: FoundZone,
        isAtomic: Bool,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Plan {
        for _ in 0..<ZoneBatch.mostRounds {
            let known = failures.count
            var plan = try planDeletes(found, in: &transaction)
            if needsSurvey(plan) { return plan }
            if failures.count > known, !isAtomic { continue }
            try planSaves(found, &plan, in: &transaction)
            if failures.count == known || isAtomic { return plan }
            failOrphans()
        }
        failRest(
            ModifyOutcome.Failure(
                ServiceError(
                    .limitExceeded,
                    "these items rely on each other in too many ways; send them in several requests"
                )
            )
        )
        return Plan()
    }

    private mutating func failRest(_ failure: ModifyOutcome.Failure) {
        for item in saves + deletes.map(deleteKey) where failures[item] == nil {
            failures[item] = failure
        }
    }

    private mutating func planDeletes(
        _ found: FoundZone,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Plan {
        var plan = Plan()
        plan.saving = Set(
            saves.filter { failures[$0] == nil }.map { request.saves[$0].address.name }
        )
        // All that is named goes with the first commit. Before a survey nothing is cached, so that
        // each record may take a read of the disk: more than a turn has are surveyed.
        let (turn, commit) = (transaction.state.turnRecords, transaction.state.cascadeRecords)
        var room = (request.survey == nil ? turn : commit) - deletes.count
        for index in deletes where failures[deleteKey(index)] == nil {
            if let failure = try planDelete(index, found, &room, &plan, in: &transaction) {
                failures[deleteKey(index)] = failure
            }
        }
        if plan.isLong {
            for (index, failure) in request.survey?.failures ?? [:] where deletes.contains(index) {
                failures[deleteKey(index)] = failures[deleteKey(index)] ?? failure
            }
        } else {
            try checkChildren(of: plan, found, in: &transaction)
        }
        return plan
    }

    private mutating func planSaves(
        _ found: FoundZone,
        _ plan: inout Plan,
        in transaction: inout WriteTransaction
    ) throws(EngineError) {
        let planner = SavePlanner(
            request: request,
            scope: scope,
            caller: caller,
            found: found,
            rows: rows,
            dropped: dropped,
            batch: self
        )
        for index in saves where failures[index] == nil {
            if let failure = try planner.plan(index, &plan, in: &transaction) {
                failures[index] = failure
            }
        }
    }

    /// Who was to get a parent that is not saved after all isn't either.
    private mutating func failOrphans() {
        var children: [String: [Int]] = [:]
        var missing: [String] = []
        for index in saves {
            let name = request.saves[index].address.name
            if failures[index] != nil {
                missing.append(name)
            } else if let parent = content(named: name)?.parent {
                children[parent, default: []].append(index)
            }
        }
        if children.isEmpty { return }
        while let parent = missing.popLast() {
            // One that is stored already is there.
            guard rows[parent] == nil else { continue }
            for child in children.removeValue(forKey: parent) ?? [] {
                failures[child] = ModifyOutcome.Failure(SavePlanner.noParent(parent))
                missing.append(request.saves[child].address.name)
            }
        }
    }

    private func planDelete(
        _ index: Int,
        _ found: FoundZone,
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
                for child in owned where plan.dying[child.name] == nil {
                    guard try goes(child, with: target),
                        let row = try transaction.record(zone, child.name), !row.isDead,
                        try !transaction.lens(of: scope).hides(child.field, of: row.type)
                    else { continue }
                    let isNamed = deletesByName[child.name] != nil
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

    /// Whether all of it is planned again after a survey.
    private func needsSurvey(_ plan: Plan) -> Bool { plan.isLong && request.survey == nil }

    /// Whether a referrer still refers to the target once this batch's saves are in.
    func goes(_ child: Referrer, with target: String) throws(EngineError) -> Bool {
        guard let fields = content(named: child.name)?.fields,
            let entry = fields.entry(named: child.field)
        else { return true }
        guard entry.type?.holdsReferences == true else { return false }
        do {
            return try fields.owningReferences(entry).contains { $0.target == target }
        } catch {
            throw .corrupt("a canonical field is damaged: \(error.reason)")
        }
    }

    /// What this batch still is to save under a name.
    func content(named name: String) -> SaveItem.Content? {
        guard let index = savesByName[name], failures[index] == nil else { return nil }
        return try? request.saves[index].content.get()
    }

    /// Names of records that this batch still is to save below a parent, by the parent.
    var savedChildren: [String: [String]] {
        var children: [String: [String]] = [:]
        for name in saves.map({ request.saves[$0].address.name }) {
            if let parent = content(named: name)?.parent { children[parent, default: []] += [name] }
        }
        return children
    }

    /// A parent goes only together with its children, also in a cascade; one that stays keeps its
    /// own parent, too.
    private mutating func checkChildren(
        of plan: Plan,
        _ found: FoundZone,
        in transaction: inout WriteTransaction
    ) throws(EngineError) {
        guard let zone = found.number else { return }
        var parents: [String: [String]] = [:]
        var staying: [(name: String, child: String)] = []
        for (name, row) in plan.deletions {
            guard try isShown(name, in: zone, &transaction) else { continue }
            var pages = ReferrerPages(to: name, born: row.births, .parent, in: zone)
            pages: while let children = try pages.next(in: transaction) {
                for child in children.map(\.name) where !moves(child, awayFrom: name) {
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
                failures[deleteKey(item)] == nil
            else { continue }
            let shownChild = try readable(child, in: found, &transaction)
            let refusal = Self.orphan(shownChild, of: try readable(name, in: found, &transaction))
            failures[deleteKey(item)] = ModifyOutcome.Failure(refusal)
            for parent in parents[name] ?? [] { staying.append((parent, name)) }
        }
    }

    /// A record whose type was dropped holds up nothing.
    private func isShown(
        _ name: String,
        in zone: ZoneNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        let lens = try transaction.lens(of: scope)
        guard lens.hasDrops, let row = try transaction.record(zone, name) else { return true }
        return !lens.hides(row.type)
    }

    func moves(_ child: String, awayFrom parent: String) -> Bool {
        content(named: child)?.parent.map { $0 != parent } ?? false
    }

    // MARK: Commit

    /// Makes the commit, with all items of the request; where a cascade is long, what it leaves for
    /// further turns of the writer becomes a debt in the same transaction.
    private func perform(
        _ plan: Plan,
        in found: FoundZone,
        _ requestID: RequestID?,
        _ transaction: inout WriteTransaction,
        _ outcome: inout ModifyOutcome
    ) throws(EngineError) -> [RecordRow] {
        let author = Author(
            requestID: requestID,
            user: caller.user,
            device: caller.device,
            isGuarded: request.policy == .ifUnchanged && !plan.puts.isEmpty
        )
        let isNamed = { (name: String) in deletesByName[name] != nil }
        let deletions =
            plan.deletions.filter { isNamed($0.name) } + plan.deletions.filter { !isNamed($0.name) }
        var operations = plan.registers + plan.puts.map(Commit.Operation.put)
        operations += plan.accesses.filter { plan.dying[$0.recordName] == nil }.map { .access($0) }
        var open: [(name: String, births: [Dot])] = []
        for (name, row) in deletions {
            let others = try transaction.siblings(of: row, named: name, in: found.number)
            let lives = NamedLives([row] + others)
            operations.append(lives.deletion(of: name))
            if plan.open.contains(name) { open.append((name, lives.births)) }
        }
        if operations.isEmpty { return [] }
        let (commit, rows) = try transaction.perform(
            operations,
            in: scope,
            zone: found.zone,
            author: author,
            bringsBack: plan.bringsBack
        )
        outcome.dots.append(commit.stamp.dot)
        outcome.share = outcome.share ?? share(changedBy: plan, in: found)
        for (name, births) in open {
            let debt = CascadeDebt(
                zone: found.zone,
                births: births,
                ended: commit.stamp,
                user: author.user,
                device: author.device
            )
            guard let zone = found.number else { continue }
            try transaction.owe(debt, around: name, of: zone, for: commit.stamp.dot, in: scope)
            outcome.owes = true
        }
        return rows
    }

    private func report(_ items: [Int], _ rows: [RecordRow], to outcome: inout ModifyOutcome) {
        for (item, row) in zip(items, rows) {
            outcome.saves[item] = .success(ModifyOutcome.Saved(row, of: request.saves[item]))
        }
        for (item, failure) in failures {
            if item >= 0 {
                outcome.saves[item] = .failure(failure)
            } else {
                outcome.deletes[-1 - item] = .failure(failure)
            }
        }
    }
}
