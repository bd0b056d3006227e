// Makes the schema of a scope equal to a file, or to the schema of the other environment.
//
// The plan says what would change, or why nothing may; the writer makes the same plan again and
// writes all of it with one commit. Production never loses types or fields, and development none
// that production has. Others that a file lacks are dropped only if the operator says so.
//
// Folder: how schemas grow and change. Read `SchemaImport`, then `SchemaRegisters` and
// `SchemaGrowth`.

package import CumulusModel
package import CumulusStorage

package struct SchemaImport: Hashable, ContainerChange {
    /// Where the wanted schema comes from.
    package enum Source: Hashable, Sendable {
        /// The complete schema, which development takes over.
        ///
        /// - Parameter drops: Whether types and fields that the file lacks are dropped, with the
        ///   values that records hold of them.
        case file(Schema, drops: Bool)
        /// The types, fields, indexes and grants of development are added to production.
        case development
        /// Development gets the schema of production.
        case production
    }

    package var source: Source
    /// The limits of the schema; with `.production` as the source they don't count.
    package var limits: Limits

    package init(_ source: Source, limits: Limits = .standard) {
        self.source = source
        self.limits = limits
    }

    /// What would change in a scope, or why nothing may change.
    package func plan<Reader: RowReader & ~Copyable>(
        for scope: ScopeID,
        _ reader: borrowing Reader
    ) throws(EngineError) -> Result<SchemaDifference, ServiceError> {
        try wanted(in: scope, reader).map(\.difference)
    }

    private struct Plan {
        var wanted: Schema
        var difference: SchemaDifference
    }

    private func wanted<Reader: RowReader & ~Copyable>(
        in scope: ScopeID,
        _ reader: borrowing Reader
    ) throws(EngineError) -> Result<Plan, ServiceError> {
        guard let development = try schema(of: scope.container, .development, reader),
            let production = try schema(of: scope.container, .production, reader)
        else { return .failure(Containers.unknown(scope.container)) }
        switch (source, scope.environment) {
        case (.file, .production), (.production, .production), (.development, .development):
            return .failure(misplaced)
        case (.file(let schema, let drops), .development):
            let wanted = schema.completed(from: development)
            let difference = SchemaDifference(from: development, to: wanted)
            let kept = difference.removals.filter { $0.removes(from: production) }
            if let refusal = refusal(of: kept, "production has it, which keeps what it has") {
                return .failure(refusal)
            }
            let lost = drops ? [] : difference.removals
            let rule = "--drop drops it, and what records hold of it"
            if let refusal = refusal(of: lost, rule) ?? growthRefusal(development, wanted) {
                return .failure(refusal)
            }
            return .success(Plan(wanted: wanted, difference: difference))
        case (.development, .production):
            let wanted = production.adding(development)
            let difference = SchemaDifference(from: production, to: wanted)
            let rule = "production keeps what it has"
            let refusal =
                refusal(of: difference.removals, rule) ?? growthRefusal(production, wanted)
            if let refusal { return .failure(refusal) }
            return .success(Plan(wanted: wanted, difference: difference))
        case (.production, .development):
            let difference = SchemaDifference(from: development, to: production)
            return .success(Plan(wanted: production, difference: difference))
        }
    }

    private func schema<Reader: RowReader & ~Copyable>(
        of container: String,
        _ environment: Environment,
        _ reader: borrowing Reader
    ) throws(EngineError) -> Schema? {
        let scope = ScopeID(container: container, environment: environment)
        guard let number = try reader.scope(scope) else { return nil }
        return try reader.storedSchema(of: number, in: environment)
    }

    package static var isOperators: Bool { true }

    package func keeps(_ difference: SchemaDifference) -> Bool { !difference.isEmpty }

    /// Changes the schema; the outcome is what changed.
    package func run(
        for asker: Asker,
        in number: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<SchemaDifference, ServiceError> {
        let plan: Plan
        switch try wanted(in: asker.scope, transaction) {
        case .failure(let error): return .failure(error)
        case .success(let planned): plan = planned
        }
        if plan.difference.isEmpty { return .success(plan.difference) }
        let registers = try SchemaRegisters(
            plan.difference,
            to: plan.wanted,
            of: number,
            transaction
        ).registers
        let size = registers.reduce(0) { $0 + $1.byteCount }
        guard size <= Limits.standard.commitBytes else {
            return .failure(
                ServiceError(
                    .limitExceeded,
                    .tooLarge,
                    "so many changes don't fit into one commit; import the schema in steps"
                )
            )
        }
        try ScopeRegisters(of: number).set(registers, &transaction)
        return .success(plan.difference)
    }

    /// The error for an import that removes types or fields of which records may hold values; nil
    /// if it removes none.
    private func refusal(
        of removals: [SchemaDifference.Change],
        _ rule: String
    ) -> ServiceError? {
        if removals.isEmpty { return nil }
        let lost = removals.prefix(5).map(\.description).joined(separator: "; ")
        let more = removals.count > 5 ? "; and \(removals.count - 5) more" : ""
        return ServiceError(
            .invalidArguments,
            .invalidValue,
            """
            nothing was changed, because records would lose what they hold (\(rule)): \
            \(lost)\(more)
            """
        )
    }

    /// Why the schema may not grow to this size; nil if it may.
    private func growthRefusal(_ present: Schema, _ wanted: Schema) -> ServiceError? {
        limits.refusal(of: SchemaSize(of: wanted), over: SchemaSize(of: present))
    }

    private var misplaced: ServiceError {
        ServiceError(
            .invalidArguments,
            """
            a schema is imported into development or reset there, and deployed to production; \
            this call names the other environment, leave --environment out
            """
        )
    }
}

extension Schema {
    /// Adds what no file has to name, and gives types as they are stored.
    fileprivate func completed(from present: Schema) -> Schema {
        var schema = self
        if schema.recordType(Schema.users.name) == nil {
            schema.recordTypes.append(present.recordType(Schema.users.name) ?? Schema.users)
        }
        // No file names the type of shares: dropping it would end the shares of all users.
        if schema.recordType(Schema.shareType) == nil,
            let shares = present.recordType(Schema.shareType)
        {
            schema.recordTypes.append(shares)
        }
        schema.recordTypes = schema.recordTypes.map { type in
            var type = type
            if type.name == Schema.users.name, type.field("roles") == nil {
                type.fields += Schema.users.fields
            }
            type.fields = type.fields.map { field in
                Field(name: field.name, type: .type(field.type.storedType), indexes: field.indexes)
            }
            return type
        }
        return schema
    }

    /// Adds everything that another schema has; for a type that both have, the other's indexes and
    /// grants count.
    fileprivate func adding(_ other: Schema) -> Schema {
        let kept = recordTypes.map { type in
            guard let theirs = other.recordType(type.name) else { return type }
            let rest = type.fields.filter { field in
                theirs.field(field.name) == nil && SystemField(rawValue: field.name) == nil
            }
            return RecordType(
                name: type.name,
                fields: theirs.fields + rest,
                grants: theirs.grants
            )
        }
        let added = other.recordTypes.filter { recordType($0.name) == nil }
        return Schema(
            roles: Array(Set(roles).union(other.roles)),
            recordTypes: kept + added
        )
    }
}

extension SchemaDifference.Change {
    /// Whether the change would take something away from a schema.
    fileprivate func removes(from schema: Schema) -> Bool {
        switch self {
        case .typeRemoved(let type): schema.recordType(type) != nil
        case .fieldRemoved(let type, let field): schema.recordType(type)?.field(field.name) != nil
        case .fieldTypeChanged(let type, let field, _, let new):
            schema.recordType(type)?.field(field).map { $0.typeName != new } ?? false
        case .roleAdded, .roleRemoved, .typeAdded, .fieldAdded, .indexesChanged, .grantsChanged:
            false
        }
    }
}
