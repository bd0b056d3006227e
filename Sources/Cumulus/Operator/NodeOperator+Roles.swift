// The roles that users have in the public database of a container's environment.

package import CumulusModel
import CumulusWire

extension NodeOperator {
    package struct AssignedRole: Hashable, Sendable {
        /// The user's name; empty if the node does not know it yet.
        package var user: String
        /// The user's record name in the container.
        package var recordName: String
        package var role: String
        /// The schema has no such role any more: it gives nothing.
        package var isDropped: Bool
    }

    /// Gives a user a role of the schema, or takes it away.
    ///
    /// Returns true if it was so already.
    package func setRole(
        _ role: String,
        ofUser user: String,
        isGiven: Bool,
        in container: String,
        _ environment: Environment
    ) async throws -> Bool {
        let request = SetRoleRequest(
            user: Bytes(user.utf8),
            role: Bytes(role.utf8),
            isGiven: isGiven
        )
        return try await call(
            .rolesSet,
            message: request.encoded(),
            container: container,
            environment
        ) { try SetRoleResponse(wire: $0).flag }
    }

    /// The roles that users have, by record names and roles.
    ///
    /// - Parameters:
    ///   - user: Only this user's; nil means of all.
    ///   - role: Only this role; nil means all.
    package func roles(
        ofUser user: String?,
        _ role: String?,
        in container: String,
        _ environment: Environment
    ) async throws -> [AssignedRole] {
        let request = ListRolesRequest(
            user: Bytes((user ?? "").utf8),
            role: Bytes((role ?? "").utf8)
        )
        return try await list(
            .rolesList,
            message: request.encoded(),
            container: container,
            environment
        ) { try ListRolesResponse(wire: $0).elements.map(AssignedRole.init) }
    }
}

extension NodeOperator.AssignedRole {
    fileprivate init(_ wire: WireAssignedRole) {
        user = wire.user
        recordName = wire.recordName
        role = wire.role
        isDropped = wire.isDropped
    }
}
