// The roles of users as operators give, take and list them.
//
// `roles.proto`. Names are bytes in requests; the node checks them.

package import CumulusModel

package struct SetRoleRequest: Coded, Hashable {
    package var user: Bytes = []
    package var role: Bytes = []
    /// False: it is taken away.
    package var isGiven = false

    package init() {}

    package init(user: Bytes, role: Bytes, isGiven: Bool) {
        self.user = user
        self.role = role
        self.isGiven = isGiven
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &user)
        try coder.bytes(2, &role)
        try coder.flag(3, &isGiven)
    }
}

/// Whether the user had it.
package typealias SetRoleResponse = FlagMessage

package struct ListRolesRequest: Coded, Hashable {
    /// Empty: of all users.
    package var user: Bytes = []
    /// Empty: all roles.
    package var role: Bytes = []

    package init() {}

    package init(user: Bytes, role: Bytes) {
        self.user = user
        self.role = role
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &user)
        try coder.bytes(2, &role)
    }
}

/// `AssignedRole`: a role that a user has.
package struct WireAssignedRole: Coded, Hashable {
    /// Empty: the node does not know it yet.
    package var user = ""
    package var recordName = ""
    package var role = ""
    package var isDropped = false

    package init() {}

    package init(user: String, recordName: String, role: String, isDropped: Bool) {
        self.user = user
        self.recordName = recordName
        self.role = role
        self.isDropped = isDropped
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.text(1, &user)
        try coder.text(2, &recordName)
        try coder.text(3, &role)
        try coder.flag(4, &isDropped)
    }
}

package typealias ListRolesResponse = MessageList<WireAssignedRole>
