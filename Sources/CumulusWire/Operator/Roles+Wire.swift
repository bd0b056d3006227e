// The roles of users as operators give, take and list them.
//
// `roles.proto`. Names are bytes in requests; the node checks them.

import CCumulusWire
package import CumulusModel

package struct SetRoleRequest: Hashable, Sendable {
    package var user: Bytes
    package var role: Bytes
    /// False: it is taken away.
    package var isGiven: Bool

    package init(user: Bytes, role: Bytes, isGiven: Bool) {
        self.user = user
        self.role = role
        self.isGiven = isGiven
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, bytes: user)
        writer.field(2, bytes: role)
        writer.field(3, varint: isGiven ? 1 : 0)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__set_role_request__unpack)
        user = message.raw.user.swiftBytes
        role = message.raw.role.swiftBytes
        isGiven = message.raw.is_given != 0
    }
}

/// `SetRoleResponse`.
package enum SetRoleResponse {
    package static func encoded(existed: Bool) -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, varint: existed ? 1 : 0)
        return writer.bytes
    }

    package static func existed(wire bytes: Bytes) throws(MalformedMessage) -> Bool {
        try CMessage(bytes[...], cumulus__v1__set_role_response__unpack).raw.existed != 0
    }
}

package struct ListRolesRequest: Hashable, Sendable {
    /// Empty: of all users.
    package var user: Bytes
    /// Empty: all roles.
    package var role: Bytes

    package init(user: Bytes, role: Bytes) {
        self.user = user
        self.role = role
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, bytes: user)
        writer.field(2, bytes: role)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__list_roles_request__unpack)
        user = message.raw.user.swiftBytes
        role = message.raw.role.swiftBytes
    }
}

/// A role that a user has.
package struct WireAssignedRole: Hashable, Sendable {
    /// Empty: the node does not know it yet.
    package var user: String
    package var recordName: String
    package var role: String
    package var isDropped: Bool

    package init(user: String, recordName: String, role: String, isDropped: Bool) {
        self.user = user
        self.recordName = recordName
        self.role = role
        self.isDropped = isDropped
    }

    /// The bytes of a `ListRolesResponse`.
    package static func answer(_ roles: ArraySlice<WireAssignedRole>) -> Bytes {
        var writer = CanonicalWriter()
        for role in roles {
            writer.message(1) { writer in
                writer.field(1, bytes: role.user.utf8)
                writer.field(2, bytes: role.recordName.utf8)
                writer.field(3, bytes: role.role.utf8)
                writer.field(4, varint: role.isDropped ? 1 : 0)
            }
        }
        return writer.bytes
    }

    package static func list(wire bytes: Bytes) throws(MalformedMessage) -> [WireAssignedRole] {
        let message = try CMessage(answer: bytes, cumulus__v1__list_roles_response__unpack)
        return elements(message.raw.n_roles, message.raw.roles).map { raw in
            WireAssignedRole(
                user: raw.user.swiftText,
                recordName: raw.record_name.swiftText,
                role: raw.role.swiftText,
                isDropped: raw.is_dropped != 0
            )
        }
    }
}
