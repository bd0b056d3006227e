// The part of a modify request that concerns one zone: it is planned first, and then becomes one
// commit. This also decides what is deleted with a record, and what forbids its deletion.
//
// The plan checks every item against the stored rows and the other items. It is made again without
// the items that failed, since others may have relied on them, until no further item fails. Chains
// of parents, which may be as long as the request, fail in one round. Only then does anything
// change. What the request reads is added up over its zones; if that is more than one request may
// change, all of it is refused. hot: once per save.
//
// Folder: what a save and a delete mean. Read `ZoneBatch`, which makes one commit of a request's
// items, then `SavePlanner`, which judges one save step by step, and `SavePlanner+Schema`,
// `SavePlanner+References` and the other steps in the order in which it names them.

import CumulusModel
import CumulusStorage

struct ZoneBatch {
    let asker: Asker
    let scope: ScopeNumber
    let found: FoundZone
    let access: RecordAccess
    var items: ZoneItems
    /// Living rows of the records that the items name.
    private(set) var rows: [String: RecordRow] = [:]
    /// Rows of such records whose types were dropped: for callers they don't exist.
    private var dropped: [String: RecordRow] = [:]
    /// The names of living records in another user's zone that the caller may not know of.
    private var unseen: Set<String> = []
    /// What was looked up before the writer's turn; nil if nothing was.
    private var targets: ZoneTargets?

    init(_ items: ZoneItems, in found: FoundZone, of scope: ScopeNumber, for asker: Asker) {
        self.items = items
        self.found = found
        self.scope = scope
        self.asker = asker
        access = RecordAccess(to: found, of: scope, by: asker.caller)
    }

    var request: ModifyRecords { items.request }
    var caller: Caller { asker.caller }

    /// How far the batch came.
    enum Verdict {
        /// Each item has its outcome.
        case done
        /// Nothing was changed: the whole request waits for a survey, or is refused.
        case needsSurvey
        case needsTargets
        case readsTooMuch
    }

    /// Carries the items out, unless the whole request has to wait or is refused.
    mutating func run(
        in transaction: inout WriteTransaction,
        _ outcome: inout ModifyOutcome
    ) throws(EngineError) -> Verdict {
        guard try load(in: &transaction) else { return .readsTooMuch }
        targets = try request.targets?.targets(in: items.zone, &transaction)
        items.noteFaults()
        let isAtomic = request.isAtomic && found.capabilities.contains(.atomic)
        let plan = try settle(isAtomic: isAtomic, in: &transaction)
        if needsSurvey(plan) { return .needsSurvey }
        if let verdict = verdict(onReads: transaction) { return verdict }
        if isAtomic && !items.failures.isEmpty {
            items.failRest(ModifyOutcome.atomicFailure)
            report([], [], to: &outcome)
            return .done
        }
        let results = try perform(plan, &transaction, &outcome)
        request.allowance?.spend(plan.grown)
        report(plan.savedItems, results, to: &outcome)
        try hideValues(of: plan.savedItems, &transaction, &outcome)
        return .done
    }

    /// Why the request can't go on, because it has read more than one request may; nil if it can.
    ///
    /// The records that its saves refer to may be looked up before its turn. A single item goes on
    /// anyway.
    private func verdict(onReads transaction: borrowing WriteTransaction) -> Verdict? {
        guard transaction.hasReadTooMuch else { return nil }
        if targets == nil, request.refers(in: items.zone) { return .needsTargets }
        return request.readsTooMuch(in: transaction) ? .readsTooMuch : nil
    }

    /// Reads the records that the items name; returns false if they hold more than one request may
    /// change.
    private mutating func load(in transaction: inout WriteTransaction) throws(EngineError) -> Bool {
        guard let number = found.number else { return true }
        let deleted = items.deletes.map { request.deletes[$0].address.name }
        for name in items.saves.map({ request.saves[$0].address.name }) + deleted {
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

    // MARK: Plan

    /// The most rounds of planning.
    ///
    /// Three are many; a request that is made to need more fails.
    private static let mostRounds = 16

    /// Plans until no further item fails; in an atomic zone one failure is enough.
    private mutating func settle(
        isAtomic: Bool,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Plan {
        for _ in 0..<ZoneBatch.mostRounds {
            let known = items.failures.count
            var plan = try planDeletes(in: &transaction)
            if needsSurvey(plan) { return plan }
            if items.failures.count > known, !isAtomic { continue }
            try planSaves(&plan, in: &transaction)
            let isOver = verdict(onReads: transaction) != nil
            if items.failures.count == known || isAtomic || isOver { return plan }
            failOrphans()
        }
        items.failRest(
            ModifyOutcome.Failure(
                ServiceError(
                    .limitExceeded,
                    "these items rely on each other in too many ways; send them in several requests"
                )
            )
        )
        return Plan()
    }

    private mutating func planSaves(
        _ plan: inout Plan,
        in transaction: inout WriteTransaction
    ) throws(EngineError) {
        let planner = SavePlanner(
            asker: asker,
            scope: scope,
            found: found,
            access: access,
            items: items,
            rows: rows,
            dropped: dropped,
            unseen: unseen,
            targets: targets
        )
        for index in items.saves where !items.hasFailed(.save(index)) {
            if let failure = try planner.plan(index, &plan, in: &transaction) {
                items.fail(.save(index), failure)
            }
            if verdict(onReads: transaction) != nil { return }
        }
    }

    /// Fails saves whose new parent is not saved after all.
    private mutating func failOrphans() {
        var children: [String: [Int]] = [:]
        var missing: [String] = []
        for index in items.saves {
            let name = request.saves[index].address.name
            if items.hasFailed(.save(index)) {
                missing.append(name)
            } else if let parent = items.content(named: name)?.parent {
                children[parent, default: []].append(index)
            }
        }
        if children.isEmpty { return }
        while let parent = missing.popLast() {
            // A parent that is stored already exists.
            guard rows[parent] == nil else { continue }
            for child in children.removeValue(forKey: parent) ?? [] {
                items.fail(.save(child), ModifyOutcome.Failure(SavePlanner.noParent(parent)))
                missing.append(request.saves[child].address.name)
            }
        }
    }

    // MARK: Commit

    /// Makes one commit with all items of the request.
    ///
    /// The rest of a long cascade becomes a debt in the same transaction, which later turns of the
    /// writer pay.
    private func perform(
        _ plan: Plan,
        _ transaction: inout WriteTransaction,
        _ outcome: inout ModifyOutcome
    ) throws(EngineError) -> [RecordRow] {
        let author = Author(
            requestID: asker.requestID,
            user: caller.user,
            device: caller.device,
            isGuarded: request.policy == .ifUnchanged && !plan.puts.isEmpty
        )
        let deletions =
            plan.deletions.filter { items.deletes($0.name) }
            + plan.deletions.filter { !items.deletes($0.name) }
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
        outcome.share = outcome.share ?? share(changedBy: plan)
        for (name, births) in open {
            let debt = CascadeDebt(
                zone: found.zone,
                births: births,
                ended: commit.stamp,
                user: author.user,
                device: author.device
            )
            guard let zone = found.number else { continue }
            let debts = CascadeDebts(of: scope)
            try debts.owe(debt, around: name, of: zone, for: commit.stamp.dot, &transaction)
            outcome.owes = true
        }
        return rows
    }

    private func report(_ saved: [Int], _ rows: [RecordRow], to outcome: inout ModifyOutcome) {
        for (index, row) in zip(saved, rows) {
            outcome.saves[index] = .success(ModifyOutcome.Saved(row, of: request.saves[index]))
        }
        for (item, failure) in items.failures {
            switch item {
            case .save(let index): outcome.saves[index] = .failure(failure)
            case .delete(let index): outcome.deletes[index] = .failure(failure)
            }
        }
    }
}
