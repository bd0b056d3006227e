// Users and their access tokens: registers of the cluster's own scope, so that they replicate like
// everything else.
//
// A token is 32 random bytes; only its SHA-256 is stored. Names are for people: everything else
// uses the user's id, and a user has another record name in each container. `Sessions` decides
// whether a token lets its bearer in.

import Crypto
package import CumulusModel
package import CumulusStorage

package enum Users {
    package struct User: Hashable, Sendable {
        /// The name that the operator chose.
        package var name: String
        /// 16 bytes.
        package var id: Bytes
        /// Milliseconds since 1970 UTC.
        package var created: Int64

        /// The user's name in the records of a container: `_` and 32 hexadecimal digits.
        package func recordName(in container: String) -> String {
            "_" + Users.digest(of: id, in: container).hex
        }
    }

    /// The 16 bytes that stand for a user in its record name in a container.
    static func digest(of userID: Bytes, in container: String) -> Bytes {
        let input = Bytes("cumulus user".utf8) + userID + Bytes(container.utf8)
        return Bytes(SHA256.hash(data: input).prefix(16))
    }

    package static func all(in reader: ReadTransaction) throws(EngineError) -> [User] {
        guard let scope = try reader.scope(.cluster) else { return [] }
        var users: [User] = []
        for (key, _) in try reader.registers(scope, AccountRegister.user) {
            // Longer keys are of later users with the name of a deleted one.
            guard let name = key.first, key.count == 1 else { continue }
            if let user = try user(named: name, scope, in: reader) { users.append(user) }
        }
        return users
    }

    /// The user with a name; nil if there is none.
    ///
    /// Spaces before and behind the name don't count, unless a user's stored name has them: nodes
    /// of earlier releases made such names.
    package static func find<Reader: RowReader & ~Copyable>(
        _ name: String,
        in reader: borrowing Reader
    ) throws(EngineError) -> User? {
        guard let scope = try reader.scope(.cluster) else { return nil }
        if let user = try user(named: Bytes(name.utf8), scope, in: reader) { return user }
        let trimmed = Names.trimmed(name)
        if trimmed == name { return nil }
        return try user(named: Bytes(trimmed.utf8), scope, in: reader)
    }

    /// The register that gives a user a name which nobody has.
    static func register<Reader: RowReader & ~Copyable>(
        of user: User,
        _ scope: ScopeNumber,
        in reader: borrowing Reader
    ) throws(EngineError) -> Commit.Register {
        var value = CanonicalWriter()
        value.delimited(user.id)
        value.varint(zigzag(user.created))
        return Commit.Register(
            namespace: AccountRegister.user,
            key: try place(of: Bytes(user.name.utf8), scope, in: reader).key,
            value: value.bytes
        )
    }

    /// The refusal of a call that the node makes on behalf of a user.
    package static let refusal = ServiceError(
        .notAuthenticated,
        "the user does not exist any more, or an operator has disabled it"
    )

    /// Whether an operator has disabled a user.
    package static func isDisabled<Reader: RowReader & ~Copyable>(
        _ user: User,
        in reader: borrowing Reader
    ) throws(EngineError) -> Bool {
        guard let scope = try reader.scope(.cluster) else { return false }
        return try isDisabled(user.id, scope, in: reader)
    }

    static func isDisabled<Reader: RowReader & ~Copyable>(
        _ userID: Bytes,
        _ scope: ScopeNumber,
        in reader: borrowing Reader
    ) throws(EngineError) -> Bool {
        try reader.accountNumber(AccountRegister.state, userID, scope) % 2 == 1
    }

    static func user<Reader: RowReader & ~Copyable>(
        named name: Bytes,
        _ scope: ScopeNumber,
        in reader: borrowing Reader
    ) throws(EngineError) -> User? {
        try place(of: name, scope, in: reader).user
    }

    /// The key of the register for a name, and the user who has the name.
    ///
    /// A deleted user leaves its name to the next one, whose key names the deleted user. So each
    /// key has one user for good, whatever nodes hear first.
    static func place<Reader: RowReader & ~Copyable>(
        of name: Bytes,
        _ scope: ScopeNumber,
        in reader: borrowing Reader
    ) throws(EngineError) -> (key: [Bytes], user: User?) {
        var key = [name]
        while let user = try user(at: key, scope, in: reader) {
            guard try isDeleted(user.id, scope, in: reader) else { return (key, user) }
            key = [name, user.id]
        }
        return (key, nil)
    }

    /// The id of the user who has a token, also of a deleted one.
    static func owner<Reader: RowReader & ~Copyable>(
        of token: TokenRow,
        scope: ScopeNumber,
        in reader: borrowing Reader
    ) throws(EngineError) -> Bytes? {
        if let details = token.details { return details.userID }
        // Earlier releases made it, for the first user with the name.
        return try user(at: [token.name], scope, in: reader)?.id
    }

    private static func user<Reader: RowReader & ~Copyable>(
        at key: [Bytes],
        _ scope: ScopeNumber,
        in reader: borrowing Reader
    ) throws(EngineError) -> User? {
        guard let name = key.first,
            let value = try reader.register(scope, AccountRegister.user, key)?.value
        else { return nil }
        return try reader.decoding(name) { () throws(MalformedBytes) in
            var reader = CanonicalReader(value)
            return User(
                name: String(decoding: name, as: UTF8.self),
                id: try reader.delimitedBytes(),
                created: try reader.signed()
            )
        }
    }
}

/// Adds a user, unless the name is taken.
package struct AddUser: ClusterChange {
    private let name: String
    private let id: Bytes

    package struct Outcome: Hashable, Sendable {
        /// The new user, or the one that has the name.
        package var user: Users.User
        package var existed: Bool
    }

    /// - Parameter id: 16 bytes.
    package init(name: String, id: Bytes) {
        self.name = name
        self.id = id
    }

    package func keeps(_ outcome: Outcome) -> Bool { !outcome.existed }

    package func run(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<Outcome, ServiceError> {
        if let refusal = try AlikeNames.refusal(of: name, in: transaction) {
            return .failure(refusal)
        }
        if let user = try Users.find(name, in: transaction) {
            return .success(Outcome(user: user, existed: true))
        }
        let user = Users.User(name: name, id: id, created: transaction.now)
        let register = try Users.register(of: user, scope, in: transaction)
        try ScopeRegisters(of: scope).set([register], &transaction)
        return .success(Outcome(user: user, existed: false))
    }
}

/// Lets every caller with a token act as a user.
package struct AddToken: ClusterChange {
    private let token: Bytes
    private let user: String

    /// - Parameter user: The user's name.
    package init(_ token: Bytes, user: String) {
        self.token = token
        self.user = user
    }

    /// Even a read-only node makes tokens, for people who are to look at its data.
    package static var isMadeReadOnly: Bool { true }

    /// Returns the token.
    package func run(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<Bytes, ServiceError> {
        guard let known = try Users.find(user, in: transaction) else {
            return .failure(Users.unknown(user))
        }
        let session = NewSession(digest: Sessions.digest(of: token), kind: .access)
        let registers = session.registers(
            of: known,
            opened: transaction.now,
            password: nil,
            try Sessions.generations(of: known.id, scope, in: transaction)
        )
        try ScopeRegisters(of: scope).set(registers, &transaction)
        return .success(token)
    }
}
