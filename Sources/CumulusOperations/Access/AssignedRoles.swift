// How operators give roles of the schema to users, take them away and list them.
//
// The writer runs the changes, and reads run `all`. `SchemaReset` takes away all roles of a scope.
// `RoleAssignment` says how changes at two nodes come together.

package import CumulusModel
package import CumulusStorage

package enum AssignedRoles {
    /// A role that a user has.
    package struct Entry: Hashable, Sendable {
        /// The user's name, as the operator chose it, or the record name of a service key, even of
        /// a revoked one; empty if this node does not know the user yet.
        package var user: String
        /// The user's record name in the container.
        package var recordName: String
        package var role: String
        /// Whether the schema no longer has the role, so that it gives nothing.
        package var isDropped: Bool
    }

    // MARK: Changes

    /// Takes away all roles that users of a scope have.
    ///
    /// Returns how many there were.
    ///
    /// - Parameter user: The record name of the only user to lose them; nil means all users do.
    static func takeAll(
        from user: String? = nil,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Int {
        var given = try transaction.roleAssignments(in: scope)
            .filter { $0.assignment.isGiven && (user == nil || $0.user == user) }[...]
        let count = given.count
        while !given.isEmpty {
            let changes = given.prefix(registersOfACommit).map {
                (user: $0.user, role: $0.role, $0.assignment.changed(isGiven: false))
            }
            given = given.dropFirst(registersOfACommit)
            try set(changes, in: scope, &transaction)
        }
        return count
    }

    /// The most registers of one commit; each takes at most about 300 bytes.
    private static let registersOfACommit = 1_000

    fileprivate static func set(
        _ changes: [(user: String, role: String, RoleAssignment)],
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let registers = changes.map { user, role, assignment in
            Commit.Register(
                namespace: RoleAssignment.namespace,
                key: RoleAssignment.key(user, role),
                value: assignment.value
            )
        }
        try ScopeRegisters(of: scope).set(registers, &transaction)
    }

    // MARK: List

    /// The roles that users have, by users' record names and roles.
    ///
    /// - Parameters:
    ///   - user: Lists only this user's roles; nil lists the roles of all users.
    ///   - role: Lists only this role; nil lists all roles.
    package static func all(
        of user: String?,
        _ role: String?,
        for scope: ScopeID,
        _ number: ScopeNumber,
        in reader: ReadTransaction
    ) throws -> [Entry] {
        let schema = try reader.schemaRoles(of: number)
        let given = try reader.roleAssignments(in: number).filter(\.assignment.isGiven)
        if let role, !schema.has(role), !given.contains(where: { $0.role == role }) {
            throw unknown(role, schema, in: scope.environment)
        }
        let names = try names(of: user, among: Set(given.map(\.user)), in: scope, reader)
        return given.compactMap { found in
            guard role == nil || found.role == role, user == nil || names[found.user] != nil
            else { return nil }
            return Entry(
                user: names[found.user] ?? "",
                recordName: found.user,
                role: found.role,
                isDropped: !schema.has(found.role)
            )
        }
    }

    /// The names of one user or of all users, by their record names.
    ///
    /// - Parameter holders: The record names of users who have roles.
    private static func names(
        of user: String?,
        among holders: Set<String>,
        in scope: ScopeID,
        _ reader: ReadTransaction
    ) throws -> [String: String] {
        guard let user else {
            let users = try Users.all(in: reader).map {
                ($0.recordName(in: scope.container), $0.name)
            }
            let keys = try ServiceKeys.all(of: scope, withRevoked: true, in: reader).map {
                ($0.recordName, $0.recordName)
            }
            return Dictionary(users + keys) { first, _ in first }
        }
        if let name = try recordName(of: user, in: scope, reader) { return [name: user] }
        guard holders.contains(user) else { throw unknown(user: user) }
        return try names(of: nil, among: holders, in: scope, reader).filter { $0.key == user }
            .merging([user: ""]) { known, _ in known }
    }

    /// The record name of a user or a service key that can have roles; nil if none has this name.
    ///
    /// - Parameter user: The name of a user, or the record name of a service key.
    fileprivate static func recordName<Reader: RowReader & ~Copyable>(
        of user: String,
        in scope: ScopeID,
        _ reader: borrowing Reader
    ) throws(EngineError) -> String? {
        guard Names.isUserRecordName(user) else {
            return try Users.find(user, in: reader)?.recordName(in: scope.container)
        }
        let keys = try ServiceKeys.all(of: scope, in: reader)
        return keys.contains { $0.recordName == user } ? user : nil
    }

    fileprivate static func unknown(user: String) -> ServiceError {
        guard Names.isUserRecordName(user) else { return Users.unknown(user) }
        return ServiceError(
            .unknownItem,
            """
            no service key has the record name '\(user)', or it was revoked; see 'cumulus key list'
            """
        )
    }

    fileprivate static func unknown(
        _ role: String,
        _ schema: SchemaRoles,
        in environment: Environment
    ) -> ServiceError {
        let names = schema.names
        let known = names.isEmpty ? "has no roles" : "has \(names.joined(separator: ", "))"
        let advice =
            environment == .development
            ? "add 'CREATE ROLE \(role);' to its file and run 'cumulus schema import'"
            : "import it into development, then run 'cumulus schema deploy'"
        return ServiceError(
            .unknownItem,
            "the schema has no role '\(role)': it \(known); \(advice)"
        )
    }
}

/// Gives a role of the schema to a user, or takes it away.
package struct ChangeRole: Hashable, ContainerChange {
    /// The user's name, as the operator chose it, or the record name of a service key.
    ///
    /// To take a role away, the record name of its holder works in any case.
    package var user: String
    package var role: String
    package var isGiven: Bool

    package init(user: String, role: String, isGiven: Bool) {
        self.user = user
        self.role = role
        self.isGiven = isGiven
    }

    package static var isOperators: Bool { true }

    package func keeps(_ existed: Bool) -> Bool { !existed || !isGiven }

    /// Returns true if the user had the role already, or was without it.
    ///
    /// Giving a role again changes nothing. Taking it away always raises the number: another node
    /// may have given it, and this node may not know of that yet.
    package func run(
        for asker: Asker,
        in number: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<Bool, ServiceError> {
        let scope = asker.scope
        let known = try AssignedRoles.recordName(of: user, in: scope, transaction)
        let name = known ?? user
        let current = try transaction.roleAssignment(of: role, to: name, in: number)
        // A role of a deleted user or a revoked key can be taken away, also twice.
        guard known != nil || (!isGiven && current.number > 0) else {
            return .failure(AssignedRoles.unknown(user: user))
        }
        let schema = try transaction.schemaRoles(of: number)
        guard schema.has(role) || (current.isGiven && !isGiven) else {
            return .failure(AssignedRoles.unknown(role, schema, in: scope.environment))
        }
        let existed = current.isGiven == isGiven
        if existed, isGiven { return .success(true) }
        let changed = current.changed(isGiven: isGiven)
        try AssignedRoles.set([(name, role, changed)], in: number, &transaction)
        return .success(existed)
    }
}
