// Who a call is by. Made once per connection, when its HELLO was judged.

package import CumulusModel

package struct Caller: Hashable, Sendable {
    package enum Role: Hashable, Sendable {
        case anonymous
        /// User record name in the connection's container.
        case user(String)
        /// Administers the node and reads public data.
        case `operator`
    }

    package var role: Role
    package var device: Bytes
    /// When the user was made, in milliseconds since 1970 UTC; 0 unless somebody is signed in.
    package var registered: Int64

    package init(role: Role, device: Bytes = [], registered: Int64 = 0) {
        self.role = role
        self.device = device
        self.registered = registered
    }

    /// User record name; empty unless somebody is signed in.
    package var user: String {
        if case .user(let name) = role { name } else { "" }
    }

    /// Whether an owner's name, as it stands in a zone id, means this caller.
    package func isOwner(named owner: String) -> Bool {
        owner.isEmpty || owner == Names.currentUser || owner == user
    }
}
