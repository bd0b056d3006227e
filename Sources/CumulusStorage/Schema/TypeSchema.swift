// The schema of one record type, read from its registers.
//
// The writer keeps it per type and checks saves against it; queries read it from their snapshot.

package import CumulusModel

/// Fields have their stored names, see `StoredName`.
package struct TypeSchema: Hashable, Sendable {
    /// The type's own stored name.
    package let name: String
    package fileprivate(set) var fieldDrops = DropCounts()
    package var exists = false
    package var fields: [String: FieldType] = [:]
    package fileprivate(set) var merge = MergePolicy.fields
    /// The fields whose indexes were chosen, system fields included.
    package fileprivate(set) var indexes: [String: Schema.Indexes] = [:]
    /// What roles may do with its records in the public database.
    package fileprivate(set) var grants: Grants

    fileprivate init(name: String) {
        self.name = name
        let isUsers = name == Schema.users.name
        grants = Grants(isUsers ? Schema.users.grants : Schema.usualGrants)
    }

    /// Whether the type of that shown name, or a field of it, is stored under another name.
    package func renames(_ type: String) -> Bool { !fieldDrops.isEmpty || name != type }

    /// The indexes of a field of the type, or of a system field.
    ///
    /// In development a field has all indexes that its type can have, unless others were chosen.
    /// System fields and fields in production have only chosen ones.
    package func indexes(of field: String, in environment: Environment) -> Schema.Indexes {
        guard let type = fields[field] ?? SystemField(rawValue: field).map({ .one($0.kind) })
        else { return [] }
        // The choice may come from a node where the field had another type.
        if let chosen = indexes[field] {
            return chosen.intersection(DeclaredType.type(type).possibleIndexes(of: field))
        }
        let isUsers = environment == .development && fields[field] != nil
        return isUsers ? type.usualIndexes : []
    }

    /// Whether any field has an index.
    package func isIndexed(in environment: Environment) -> Bool {
        let names = fields.keys + SystemField.allCases.map(\.rawValue)
        return names.contains { !indexes(of: $0, in: environment).isEmpty }
    }
}

extension FieldType {
    /// The indexes that a field gets when it appears in development.
    package var usualIndexes: Schema.Indexes {
        switch self {
        case .one(.string): [.queryable, .sortable, .searchable]
        case .one(.int64), .one(.double), .one(.timestamp), .one(.bytes): [.queryable, .sortable]
        case .list(.string): [.queryable, .searchable]
        case .one(.asset), .list(.asset), .emptyList: []
        case .one, .list: .queryable
        case .encrypted, .encryptedList, .encryptedEmptyList: []
        }
    }
}

extension RowReader where Self: ~Copyable {
    /// The schema of the type that callers know by a name; an empty one if there is no such type
    /// yet.
    package borrowing func typeSchema(
        _ scope: ScopeNumber,
        _ type: String
    ) throws(EngineError) -> TypeSchema {
        guard StoredName.isShown(type) else { return TypeSchema(name: type) }
        var schema = TypeSchema(name: try typeDrops(scope, of: type).stored(type))
        let name = Bytes(schema.name.utf8)
        schema.exists = try register(scope, SchemaRegister.typeNamespace, [name])?.value != nil
        schema.fieldDrops = try fieldDrops(scope, of: schema.name)
        for (field, value) in try fields(of: schema, scope, SchemaRegister.fieldNamespace) {
            guard let type = FieldType(name: String(decoding: value, as: UTF8.self)) else {
                throw .damagedSchema
            }
            schema.fields[field] = type
        }
        for (field, value) in try fields(of: schema, scope, SchemaRegister.indexNamespace) {
            guard value.count == 1 else { throw .damagedSchema }
            schema.indexes[field] = Schema.Indexes(rawValue: value[0])
        }
        for (key, value) in try registers(scope, SchemaRegister.grantNamespace, below: [name]) {
            guard let role = key.first, key.count == 1, value.count == 1 else {
                throw .damagedSchema
            }
            let permissions = Schema.Permissions(rawValue: value[0])
            schema.grants[String(decoding: role, as: UTF8.self)] = permissions
        }
        if let merge = try self.register(scope, SchemaRegister.mergeNamespace, [name])?.value {
            let policy = try decoding(name) { () throws(MalformedBytes) in
                try MergePolicy(register: merge)
            }
            schema.merge = policy.renaming(schema.fieldDrops.stored)
        }
        return schema
    }

    /// The values of a namespace for the fields that weren't dropped.
    private borrowing func fields(
        of schema: TypeSchema,
        _ scope: ScopeNumber,
        _ namespace: String
    ) throws(EngineError) -> [(name: String, value: Bytes)] {
        let type = Bytes(schema.name.utf8)
        var found: [(name: String, value: Bytes)] = []
        for (rest, value) in try registers(scope, namespace, below: [type]) {
            guard let field = rest.first, rest.count == 1 else { throw .damagedSchema }
            let name = String(decoding: field, as: UTF8.self)
            if schema.fieldDrops.shown(name) != nil { found.append((name, value)) }
        }
        return found
    }
}

extension MergePolicy {
    /// The policy with renamed fields.
    fileprivate func renaming(_ name: (String) -> String) -> MergePolicy {
        guard case .groups(let groups) = self else { return self }
        return .groups(groups.map { FieldGroup($0.fields.map(name)) })
    }
}

/// Names of the registers that hold the schema.
///
/// Their keys hold stored names of types and fields, see `StoredName`.
package enum SchemaRegister {
    /// (type).
    package static let typeNamespace = "type"
    /// (type, field) → the field's type.
    package static let fieldNamespace = "field"
    /// (type, field, the field's type) for fields that were given several types, see `MixedFields`.
    package static let mixedNamespace = "mixed"
    /// (type) → the merge policy.
    package static let mergeNamespace = "merge"
    /// (type, field) → the field's indexes, if they were chosen.
    package static let indexNamespace = "index"
    /// (type, role) → the grants of the role, if they were chosen.
    package static let grantNamespace = "grant"
    /// (role).
    package static let roleNamespace = "role"
    /// (type's shown name) → how often it was dropped.
    package static let typeDropNamespace = "typeDrops"
    /// (type, field's shown name) → how often it was dropped.
    package static let fieldDropNamespace = "fieldDrops"

    /// Whether a change in this namespace makes the type be read again.
    static func holds(_ namespace: String) -> Bool {
        isFixed(namespace) || namespace == mergeNamespace || namespace == indexNamespace
            || namespace == grantNamespace || isCount(namespace)
    }

    /// Whether the first value wins.
    static func isFixed(_ namespace: String) -> Bool {
        namespace == typeNamespace || namespace == fieldNamespace || namespace == mixedNamespace
    }

    /// Whether the greatest value wins.
    static func isCount(_ namespace: String) -> Bool {
        namespace == typeDropNamespace || namespace == fieldDropNamespace
    }
}

// MARK: - In the writer

extension WriteTransaction {
    /// The schema of the type that callers know by this name; an empty schema if there is no such
    /// type yet.
    package mutating func schema(
        _ scope: ScopeNumber,
        _ type: String
    ) throws(EngineError) -> TypeSchema {
        let key = WriterState.SchemaKey(scope: scope, type: type)
        if let known = state.schema[key] { return known }
        let schema = try typeSchema(scope, type)
        state.schema[key] = schema
        return schema
    }
}
