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

    package init(role: Role, device: Bytes = []) {
        self.role = role
        self.device = device
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
