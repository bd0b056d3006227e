// Judges one save: may the caller, does its tag fit, do its fields fit the schema, do its
// references hold? If all is well, a `Put` is added to the plan.
//
// Called by `ZoneBatch` once per save and round of planning. Changes nothing in the store.

import CumulusModel
import CumulusStorage

struct SavePlanner {
    let request: ModifyRecords
    let scope: ScopeNumber
    let caller: Caller
    let found: FoundZone
    /// Living rows of the records that the request names.
    let rows: [String: RecordRow]
    /// Rows under their names of types that were dropped.
    let dropped: [String: RecordRow]
    /// As planning began.
    let batch: ZoneBatch

    /// Adds the save to the plan, or says why it fails.
    func plan(
        _ index: Int,
        _ plan: inout ZoneBatch.Plan,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> ModifyOutcome.Failure? {
        guard case .success(let content) = request.saves[index].content else { return nil }
        let name = request.saves[index].address.name
        let row = rows[name]
        if let failure = checkCaller(row) { return failure }
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
            schema: plan.schemas[content.type], owned: plan.owned
        )
        do throws(PlanFailure) {
            try planSchema(content, &put, &plan, in: &transaction)
            put.absorbed = try engine { () throws(EngineError) in
                let first = row ?? dropped[name]
                return try transaction.siblings(of: first, named: name, in: found.number)
            }
            if let old = dropped[name] { put.absorbed.append(old.birth.dot) }
            try forgetDropped(&put, row, in: &transaction)
            try checkAssets(put, in: &transaction)
            try planReferences(&put, row, &plan, in: &transaction)
            try planParent(content, &put, plan, in: &transaction)
            try planCounters(&put, row)
            try planWholes(&put, row, plan.schemas[content.type]?.merge ?? .fields)
            try checkSize(put, row)
            try checkFieldCount(put, row, in: &transaction)
            try checkCommitSize(put, &plan)
        } catch {
            switch error {
            case .item(let error):
                // What it would have added is nothing to the items after it.
                plan.registers.removeSubrange(planned.registers...)
                plan.putBytes = planned.bytes
                plan.schemas[content.type] = planned.schema
                plan.owned = planned.owned
                return ModifyOutcome.Failure(error)
            case .engine(let error): throw error
            }
        }
        plan.puts.append(put)
        plan.savedItems.append(index)
        return nil
    }

    private enum PlanFailure: Error {
        case item(ServiceError)
        case engine(EngineError)
    }

    // MARK: Caller, tag, type

    private func checkCaller(_ row: RecordRow?) -> ModifyOutcome.Failure? {
        Authorisation.refusal(
            row == nil ? .create : .write,
            in: found.zone.database,
            creator: row?.createdBy,
            by: caller
        ).map { ModifyOutcome.Failure($0) }
    }

    private func checkTag(
        _ content: SaveItem.Content,
        _ row: RecordRow?,
        _ name: String,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> ModifyOutcome.Failure? {
        guard request.policy == .ifUnchanged else { return nil }
        guard let row else {
            guard content.changeTag != nil else { return nil }
            return ModifyOutcome.Failure(
                ServiceError(
                    .unknownItem,
                    "Record not found: it was deleted since it was fetched; save a new one instead"
                )
            )
        }
        if content.changeTag == row.tag { return nil }
        let error =
            content.changeTag == nil
            ? ServiceError(
                .serverRecordChanged,
                .recordExists,
                "record to insert already exists; merge into the server's record and save that"
            )
            : ServiceError(
                .serverRecordChanged,
                .changeTagMismatch,
                "client oplock error updating record; merge into the server's record and save that"
            )
        let record = try transaction.view(of: row, named: name, in: found, of: scope)
        return ModifyOutcome.Failure(error, serverRecord: record)
    }

    private func checkType(
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

    // MARK: Schema

    /// Holds every field to its column; new types and fields are added to the schema with the
    /// commit.
    private func planSchema(
        _ content: SaveItem.Content,
        _ put: inout Commit.Put,
        _ plan: inout ZoneBatch.Plan,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) {
        var schema: TypeSchema
        if let known = plan.schemas[content.type] {
            schema = known
        } else {
            schema = try engine { () throws(EngineError) in
                try transaction.schema(scope, StoredName.shown(content.type))
            }
        }
        var growth = SchemaGrowth(type: content.type, isAllowed: request.growsSchema)
        if !schema.exists, content.type != UserRecords.type || request.growsSchema {
            try item { () throws(ServiceError) in try growth.addType() }
            schema.exists = true
        }
        var converted = RecordBody()
        for entry in content.fields.entries {
            guard let type = entry.type else { continue }
            let name = content.fields.name(of: entry)
            try checkStorable(type, name)
            if let column = schema.fields[name] {
                if type.fits(column) { continue }
                guard isNumber(type, for: column) else {
                    throw .item(mismatch(name, column, type))
                }
                guard let field = content.fields.convertedToDouble(entry) else {
                    throw .item(inexact(name))
                }
                converted.append(field: field)
            } else if !type.isEmptyList || !request.growsSchema {
                try item { () throws(ServiceError) in try growth.addField(name, type) }
                schema.fields[name] = type
            }
        }
        for increment in content.increments {
            if let column = schema.fields[increment.field] {
                guard column == .one(.int64) else {
                    throw .item(mismatch(increment.field, column, .one(.int64)))
                }
            } else {
                try item { () throws(ServiceError) in
                    try growth.addField(increment.field, .one(.int64))
                }
                schema.fields[increment.field] = .one(.int64)
            }
        }
        guard schema.fields.count <= request.limits.fieldsPerType else {
            throw .item(
                ServiceError(
                    .limitExceeded,
                    .tooManyItems,
                    "a type has at most \(request.limits.fieldsPerType) fields"
                )
            )
        }
        if !converted.entries.isEmpty { put.fields = content.fields.merging(converted) }
        plan.schemas[content.type] = schema
        plan.registers += growth.registers.map(Commit.Operation.register)
        plan.putBytes += growth.registers.reduce(0) { $0 + $1.byteCount }
    }

    private func checkStorable(_ type: FieldType, _ name: String) throws(PlanFailure) {
        guard !type.isEncrypted || found.zone.database.kind != .public else {
            throw .item(
                ServiceError(
                    .invalidArguments,
                    .invalidValue,
                    """
                    field '\(StoredName.shown(name))' is encrypted, which only records of private \
                    and shared databases may be
                    """
                )
            )
        }
    }

    /// Assets of a record are whole, and of its database; one that a record of the zone names
    /// already may still be on its way to this node.
    private func checkAssets(
        _ put: Commit.Put,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) {
        for entry in put.fields.entries where entry.type?.holdsAssets == true {
            let assets = try malformed { () throws(MalformedBytes) in
                try put.fields.assets(entry)
            }
            for asset in assets {
                let why = try engine { () throws(EngineError) in
                    try problem(with: asset, in: &transaction)
                }
                guard let why else { continue }
                let field = StoredName.shown(put.fields.name(of: entry))
                throw .item(
                    ServiceError(
                        .assetNotAvailable,
                        .assetIncomplete,
                        "field '\(field)' holds an asset \(why)"
                    )
                )
            }
        }
    }

    private func problem(
        with asset: Asset,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> String? {
        guard asset.size <= UInt64(Int64.max) else { return "that no disk could hold" }
        let database = try transaction.database(scope, found.zone.database)
        guard let database,
            let known = try transaction.update(asset: asset.digest, in: database)
        else {
            // Where its content is on its way, so is the word of its size.
            if let zone = found.number, try transaction.isNamed(asset.digest, in: zone) {
                return nil
            }
            return "whose content was not uploaded to this database; upload it and save again"
        }
        guard known.size == asset.size else {
            return "that is said to have \(asset.size) bytes and has \(known.size)"
        }
        if known.isComplete { return nil }
        if let zone = found.number, try transaction.isNamed(asset.digest, in: zone) { return nil }
        return "of which \(known.missing) chunks are missing; upload them and save again"
    }

    private func item<Value>(
        _ body: () throws(ServiceError) -> Value
    ) throws(PlanFailure) -> Value {
        do {
            return try body()
        } catch {
            throw .item(error)
        }
    }

    private func mismatch(_ name: String, _ column: FieldType, _ type: FieldType) -> ServiceError {
        ServiceError(
            .invalidArguments,
            .wrongType,
            """
            Invalid value, expected type \(column.name) but actual value type is \(type.name) \
            for field '\(StoredName.shown(name))'
            """
        )
    }

    private func holdsAnother(_ name: String, _ type: FieldType) -> ServiceError {
        ServiceError(
            .invalidArguments,
            .wrongType,
            """
            field '\(StoredName.shown(name))' of this record holds a value of type \
            \(type.name); save an INT64 in it before it is incremented
            """
        )
    }

    /// An integer is accepted where the column holds doubles.
    private func isNumber(_ type: FieldType, for column: FieldType) -> Bool {
        type == .one(.int64) && column == .one(.double)
            || type == .list(.int64) && column == .list(.double)
    }

    private func inexact(_ name: String) -> ServiceError {
        ServiceError(
            .invalidArguments,
            .invalidValue,
            """
            field '\(StoredName.shown(name))' holds DOUBLE, and no DOUBLE is the integer that was \
            to be saved; save a DOUBLE
            """
        )
    }

    /// With its next save, a record forgets what it holds in fields that were dropped.
    private func forgetDropped(
        _ put: inout Commit.Put,
        _ row: RecordRow?,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) {
        guard let row else { return }
        let lens = try engine { () throws(EngineError) in try transaction.lens(of: scope) }
        guard lens.changes(row.type) else { return }
        var removals = RecordBody()
        for entry in row.body.entries {
            let name = row.body.name(of: entry)
            if lens.hides(name, of: row.type) { removals.append(removalOf: name) }
        }
        put.fields = put.fields.completed(by: removals)
    }

    // MARK: Counters

    /// What sets a counter carries the base that gives the wanted value, and what removes one the
    /// base that gives 0; both say what base that is.
    private func planCounters(
        _ put: inout Commit.Put,
        _ row: RecordRow?
    ) throws(PlanFailure) {
        for increment in put.increments {
            if put.fields.entry(named: increment.field) != nil {
                throw .item(
                    ServiceError(
                        .invalidArguments,
                        .invalidValue,
                        """
                        a save can't set and increment field \
                        '\(StoredName.shown(increment.field))'; do one of both
                        """
                    )
                )
            }
            try checkOverflow(increment, row)
        }
        for counter in row?.counters ?? [] {
            guard let entry = put.fields.entry(named: counter.field) else { continue }
            let zero = Commit.Increment(field: counter.field, delta: 0 &- counter.total)
            guard entry.type != nil else {
                put.resetCounters.append(zero)
                continue
            }
            let value = try malformed { () throws(MalformedBytes) in try put.fields.int64(entry) }
            // Another type can stand here where two nodes disagreed on the field's.
            guard let value else { continue }
            put.resetCounters.append(zero)
            let base = value &- counter.total
            put.fields = put.fields.replacing(counter.field, withInt64: base)
        }
    }

    /// An increment goes on from what the field shows.
    private func checkOverflow(
        _ increment: Commit.Increment,
        _ row: RecordRow?
    ) throws(PlanFailure) {
        var shown: Int64?
        if let row, let entry = row.body.entry(named: increment.field) {
            shown = try malformed { () throws(MalformedBytes) in try row.body.int64(entry) }
            // An empty list may stand where the schema had no column yet, and another type where
            // nodes gave the field two.
            if shown == nil {
                throw .item(holdsAnother(increment.field, entry.type ?? .emptyList))
            }
        }
        let hidden = row?.counters.first { $0.field == increment.field }
        let before = shown ?? hidden?.value ?? 0
        guard before.addingReportingOverflow(increment.delta).overflow else { return }
        throw .item(
            ServiceError(
                .invalidArguments,
                .invalidValue,
                """
                the value of field '\(StoredName.shown(increment.field))' would not fit into 64 bits
                """
            )
        )
    }

    // MARK: What changes as one

    private func planWholes(
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

    // MARK: References

    private func planReferences(
        _ put: inout Commit.Put,
        _ row: RecordRow?,
        _ plan: inout ZoneBatch.Plan,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) {
        let entries = put.fields.entries.filter { $0.type?.holdsReferences == true }
        if entries.isEmpty { return }
        var counted = try owners(in: row)
        for entry in entries {
            let field = put.fields.name(of: entry)
            let references = try malformed { () throws(MalformedBytes) in
                try put.fields.references(entry)
            }
            for (element, reference) in references.enumerated() {
                let name = reference.recordName
                if reference.action == .deleteSelf, Names.isUserRecordName(put.recordName) {
                    throw .item(UserRecords.deletion)
                }
                if let birth = try birth(of: name, plan, in: &transaction) {
                    put.targets.append(.init(field: field, element: element, birth: birth))
                }
                if reference.action == .deleteSelf,
                    counted.insert(Owner(name: name, field: field)).inserted
                {
                    try addOwner(name, &plan, in: &transaction)
                }
            }
        }
    }

    /// A record that takes another one along, and the field that says so.
    private struct Owner: Hashable {
        var name: String
        var field: String
    }

    private func owners(in row: RecordRow?) throws(PlanFailure) -> Set<Owner> {
        let held = try malformed { () throws(MalformedBytes) in try row?.backReferences() ?? [] }
        return Set(
            held.filter { $0.kind == .deleteSelf }.map { Owner(name: $0.target, field: $0.field) }
        )
    }

    /// The birth of a living record, or of one that this batch creates; nil where there is none, or
    /// not for long.
    private func birth(
        of name: String,
        _ plan: ZoneBatch.Plan,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) -> Dot? {
        if plan.dying[name] != nil { return nil }
        if let row = rows[name] { return row.birth.dot }
        return try engine { () throws(EngineError) in
            if plan.saving.contains(name) { return try transaction.nextDot(scope) }
            guard let zone = found.number, let row = try transaction.record(zone, name),
                !row.isDead, try !transaction.lens(of: scope).hides(row.type)
            else { return nil }
            return row.birth.dot
        }
    }

    /// Counts one more deleteSelf reference to a record.
    private func addOwner(
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
                guard let zone = found.number else { return 0 }
                let range = KeyRange.backReferences(of: zone, to: target, .deleteSelf)
                return try transaction.rows(.index, range, limit: limit).count
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

    /// How many owning references to a record callers can see, and this batch leaves as they are.
    private func stayingOwners(
        of target: String,
        in zone: ZoneNumber,
        _ plan: ZoneBatch.Plan,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Int {
        let lens = try transaction.lens(of: scope)
        let all = try transaction.referrers(to: target, born: nil, .deleteSelf, in: zone)
        var count = 0
        for referrer in all where plan.dying[referrer.name] == nil {
            guard try batch.goes(referrer, with: target) else { continue }
            if lens.hasDrops {
                guard let row = try transaction.record(zone, referrer.name) else { continue }
                if lens.hides(row.type) || lens.hides(referrer.field, of: row.type) { continue }
            }
            count += 1
        }
        return count
    }

    private func planParent(
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

    // MARK: Size

    private func checkSize(_ put: Commit.Put, _ row: RecordRow?) throws(PlanFailure) {
        let limit = request.limits.recordBytes
        let kept = row?.body.bytes.count ?? 0
        guard put.fields.bytes.count + kept > limit else { return }
        let size = row?.body.merging(put.fields).bytes.count ?? put.fields.bytes.count
        guard size > limit else { return }
        throw .item(
            ServiceError(
                .limitExceeded,
                .tooLarge,
                "record too large: its fields take \(size) bytes, the limit is \(limit)"
            )
        )
    }

    /// A commit travels in one frame, and with whole records it can be larger than its request.
    private func checkCommitSize(
        _ put: Commit.Put,
        _ plan: inout ZoneBatch.Plan
    ) throws(PlanFailure) {
        let limit = request.limits.commitBytes
        let size = plan.putBytes + put.byteCount
        guard size > limit else {
            plan.putBytes = size
            return
        }
        throw .item(
            ServiceError(
                .limitExceeded,
                .tooLarge,
                """
                this batch takes more than \(limit) bytes, with all that changes with it by its \
                types' merge policies; save fewer records at once
                """
            )
        )
    }

    /// Bounds what the schema doesn't: empty lists need no column, and a removed field leaves its
    /// name behind.
    private func checkFieldCount(
        _ put: Commit.Put,
        _ row: RecordRow?,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) {
        let limit = request.limits.fieldsPerType
        let stored = row.map { $0.body.entries.count + $0.absent.count } ?? 0
        guard put.fields.entries.count + stored > limit else { return }
        var names = Set(put.fields.entries.map { put.fields.name(of: $0) })
        if let row {
            names.formUnion(row.body.entries.map { row.body.name(of: $0) })
            names.formUnion(row.absent.map(\.name))
            let lens = try engine { () throws(EngineError) in try transaction.lens(of: scope) }
            names = names.filter { !lens.hides($0, of: row.type) }
        }
        guard names.count > limit else { return }
        throw .item(
            ServiceError(
                .limitExceeded,
                .tooManyItems,
                "the record would have more than \(limit) fields, counting those that were removed"
            )
        )
    }

    // MARK: Errors

    private func engine<Value>(
        _ body: () throws(EngineError) -> Value
    ) throws(PlanFailure) -> Value {
        do { return try body() } catch { throw .engine(error) }
    }

    /// Fields in a plan are canonical: what can't be read is damage.
    private func malformed<Value>(
        _ body: () throws(MalformedBytes) -> Value
    ) throws(PlanFailure) -> Value {
        do {
            return try body()
        } catch {
            throw .engine(.corrupt("a canonical field is damaged: \(error.reason)"))
        }
    }
}
