// Makes the schema of a scope what an operator wants it to be: from a file, or from development.
//
// The plan says what would change, or why nothing may; the writer makes the same plan again and
// writes all of it with one commit. What a schema holds already is never taken away by it: records
// would lose what they hold.

package import CumulusModel
package import CumulusStorage

package struct SchemaImport: Hashable, Sendable {
    /// Where the wanted schema comes from.
    package enum Source: Hashable, Sendable {
        /// It is the complete one: development takes it over.
        case file(Schema)
        /// What development has and production lacks is added to production.
        case development
    }

    package var source: Source

    package init(_ source: Source) {
        self.source = source
    }

    /// What would change in a scope, or why nothing may.
    package func plan<Reader: RowReader & ~Copyable>(
        for scope: ScopeID,
        _ reader: borrowing Reader
    ) throws(EngineError) -> Result<SchemaDifference, ServiceError> {
        guard let number = try reader.scope(scope) else {
            return .failure(Containers.unknown(scope.container))
        }
        let present = try reader.storedSchema(of: number, in: scope.environment)
        switch (source, scope.environment) {
        case (.file, .production), (.development, .development):
            return .failure(misplaced)
        case (.file(let schema), .development):
            let wanted = schema.complete
            let difference = SchemaDifference(from: present, to: wanted)
            return check(difference, "a file that is imported must hold everything that is there")
        case (.development, .production):
            var other = scope
            other.environment = .development
            guard let development = try reader.scope(other) else {
                return .failure(Containers.unknown(scope.container))
            }
            let wanted = try reader.storedSchema(of: development, in: .development)
            let difference = SchemaDifference(from: present, to: present.adding(wanted))
            return check(difference, "production keeps what it has")
        }
    }

    /// Changes the schema; the answer is what changed.
    package func run(
        for scope: ScopeID,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<SchemaDifference, ServiceError> {
        guard let number = try transaction.scope(scope) else {
            return .failure(Containers.unknown(scope.container))
        }
        let planned = try plan(for: scope, transaction)
        guard case .success(let difference) = planned, !difference.isEmpty else { return planned }
        let registers = difference.changes.flatMap(\.registers) + difference.withheldGrants
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
        let operations = registers.map(Commit.Operation.register)
        _ = try transaction.perform(operations, in: number, zone: nil, author: Author())
        return planned
    }

    private func check(
        _ difference: SchemaDifference,
        _ rule: String
    ) -> Result<SchemaDifference, ServiceError> {
        let removals = difference.removals
        if removals.isEmpty { return .success(difference) }
        let lost = removals.prefix(5).map(\.description).joined(separator: "; ")
        let more = removals.count > 5 ? "; and \(removals.count - 5) more" : ""
        return .failure(
            ServiceError(
                .invalidArguments,
                .invalidValue,
                """
                nothing was changed, because records would lose what they hold; \(rule): \
                \(lost)\(more)
                """
            )
        )
    }

    private var misplaced: ServiceError {
        ServiceError(
            .invalidArguments,
            """
            a schema is imported into development, and deployed to production; this call names \
            the other environment, leave --environment out
            """
        )
    }
}

extension Schema {
    /// With what no file has to name, and types as they are stored.
    fileprivate var complete: Schema {
        var schema = self
        if schema.recordType(Schema.users.name) == nil { schema.recordTypes.append(Schema.users) }
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

    /// With all that another one has; where both have something, the other's indexes and grants.
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
    /// What is written to make the change.
    fileprivate var registers: [Commit.Register] {
        switch self {
        case .roleAdded(let role): return [register(SchemaRegister.roleNamespace, [role], [])]
        case .roleRemoved(let role): return [register(SchemaRegister.roleNamespace, [role], nil)]
        case .typeAdded(let type): return [register(SchemaRegister.typeNamespace, [type], [])]
        case .fieldAdded(let type, let field):
            let name = Bytes(field.type.storedType.name.utf8)
            return [
                register(SchemaRegister.fieldNamespace, [type, field.name], name),
                register(
                    SchemaRegister.indexNamespace,
                    [type, field.name],
                    [field.indexes.rawValue]
                ),
            ]
        case .indexesChanged(let type, let field, _, let indexes):
            return [register(SchemaRegister.indexNamespace, [type, field], [indexes.rawValue])]
        case .grantsChanged(let type, let role, _, let permissions):
            return [register(SchemaRegister.grantNamespace, [type, role], [permissions.rawValue])]
        case .typeRemoved, .fieldRemoved, .fieldTypeChanged:
            // The plan doesn't pass them.
            return []
        }
    }
}

extension SchemaDifference {
    /// A new type begins with the usual grants: those that it is not to have are taken away.
    fileprivate var withheldGrants: [Commit.Register] {
        var given: Set<[String]> = []
        for case .grantsChanged(let type, let role, _, _) in changes { given.insert([type, role]) }
        var withheld: [Commit.Register] = []
        for case .typeAdded(let type) in changes {
            for grant in Schema.usualGrants where !given.contains([type, grant.role]) {
                withheld.append(register(SchemaRegister.grantNamespace, [type, grant.role], [0]))
            }
        }
        return withheld
    }
}

private func register(_ namespace: String, _ key: [String], _ value: Bytes?) -> Commit.Register {
    Commit.Register(namespace: namespace, key: key.map { Bytes($0.utf8) }, value: value)
}
