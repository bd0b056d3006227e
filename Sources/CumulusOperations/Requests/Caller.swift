// Who makes a call. Made once per connection, when its HELLO was accepted.

package import CumulusModel

package struct Caller: Hashable, Sendable {
    package enum Role: Hashable, Sendable {
        case anonymous
        /// A user, by its record name in the connection's container.
        case user(String)
        /// A program with a service key, by its own user record name; it may use the public
        /// database only.
        case server(String)
        /// An operator, who administers the node and reads public data.
        case `operator`
    }

    package var role: Role
    package var device: Bytes
    /// When the user was made or the key registered, in milliseconds since 1970 UTC; 0 unless
    /// somebody is signed in.
    package var registered: Int64

    package init(role: Role, device: Bytes = [], registered: Int64 = 0) {
        self.role = role
        self.device = device
        self.registered = registered
    }

    /// User record name; empty unless somebody is signed in.
    package var user: String {
        switch role {
        case .user(let name), .server(let name): name
        case .anonymous, .operator: ""
        }
    }

    /// Whether an owner's name in a zone id means this caller.
    package func isOwner(named owner: String) -> Bool {
        owner.isEmpty || owner == Names.currentUser || owner == user
    }
}
