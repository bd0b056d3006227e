// Checks one save: the caller's rights, the change tag, the fields against the schema, the
// references. If all is well, a `Put` is added to the plan.
//
// Called by `ZoneBatch` once per save and round of planning. It changes nothing in the store. Each
// step is in a file of its own; `plan` calls them in their order.

import CumulusModel
import CumulusStorage

struct SavePlanner {
    let asker: Asker
    let scope: ScopeNumber
    let found: FoundZone
    let access: RecordAccess
    /// The items as they were when planning began.
    let items: ZoneItems
    /// Living rows of the records that the request names.
    let rows: [String: RecordRow]
    /// Rows of dropped types under the names of this request's records.
    let dropped: [String: RecordRow]
    /// The names of living records in another user's zone that the caller may not know of.
    let unseen: Set<String>
    /// What was looked up before the writer's turn; nil if nothing was.
    let targets: ZoneTargets?

    var request: ModifyRecords { items.request }
    var caller: Caller { asker.caller }

    /// Whether a type or field that the schema doesn't know is added to it.
    var growsSchema: Bool { asker.scope.environment == .development }

    /// Adds the save to the plan, or returns why it fails.
    func plan(
        _ index: Int,
        _ plan: inout ZoneBatch.Plan,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> ModifyOutcome.Failure? {
        guard case .success(let content) = request.saves[index].content else { return nil }
        let name = request.saves[index].address.name
        let row = rows[name]
        let isShare = SavePlanner.isShare(content, name)
        if isShare, let refusal = checkMayShare(content, name) {
            return ModifyOutcome.Failure(refusal)
        }
        if let failure = try checkCaller(content, row, name, plan, in: &transaction) {
            return failure
        }
        if let failure = try checkTag(content, row, name, &transaction) { return failure }
        if let failure = checkType(content, row, name) { return failure }
        var put = Commit.Put(
            recordName: name,
            birth: row?.birth.dot,
            type: row == nil ? content.type : "",
            fields: content.fields
        )
        put.increments = content.increments
        let planned = (
            registers: plan.registers.count, bytes: plan.putBytes,
            schema: plan.schemas[content.type], owned: plan.owned, growth: plan.growth,
            accesses: plan.accesses, grown: plan.grown
        )
        do throws(PlanFailure) {
            try planSchema(content, &put, &plan, in: &transaction)
            try planLives(content, &put, row, plan, in: &transaction)
            try forgetDropped(&put, row, in: &transaction)
            try checkAssets(put, row, &plan, in: &transaction)
            try planReferences(&put, row, &plan, in: &transaction)
            try planParent(content, &put, plan, in: &transaction)
            try planCounters(&put, row, in: &transaction)
            if isShare { try planShare(content, &put, row, &plan, in: &transaction) }
            let targets = put.targets.count
            try planWholes(&put, row, plan.schemas[content.type]?.merge ?? .fields)
            if put.targets.count > targets { plan.bringsBack = true }
            try checkSize(put, row)
            try checkFieldCount(put, row, in: &transaction)
            try checkQuota(put, row, &plan, in: &transaction)
            try checkCommitSize(put, &plan)
        } catch {
            switch error {
            case .item(let error):
                // Later items must not see what the failed save would have added.
                plan.registers.removeSubrange(planned.registers...)
                plan.putBytes = planned.bytes
                plan.schemas[content.type] = planned.schema
                plan.owned = planned.owned
                plan.growth = planned.growth
                plan.accesses = planned.accesses
                plan.grown = planned.grown
                return ModifyOutcome.Failure(error)
            case .engine(let error): throw error
            }
        }
        plan.puts.append(put)
        plan.savedItems.append(index)
        return nil
    }

    enum PlanFailure: Error {
        case item(ServiceError)
        case engine(EngineError)
    }

    // MARK: Fields that change as one

    func planWholes(
        _ put: inout Commit.Put,
        _ row: RecordRow?,
        _ policy: MergePolicy
    ) throws(PlanFailure) {
        if policy == .fields { return }
        if let field = put.increments.map(\.field).first(where: policy.groups) {
            throw .item(
                ServiceError(
                    .invalidArguments,
                    .invalidValue,
                    """
                    field '\(StoredName.shown(field))' is in a group of fields that change as one, \
                    so it can be set but not incremented
                    """
                )
            )
        }
        guard let row else { return }
        try malformed { () throws(MalformedBytes) in try put.complete(by: policy, from: row) }
    }

    // MARK: Errors

    func item<Value>(
        _ body: () throws(ServiceError) -> Value
    ) throws(PlanFailure) -> Value {
        do {
            return try body()
        } catch {
            throw .item(error)
        }
    }

    func engine<Value>(
        _ body: () throws(EngineError) -> Value
    ) throws(PlanFailure) -> Value {
        do { return try body() } catch { throw .engine(error) }
    }

    /// Fields in a plan are canonical, so fields that can't be read are damaged.
    func malformed<Value>(
        _ body: () throws(MalformedBytes) -> Value
    ) throws(PlanFailure) -> Value {
        do {
            return try body()
        } catch {
            throw .engine(.corrupt("a canonical field is damaged: \(error.reason)"))
        }
    }
}
