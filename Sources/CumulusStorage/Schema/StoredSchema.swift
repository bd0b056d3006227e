// The whole schema of a scope, put together from its registers.
//
// Showing, importing and deploying a schema reads it. Defaults are not stored: the indexes that
// fields get by themselves in development, and the grants that every type begins with.
//
// Folder: the schema as it is stored, register by register. Read `StoredSchema`, then `TypeSchema`;
// `StoredName` tells dropped types and fields from later ones.

package import CumulusModel

extension RowReader where Self: ~Copyable {
    /// All record types with their fields, indexes and grants, and the roles.
    package borrowing func storedSchema(
        of scope: ScopeNumber,
        in environment: Environment
    ) throws(EngineError) -> Schema {
        var names: Set = [Schema.users.name]
        let drops = try typeDrops(scope)
        for (key, _) in try registers(scope, SchemaRegister.typeNamespace) {
            guard let name = key.first, key.count == 1 else { throw .damagedSchema }
            if let name = drops.shown(String(decoding: name, as: UTF8.self)) { names.insert(name) }
        }
        let roles = try registers(scope, SchemaRegister.roleNamespace).compactMap { key, _ in
            key.first.map { String(decoding: $0, as: UTF8.self) }
        }
        var types: [Schema.RecordType] = []
        for name in names.sorted() {
            var type = try recordType(name, of: scope, in: environment)
            // A node that didn't know of the removal may have granted something to a removed role.
            let known = Schema.implicitRoles.union(roles)
            type.grants = type.grants.filter { known.contains($0.role) }
            types.append(type)
        }
        return Schema(roles: roles, recordTypes: types)
    }

    private borrowing func recordType(
        _ name: String,
        of scope: ScopeNumber,
        in environment: Environment
    ) throws(EngineError) -> Schema.RecordType {
        let schema = try typeSchema(scope, name)
        var fields = schema.fields.map { field, type in
            Schema.Field(
                name: StoredName.shown(field),
                type: .type(type),
                indexes: schema.indexes(of: field, in: environment)
            )
        }
        fields += SystemField.allCases.map { field in
            Schema.Field(
                name: field.rawValue,
                type: .type(.one(field.kind)),
                indexes: schema.indexes(of: field.rawValue, in: environment)
            )
        }
        if name == Schema.users.name {
            let own = Set(fields.map(\.name))
            for var field in Schema.users.fields where !own.contains(field.name) {
                let chosen = schema.indexes[field.name] ?? []
                field.indexes = chosen.intersection(field.type.possibleIndexes)
                fields.append(field)
            }
        }
        return Schema.RecordType(name: name, fields: fields, grants: schema.grants.list)
    }
}

extension Schema {
    /// The grants of a type that appears in development.
    package static let usualGrants = [
        Grant(role: Grants.creator, permissions: .write),
        Grant(role: Grants.signedIn, permissions: .create),
        Grant(role: Grants.world, permissions: .read),
    ]

    /// The type of users' own records, which always exists.
    package static let users = RecordType(
        name: "Users",
        fields: [Field(name: "roles", type: .type(.list(.int64)))],
        grants: [
            Grant(role: Grants.creator, permissions: .write),
            Grant(role: Grants.world, permissions: .read),
        ]
    )
}

extension EngineError {
    static let damagedSchema = EngineError.corrupt("a schema register is damaged")
}
