// Caches the record types that reads asked about lately, with their indexes and grants, and the
// roles of callers: to read a schema takes longer than many a query.
//
// Reads share it as long as no schema, index or role of a user changes; each such change begins a
// new one. hot: once per query, and once per public record that is shown.

import CumulusModel
package import CumulusStorage
import Synchronization

package final class SchemaDirectory: Sendable {
    /// What a read needs to know about a type.
    package struct Found: Sendable {
        package var schema: TypeSchema
        package var indexes: [NumberedIndex]
    }

    private struct Key: Hashable {
        var scope: ScopeNumber
        /// The name as bytes: callers may ask for types of any spelling.
        var type: [UInt8]
    }

    /// Roles of scopes; `users` holds nobody of a scope that never had a role.
    private struct Roles {
        var schemas: [ScopeNumber: SchemaRoles] = [:]
        var users: [UserKey: UserRoles] = [:]
    }

    private struct UserKey: Hashable {
        var scope: ScopeNumber
        var user: String
    }

    private let types = Mutex<[Key: Found]>([:])
    private let roles = Mutex(Roles())
    private static let capacity = 1_000
    private static let users = 10_000

    package init() {}

    /// The type with its indexes; the store is read only if the type was not asked for before.
    package func find(
        _ type: String,
        of scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Found {
        let key = Key(scope: scope, type: Array(type.utf8))
        if let known = types.withLock({ $0[key] }) { return known }
        let schema = try reader.typeSchema(scope, type)
        let found = Found(schema: schema, indexes: try reader.indexes(of: schema.name, scope))
        // A type that doesn't exist is not kept. The type of users' records is an exception: its
        // records exist before it does.
        guard found.schema.exists || type == UserRecords.type else { return found }
        types.withLock { types in
            if types.count >= SchemaDirectory.capacity { types = [:] }
            types[key] = found
        }
        return found
    }

    /// The roles of a caller; the store is read only if they were not asked for before.
    package func roles(
        of caller: Caller,
        in scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> UserRoles {
        guard let user = caller.signedInUser else { return UserRoles() }
        let key = UserKey(scope: scope, user: user)
        let known = roles.withLock { (schema: $0.schemas[scope], user: $0.users[key]) }
        if known.schema?.isEmpty == true { return UserRoles() }
        if let user = known.user { return user }
        let schema =
            if let known = known.schema { known } else { try reader.schemaRoles(of: scope) }
        let found = schema.isEmpty ? UserRoles() : try reader.roles(of: user, in: scope, schema)
        roles.withLock { roles in
            roles.schemas[scope] = schema
            if schema.isEmpty { return }
            if roles.users.count >= SchemaDirectory.users { roles.users = [:] }
            roles.users[key] = found
        }
        return found
    }
}
