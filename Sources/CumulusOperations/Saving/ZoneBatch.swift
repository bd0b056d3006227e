// The part of a modify request that concerns one zone: plan first, then one commit. Also decides
// what goes with a deleted record, and what forbids its deletion.
//
// The plan judges every item against the stored rows and the other items, and again without the
// items that failed, which others may have relied on, until nobody else fails. Chains of parents,
// as long as the request, fail in one go. Only then does anything change. What the request reads is
// added up over its zones: if that is more than one request may change, all of it is refused. hot:
// once per save.
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
    let saves: [Int]
    let deletes: [Int]
    private let savesByName: [String: Int]
    let deletesByName: [String: Int]
    /// Living rows of the records that the items name.
    private(set) var rows: [String: RecordRow] = [:]
    /// Those of them whose types were dropped: to callers they aren't there.
    private var dropped: [String: RecordRow] = [:]
    /// Names of living records that the caller may not know of: of another user's zone.
    private(set) var unseen: Set<String> = []
    let access: RecordAccess
    /// By saves, and by `deleteKey`.
    var failures: [Int: ModifyOutcome.Failure] = [:]
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

    /// What became of the items.
    enum Verdict {
        /// Each has its outcome.
        case done
        /// Nothing was changed: the whole request waits for a survey, or is refused.
        case needsSurvey
        case needsTargets
        case readsTooMuch
    }

    /// Carries the items out, unless the whole request has to wait or is refused.
    mutating func run(
        _ found: FoundZone,
        _ requestID: RequestID?,
        in transaction: inout WriteTransaction,
        _ outcome: inout ModifyOutcome
    ) throws(EngineError) -> Verdict {
        self.requestID = requestID
        guard try load(found, in: &transaction) else { return .readsTooMuch }
        targets = try request.targets?.targets(in: address, &transaction)
        noteFaults()
        let isAtomic = request.isAtomic && found.capabilities.contains(.atomic)
        let plan = try settle(found, isAtomic: isAtomic, in: &transaction)
        if needsSurvey(plan) { return .needsSurvey }
        if let verdict = verdict(onReads: transaction) { return verdict }
        if isAtomic && !failures.isEmpty {
            failRest(ModifyOutcome.atomicFailure)
            report([], [], to: &outcome)
            return .done
        }
        let results = try perform(plan, in: found, requestID, &transaction, &outcome)
        request.allowance?.spend(plan.grown)
        report(plan.savedItems, results, to: &outcome)
        try hideValues(of: plan.savedItems, in: found, &transaction, &outcome)
        return .done
    }

    /// Why the request can't go on, having read more than the records that it names; nil if it can.
    ///
    /// What its saves refer to may be looked up before its turn. A single item goes on anyway.
    private func verdict(onReads transaction: borrowing WriteTransaction) -> Verdict? {
        guard transaction.hasReadTooMuch else { return nil }
        if targets == nil, request.refers(in: address) { return .needsTargets }
        return request.readsTooMuch(in: transaction) ? .readsTooMuch : nil
    }

    // MARK: Preparation

    /// Saves and deletes have one set of keys: a delete's is negative.
    func deleteKey(_ index: Int) -> Int { -1 - index }

    /// Reads the records that the items name; false: they hold more than one request may change.
    private mutating func load(
        _ found: FoundZone,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        guard let number = found.number else { return true }
        let deleted = deletes.map { request.deletes[$0].address.name }
        for name in saves.map({ request.saves[$0].address.name }) + deleted {
            let row = try transaction.load(number, name)
            if request.readsTooMuch(in: transaction) { return false }
            guard let row, !row.isDead else { continue }
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
        return true
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
            let isOver = verdict(onReads: transaction) != nil
            if failures.count == known || isAtomic || isOver { return plan }
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
            if verdict(onReads: transaction) != nil { return }
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
