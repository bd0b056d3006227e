// The registers of the cluster's scope that hold accounts: who a caller is and whether it may sign
// in, and from which web apps.
//
// `Users`, `Sessions`, `Passwords`, `ServiceKeys`, `People`, `Subjects` and `RegisteredWebApps` of
// CumulusOperations read and write them. `RegisterRule` decides which of two values wins. Their
// numbers are big-endian, so that a greater number has greater bytes.

package import CumulusModel

package enum AccountRegister {
    /// (name) → the user's id and when it was made; the user who registered first keeps the name.
    ///
    /// Once that user is deleted, the next one with the name has the key (name, id of the deleted
    /// user).
    package static let user = "user"
    /// (SHA-256 of a token) → the user's name, and since a later release a `TokenRow`.
    package static let token = "token"
    /// (user's id, SHA-256 of a token): the tokens of a user, so that they can be listed.
    package static let session = "session"
    /// (user's id) → number of state changes, 8 bytes; odd means disabled.
    package static let state = "state"
    /// (user's id) → nothing: the user was deleted, which nothing undoes.
    package static let deleted = "deleted"
    /// (user's id) → number of resets by operators, number of changes since the last reset, hash.
    package static let password = "password"
    /// (user's id) → SHA-256 of the token of a link that resets the password, when it expires, and
    /// the password that it is to replace.
    package static let reset = "reset"
    /// (SHA-256 of a token, or id of a service key) → nothing; (user's id) or (`everybody`) → how
    /// often all sessions were ended, 8 bytes.
    package static let revoked = "revoked"

    /// (SHA-256 of a token) → the name of the operator who has it, and when it was made.
    package static let `operator` = "operator"

    /// (id of a service key, 16 bytes) → its public key, where it is valid, label and times.
    package static let key = "key"

    /// (`a`, container, environment, name) → a web app; (`l`, container, environment, name) → its
    /// logo; (`t`, SHA-256 of an API token) → the container, environment and name of its app.
    package static let webApp = "web"

    /// (issuer's URL, subject) → the user's id; the first one stays.
    package static let subject = "subject"

    /// (user's id) → display name, and whether others find the user.
    package static let profile = "profile"
    /// (kind, handle) → `HandleHolder`.
    package static let handle = "handle"
    /// (user's id, kind, handle): the handles of a user, so that they can be listed.
    package static let held = "held"

    /// The key for a revocation that concerns all users.
    package static let everybody = Bytes("*".utf8)

    /// Two numbers of 4 bytes: the password with the greater numbers wins.
    package static let passwordOrderBytes = 8

    /// Whether the greatest value wins: taking away beats giving, whatever the clocks say.
    static func isNumber(_ namespace: String) -> Bool {
        namespace == state || namespace == revoked || namespace == handle
    }

    /// Whether a changed register may end a session.
    ///
    /// - Parameter isNew: No register with its key existed.
    static func endsSessions(_ namespace: String, isNew: Bool) -> Bool {
        switch namespace {
        case state, revoked, deleted: true
        // Nobody has signed in with a new name, a first password or a new key yet.
        case user, password, key: !isNew
        default: false
        }
    }
}

/// The registers of the cluster's scope that name its containers.
package enum ContainerRegister {
    package static let namespace = "container"
    /// (name) → nothing: the container was deleted, which nothing undoes.
    package static let deleted = "deletedContainer"
}

/// The addresses at which devices of users are woken; in the scope of a container's environment.
package enum PushRegister {
    /// The key is the user's record name, and the address's id.
    package static let namespace = "push"
}
