// The roles of the schema that operators gave to users. There is a register of the scope for each
// user and role.
//
// `AssignedRoles` writes them; `SchemaDirectory` reads them for reads, and the writer for changes.
// Each change raises the register's number, and the greater bytes win on every node: the greater
// number, and at equal numbers "not given". So a role that was taken away stays away until an
// operator who knew that gives it again. The result does not depend on clocks.

package import CumulusModel

/// The value of such a register.
package struct RoleAssignment: Hashable, Sendable {
    /// The namespace of the registers: (user record name, role) → the value.
    package static let namespace = "assigned"

    /// How often it was changed.
    package let number: UInt64
    package let isGiven: Bool

    package init(number: UInt64, isGiven: Bool) {
        self.number = number
        self.isGiven = isGiven
    }

    package static func key(_ user: String, _ role: String) -> [Bytes] {
        [Bytes(user.utf8), Bytes(role.utf8)]
    }

    /// The value after a change; the number stops at the largest one, which is out of reach.
    package func changed(isGiven: Bool) -> RoleAssignment {
        RoleAssignment(number: min(number, .max - 1) + 1, isGiven: isGiven)
    }

    /// Number big-endian, then 0: given, or 1: not given.
    package var value: Bytes {
        withUnsafeBytes(of: number.bigEndian) { Bytes($0) } + [isGiven ? 0 : 1]
    }

    package init(value: Bytes) throws(MalformedBytes) {
        guard value.count == 9, value[8] <= 1 else {
            throw MalformedBytes("it is no assignment of a role")
        }
        number = value[..<8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        isGiven = value[8] == 0
    }
}

/// The present and former roles of a schema, and the commits that last changed them.
package struct SchemaRoles: Sendable {
    fileprivate var roles: [String: (exists: Bool, dot: Dot)] = [:]

    /// Whether there never was a role.
    package var isEmpty: Bool { roles.isEmpty }

    /// The present roles, ascending.
    package var names: [String] { roles.filter(\.value.exists).keys.sorted() }

    package func has(_ role: String) -> Bool { roles[role]?.exists ?? false }
}

/// The roles of one user.
package struct UserRoles: Hashable, Sendable {
    /// The roles that the schema still has.
    package private(set) var names: Set<String> = []
    /// The last change of each role that the user has or had.
    private var changes: [String: Set<Dot>] = [:]

    /// A user without roles.
    package init() {}

    fileprivate mutating func add(
        _ role: String,
        _ assignment: RoleAssignment,
        _ dot: Dot,
        in schema: SchemaRoles
    ) {
        changes[role, default: []].insert(dot)
        guard assignment.isGiven else { return }
        // The schema also adds and removes the role.
        if let known = schema.roles[role] { changes[role, default: []].insert(known.dot) }
        if schema.has(role) { names.insert(role) }
    }

    /// The user's present and former roles whose present state a reader with that vector does not
    /// know.
    package func changed(since vector: VersionVector) -> Set<String> {
        Set(changes.filter { !$0.value.allSatisfy { vector.covers($0) } }.keys)
    }
}

extension RowReader where Self: ~Copyable {
    package borrowing func schemaRoles(
        of scope: ScopeNumber
    ) throws(EngineError) -> SchemaRoles {
        var roles = SchemaRoles()
        for (key, row) in try registerRows(scope, SchemaRegister.roleNamespace) {
            guard let role = key.first, key.count == 1 else { throw .damagedSchema }
            let name = String(decoding: role, as: UTF8.self)
            roles.roles[name] = (row.value != nil, row.stamp.dot)
        }
        return roles
    }

    /// The roles of a user.
    ///
    /// It doesn't use `register`, because the writer would keep every user's roles in memory.
    ///
    /// - Parameter schema: The roles of the schema in the same state.
    package borrowing func roles(
        of user: String,
        in scope: ScopeNumber,
        _ schema: SchemaRoles
    ) throws(EngineError) -> UserRoles {
        var roles = UserRoles()
        let key = [Bytes(user.utf8)]
        for (rest, row) in try registerRows(scope, RoleAssignment.namespace, below: key) {
            guard let role = rest.first, rest.count == 1 else { throw .damagedSchema }
            let name = String(decoding: role, as: UTF8.self)
            roles.add(name, try assignment(row), row.stamp.dot, in: schema)
        }
        return roles
    }

    /// All assignments of a scope, ordered by user and role.
    package borrowing func roleAssignments(
        in scope: ScopeNumber
    ) throws(EngineError) -> [(user: String, role: String, assignment: RoleAssignment)] {
        try registerRows(scope, RoleAssignment.namespace).map { (key, row) throws(EngineError) in
            guard key.count == 2 else { throw .damagedSchema }
            let names = key.map { String(decoding: $0, as: UTF8.self) }
            return (names[0], names[1], try assignment(row))
        }
    }

    package borrowing func roleAssignment(
        of role: String,
        to user: String,
        in scope: ScopeNumber
    ) throws(EngineError) -> RoleAssignment {
        let key = RoleAssignment.key(user, role)
        guard let row = try register(scope, RoleAssignment.namespace, key) else {
            return RoleAssignment(number: 0, isGiven: false)
        }
        return try assignment(row)
    }

    private borrowing func assignment(
        _ row: RegisterRow
    ) throws(EngineError) -> RoleAssignment {
        do {
            return try RoleAssignment(value: row.value ?? [])
        } catch {
            throw .damagedSchema
        }
    }
}

// MARK: - In the writer

extension WriteTransaction {
    /// The roles of a user.
    package mutating func roles(
        of user: String,
        in scope: ScopeNumber
    ) throws(EngineError) -> UserRoles {
        let schema = try knownSchemaRoles(of: scope)
        if schema.isEmpty { return UserRoles() }
        let key = WriterState.UserKey(scope: scope, user: user)
        if let known = state.userRoles[key] { return known }
        let roles = try roles(of: user, in: scope, schema)
        state.userRoles[key] = roles
        return roles
    }

    private mutating func knownSchemaRoles(
        of scope: ScopeNumber
    ) throws(EngineError) -> SchemaRoles {
        if let known = state.schemaRoles[scope] { return known }
        let roles = try schemaRoles(of: scope)
        state.schemaRoles[scope] = roles
        return roles
    }
}
