// The registers that begin a session, and the registers that end one.
//
// Made by `SessionChanges` and `Users`, for one commit with what else they change.

package import CumulusModel
import CumulusStorage

/// A session that is to begin, with the digest of its caller's token.
package struct NewSession: Hashable, Sendable {
    /// SHA-256 of the token.
    package var digest: Bytes
    package var kind: TokenRow.Kind
    /// A text for people.
    package var label: String
    package var device: Bytes

    package init(
        digest: Bytes,
        kind: TokenRow.Kind = .session,
        label: String = "",
        device: Bytes = []
    ) {
        self.digest = digest
        self.kind = kind
        self.label = label
        self.device = device
    }

    func expires(opened: Int64) -> Int64 { kind.isSession ? opened + Sessions.lifetime : 0 }

    /// - Parameter password: The version of the password that opens the session; nil if none does.
    func registers(
        of user: Users.User,
        opened: Int64,
        password: Dot?,
        _ generations: TokenRow.Generations
    ) -> [Commit.Register] {
        let details = TokenRow.Details(
            userID: user.id,
            kind: kind,
            label: label,
            device: device,
            opened: opened,
            expires: expires(opened: opened),
            password: password,
            generations: generations
        )
        let row = TokenRow(name: Bytes(user.name.utf8), details: details)
        return [
            Commit.Register(namespace: AccountRegister.token, key: [digest], value: row.value),
            Commit.Register(namespace: AccountRegister.session, key: [user.id, digest], value: []),
        ]
    }
}

extension AccountRegister {
    /// A register that holds a number; each change writes a greater one.
    static func number(
        _ namespace: String,
        _ key: Bytes,
        _ number: UInt64
    ) -> Commit.Register {
        var writer = CanonicalWriter()
        writer.bigEndian(number)
        return Commit.Register(namespace: namespace, key: [key], value: writer.bytes)
    }

    /// The registers that revoke a token, and take it off the list of its user's tokens.
    static func revoked(_ digest: Bytes, of userID: Bytes) -> [Commit.Register] {
        [
            Commit.Register(namespace: revoked, key: [digest], value: []),
            unlisted(digest, of: userID),
        ]
    }

    static func unlisted(_ digest: Bytes, of userID: Bytes) -> Commit.Register {
        Commit.Register(namespace: session, key: [userID, digest], value: nil)
    }
}
