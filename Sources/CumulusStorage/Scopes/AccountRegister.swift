// The registers of the cluster's scope that say who a caller is and whether it may come in.
//
// Written and read by `Users`, `Sessions`, `Passwords`, `ServiceKeys`, `People` and `Subjects`
// of CumulusOperations. `RegisterRule` says which of two values stands. Numbers in them are
// big-endian, so that the greater one has the greater bytes.

package import CumulusModel

package enum AccountRegister {
    /// (name) → the user's id and when it was made; the user who registered first keeps the name.
    package static let user = "user"
    /// (SHA-256 of a token) → the user's name, and since a later release what `TokenRow` holds.
    package static let token = "token"
    /// (user's id, SHA-256 of a token): the tokens of a user, so that they can be listed.
    package static let session = "session"
    /// (user's id) → how often its state was changed, 8 bytes; odd: it is disabled.
    package static let state = "state"
    /// (user's id) → how often an operator reset the password and how often it was changed since,
    /// then the hash.
    package static let password = "password"
    /// (SHA-256 of a token, or id of a service key) → nothing; (user's id) or (`everybody`) → how
    /// often all sessions were ended, 8 bytes.
    package static let revoked = "revoked"

    /// (id of a service key, 16 bytes) → its public key, where it is good, label and times.
    package static let key = "key"

    /// (issuer's URL, subject) → its user's id; the first one stays.
    package static let subject = "subject"

    /// (user's id) → display name, and whether others find the user.
    package static let profile = "profile"
    /// (kind, handle) → `HandleHolder`: who has it.
    package static let handle = "handle"
    /// (user's id, kind, handle): the handles of a user, so that they can be listed.
    package static let held = "held"

    /// The key of what is revoked for all users.
    package static let everybody = Bytes("*".utf8)

    /// Two numbers of 4 bytes: of two passwords the one with the greater numbers stands.
    package static let passwordOrderBytes = 8

    /// Whether the greatest value stands: taking away beats giving, whatever the clocks say.
    static func isNumber(_ namespace: String) -> Bool {
        namespace == state || namespace == revoked || namespace == handle
    }

    /// Whether a register that changed may end somebody's session.
    ///
    /// - Parameter isNew: There was none under its key.
    static func endsSessions(_ namespace: String, isNew: Bool) -> Bool {
        switch namespace {
        case state, revoked: true
        // With a name that nobody had, a first password or a new key nobody has come in yet.
        case user, password, key: !isNew
        default: false
        }
    }
}
