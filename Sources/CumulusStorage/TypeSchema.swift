// What the schema says about one record type, read from its registers.
//
// The writer keeps it per type and holds saves to it; queries read it from their snapshot.

package import CumulusModel

package struct TypeSchema: Hashable, Sendable {
    package var exists: Bool
    package var fields: [String: FieldType]
    package var merge = MergePolicy.fields
    /// Of the fields whose indexes somebody has set, system fields among them.
    package var indexes: [String: Schema.Indexes] = [:]

    package init(exists: Bool, fields: [String: FieldType]) {
        self.exists = exists
        self.fields = fields
    }

    /// The indexes of a field of the type, or of a system field.
    ///
    /// In development a field comes with all indexes that its type can have, as long as nobody
    /// chose others; system fields and fields in production come without.
    package func indexes(of field: String, in environment: Environment) -> Schema.Indexes {
        guard let type = fields[field] ?? SystemField(rawValue: field).map({ .one($0.kind) })
        else { return [] }
        // Chosen perhaps where the field had another type, which didn't stand.
        if let chosen = indexes[field] {
            return chosen.intersection(DeclaredType.type(type).possibleIndexes)
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
    /// What the schema says about a type; nothing about one that doesn't exist yet.
    package borrowing func typeSchema(
        _ scope: ScopeNumber,
        _ type: String
    ) throws(EngineError) -> TypeSchema {
        let name = Bytes(type.utf8)
        let register = try register(scope, SchemaRegister.typeNamespace, [name])
        var schema = TypeSchema(exists: register?.value != nil, fields: [:])
        for (rest, value) in try registers(scope, SchemaRegister.fieldNamespace, below: [name]) {
            guard let type = FieldType(name: String(decoding: value, as: UTF8.self)) else {
                throw .damagedSchema
            }
            schema.fields[try field(rest)] = type
        }
        for (rest, value) in try registers(scope, SchemaRegister.indexNamespace, below: [name]) {
            guard value.count == 1 else { throw .damagedSchema }
            schema.indexes[try field(rest)] = Schema.Indexes(rawValue: value[0])
        }
        if let merge = try self.register(scope, SchemaRegister.mergeNamespace, [name])?.value {
            schema.merge = try decoding(name) { () throws(MalformedBytes) in
                try MergePolicy(register: merge)
            }
        }
        return schema
    }

    private borrowing func field(_ rest: [Bytes]) throws(EngineError) -> String {
        guard let field = rest.first, rest.count == 1 else { throw .damagedSchema }
        return String(decoding: field, as: UTF8.self)
    }
}

/// Names of the registers that hold the schema.
package enum SchemaRegister {
    /// (type).
    package static let typeNamespace = "type"
    /// (type, field) → the field's type.
    package static let fieldNamespace = "field"
    /// (type, field, the field's type) of fields that were given several, see `MixedFields`.
    package static let mixedNamespace = "mixed"
    /// (type) → what changes as one.
    package static let mergeNamespace = "merge"
    /// (type, field) → the field's indexes, where somebody has chosen them.
    package static let indexNamespace = "index"
    /// (type, role) → what the role may do, where somebody has chosen it.
    package static let grantNamespace = "grant"
    /// (role).
    package static let roleNamespace = "role"

    /// Whether a type is read anew when a register of this namespace changes.
    static func holds(_ namespace: String) -> Bool {
        isFixed(namespace) || namespace == mergeNamespace || namespace == indexNamespace
    }

    /// Whether what was written first stands.
    static func isFixed(_ namespace: String) -> Bool {
        namespace == typeNamespace || namespace == fieldNamespace || namespace == mixedNamespace
    }
}
