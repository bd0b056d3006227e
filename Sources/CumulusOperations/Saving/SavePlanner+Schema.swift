// Checks the fields of a save against the columns of its type, and adds new ones to the schema.
//
// Called by `SavePlanner.plan`.

import CumulusModel
import CumulusStorage

extension SavePlanner {
    /// Checks every field against its column; new types and fields are added to the schema with the
    /// commit.
    func planSchema(
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
        var growth = SchemaGrowth(type: content.type, isAllowed: growsSchema)
        if !schema.exists, content.type != UserRecords.type || growsSchema {
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
            } else {
                guard !type.isEmptyList || !growsSchema else {
                    throw .item(untyped(name, content.type))
                }
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
        try checkGrowth(growth, plan, in: &transaction)
        plan.grown = plan.grown + growth.size
        if !converted.entries.isEmpty { put.fields = content.fields.merging(converted) }
        plan.schemas[content.type] = schema
        plan.registers += growth.registers.map(Commit.Operation.register)
        plan.putBytes += growth.registers.reduce(0) { $0 + $1.byteCount }
    }

    /// Throws if the schema would grow too large, or by more than this caller may add.
    private func checkGrowth(
        _ growth: SchemaGrowth,
        _ plan: ZoneBatch.Plan,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) {
        if growth.registers.isEmpty { return }
        let present = try engine { () throws(EngineError) in
            try transaction.schemaSize(of: scope)
        }
        let added = plan.grown + growth.size
        let refusal =
            request.limits.refusal(of: present + added, over: present + plan.grown)
            ?? request.allowance?.refusal(of: added)
        if let refusal { throw .item(refusal) }
    }

    func checkStorable(_ type: FieldType, _ name: String) throws(PlanFailure) {
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

    /// The error for an empty list in a new field, since it doesn't say what its elements are.
    private func untyped(_ name: String, _ type: String) -> ServiceError {
        ServiceError(
            .invalidArguments,
            .wrongType,
            """
            cannot use an empty list to initialize a new field (field '\(StoredName.shown(name))' \
            in record type '\(StoredName.shown(type))' should be more precise)
            """
        )
    }

    func mismatch(_ name: String, _ column: FieldType, _ type: FieldType) -> ServiceError {
        ServiceError(
            .invalidArguments,
            .wrongType,
            """
            Invalid value, expected type \(column.name) but actual value type is \(type.name) \
            for field '\(StoredName.shown(name))'
            """
        )
    }

    /// Whether an integer is written to a column of doubles, which is accepted.
    func isNumber(_ type: FieldType, for column: FieldType) -> Bool {
        type == .one(.int64) && column == .one(.double)
            || type == .list(.int64) && column == .list(.double)
    }

    func inexact(_ name: String) -> ServiceError {
        ServiceError(
            .invalidArguments,
            .invalidValue,
            """
            field '\(StoredName.shown(name))' holds DOUBLE, and no DOUBLE is the integer that was \
            to be saved; save a DOUBLE
            """
        )
    }

    /// Removes the values of dropped fields from a record with its next save.
    func forgetDropped(
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
}
