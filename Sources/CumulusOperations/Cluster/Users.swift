// Users and their access tokens: registers of the cluster's own scope, so that they replicate like
// everything else.
//
// A token is 32 random bytes; only its SHA-256 is stored. A user's record name is another one in
// each container.

import Crypto
package import CumulusModel
package import CumulusStorage

package enum Users {
    static let userNamespace = "user"
    static let tokenNamespace = "token"

    package struct User: Hashable, Sendable {
        /// Chosen by the operator.
        package var name: String
        /// 16 bytes.
        package var id: Bytes
        /// Milliseconds since 1970 UTC.
        package var created: Int64

        /// The user's name in the records of a container: `_` and 32 hexadecimal digits.
        package func recordName(in container: String) -> String {
            let input = Bytes("cumulus user".utf8) + id + Bytes(container.utf8)
            return "_" + Bytes(SHA256.hash(data: input).prefix(16)).hex
        }
    }

    /// The user whom a token belongs to.
    package static func user(
        withToken token: Bytes,
        in reader: ReadTransaction
    ) throws(EngineError) -> User? {
        let digest = Bytes(SHA256.hash(data: token))
        guard let scope = try reader.scope(.cluster),
            let name = try reader.register(scope, tokenNamespace, [digest])?.value
        else { return nil }
        return try user(named: name, scope, in: reader)
    }

    package static func all(in reader: ReadTransaction) throws(EngineError) -> [User] {
        guard let scope = try reader.scope(.cluster) else { return [] }
        var users: [User] = []
        for (key, _) in try reader.registers(scope, userNamespace) {
            guard let name = key.first else { continue }
            if let user = try user(named: name, scope, in: reader) { users.append(user) }
        }
        return users
    }

    /// The user of a name; nil if there is none here.
    static func find(
        _ name: String,
        in reader: borrowing some RowReader & ~Copyable
    ) throws(EngineError) -> User? {
        guard let scope = try reader.scope(.cluster) else { return nil }
        return try user(named: Bytes(name.utf8), scope, in: reader)
    }

    static func unknown(_ name: String) -> ServiceError {
        ServiceError(
            .unknownItem,
            "there is no user '\(name)'; add one with 'cumulus user add \(name)'"
        )
    }

    /// A new user, or the one that has this name.
    package static func add(
        _ name: String,
        id: Bytes,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> (user: User, existed: Bool) {
        let scope = try transaction.makeScope(.cluster)
        let key = Bytes(name.utf8)
        if let user = try user(named: key, scope, in: transaction) { return (user, true) }
        let user = User(name: name, id: id, created: transaction.now)
        var value = CanonicalWriter()
        value.delimited(id)
        value.varint(zigzag(user.created))
        try set(userNamespace, key, value.bytes, scope, in: &transaction)
        return (user, false)
    }

    /// Lets every caller with the token act as the user.
    ///
    /// Returns false if there is no such user.
    package static func addToken(
        _ token: Bytes,
        for name: String,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        let scope = try transaction.makeScope(.cluster)
        let key = Bytes(name.utf8)
        guard try user(named: key, scope, in: transaction) != nil else { return false }
        let digest = Bytes(SHA256.hash(data: token))
        try set(tokenNamespace, digest, key, scope, in: &transaction)
        return true
    }

    private static func set(
        _ namespace: String,
        _ key: Bytes,
        _ value: Bytes,
        _ scope: ScopeNumber,
        in transaction: inout WriteTransaction
    ) throws(EngineError) {
        let register = Commit.Register(namespace: namespace, key: [key], value: value)
        _ = try transaction.perform([.register(register)], in: scope, zone: nil, author: Author())
    }

    private static func user(
        named name: Bytes,
        _ scope: ScopeNumber,
        in reader: borrowing some RowReader & ~Copyable
    ) throws(EngineError) -> User? {
        guard let value = try reader.register(scope, userNamespace, [name])?.value else {
            return nil
        }
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
