// Links by which users who lost their passwords set new ones: an operator makes one, and passes it
// on as it sees fit.
//
// A link's token is the user's id and 32 random bytes; its digest is in a register of the user, so
// every node that heard of it takes the link. It is good for an hour, and for the password that the
// user had when it was made: using it sets another one, so it works once. A new link replaces the
// one before it.

import Crypto
package import CumulusModel
package import CumulusStorage

package enum ResetLinks {
    /// How long a link is good, in milliseconds.
    package static let lifetime: Int64 = 3_600_000
    package static let secretBytes = 32
    private static let idBytes = 16

    /// The refusal of a token, whatever the cause.
    package static let refusal = ServiceError(
        .notAuthenticated,
        "this link is not good any more: it was used, is more than an hour old, or there is a "
            + "newer one; ask an operator for another"
    )

    /// The user for whom a token is good now; nil if it is good for nobody.
    ///
    /// - Parameters:
    ///   - token: As text.
    ///   - now: Milliseconds since 1970 UTC.
    package static func find<Reader: RowReader & ~Copyable>(
        _ token: Bytes,
        now: Int64,
        in reader: borrowing Reader
    ) throws(EngineError) -> Users.User? {
        guard let scope = try reader.scope(.cluster), let userID = userID(of: token),
            let link = try stored(userID, scope, in: reader),
            link.digest.isEqualInConstantTime(to: digest(of: token)), link.expires > now,
            link.order == (try Passwords.find(of: userID, scope, in: reader)?.order),
            let user = try Users.find(link.name, in: reader), user.id == userID,
            try !Users.isDisabled(userID, scope, in: reader)
        else { return nil }
        return user
    }

    /// The user whom a token names; nil if the text is no token.
    package static func userID(of token: Bytes) -> Bytes? {
        guard let bytes = Bytes(hex: String(decoding: token, as: UTF8.self)),
            bytes.count == idBytes + secretBytes
        else { return nil }
        return Bytes(bytes.prefix(idBytes))
    }

    fileprivate static func token(of userID: Bytes, _ secret: Bytes) -> Bytes {
        Bytes((userID + secret).hex.utf8)
    }

    fileprivate static func digest(of token: Bytes) -> Bytes { Bytes(SHA256.hash(data: token)) }

    private static func stored<Reader: RowReader & ~Copyable>(
        _ userID: Bytes,
        _ scope: ScopeNumber,
        in reader: borrowing Reader
    ) throws(EngineError) -> ResetLink? {
        guard let value = try reader.register(scope, AccountRegister.reset, [userID])?.value else {
            return nil
        }
        return try reader.decoding(userID) { () throws(MalformedBytes) in try ResetLink(value) }
    }

    fileprivate static func register(_ userID: Bytes, _ link: ResetLink?) -> Commit.Register {
        Commit.Register(namespace: AccountRegister.reset, key: [userID], value: link?.value)
    }
}

/// What is kept of a link.
package struct ResetLink: Hashable, Sendable {
    /// SHA-256 of its token.
    package var digest: Bytes
    /// Milliseconds since 1970 UTC.
    package var expires: Int64
    /// `Passwords.Stored.order` of the password that it replaces; nil: the user had none.
    package var order: UInt64?
    /// The user's.
    package var name: String

    package init(digest: Bytes, expires: Int64, order: UInt64?, name: String) {
        (self.digest, self.expires) = (digest, expires)
        (self.order, self.name) = (order, name)
    }

    package var value: Bytes {
        var writer = CanonicalWriter()
        writer.delimited(digest)
        writer.varint(zigzag(expires))
        writer.varint(order == nil ? 0 : 1)
        if let order { writer.varint(order) }
        writer.delimited(name.utf8)
        return writer.bytes
    }

    /// Bytes after the known parts belong to a later release.
    package init(_ value: Bytes) throws(MalformedBytes) {
        var reader = CanonicalReader(value)
        digest = try reader.delimitedBytes()
        expires = try reader.signed()
        order = try reader.varint() == 0 ? nil : try reader.varint()
        name = try reader.text()
    }
}

// MARK: - Changes

/// Makes a link for a user, in place of the one before it.
package struct MakeResetLink: AccountChange {
    private let name: String
    private let secret: Bytes

    package struct Outcome: Hashable, Sendable {
        /// As text; only its digest is kept.
        package var token: Bytes
        /// Milliseconds since 1970 UTC.
        package var expires: Int64
    }

    /// - Parameter secret: 32 random bytes.
    package init(user: String, secret: Bytes) {
        name = user
        self.secret = secret
    }

    package static var isOperators: Bool { true }

    package func keeps(_ outcome: Outcome) -> Bool { true }

    package func plan(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Plan {
        guard let user = try Users.find(name, in: transaction) else {
            return .failure(Users.unknown(name))
        }
        let token = ResetLinks.token(of: user.id, secret)
        let link = ResetLink(
            digest: ResetLinks.digest(of: token),
            expires: transaction.now + ResetLinks.lifetime,
            order: try Passwords.find(of: user.id, scope, in: transaction)?.order,
            name: user.name
        )
        let outcome = Outcome(token: token, expires: link.expires)
        return .success(([ResetLinks.register(user.id, link)], outcome))
    }
}

/// Sets a user's password by a link, which is good for nothing afterwards.
package struct UseResetLink: AccountChange {
    /// The user's name.
    package typealias Outcome = String

    private let token: Bytes
    private let password: HashedPassword

    package init(_ token: Bytes, _ password: HashedPassword) {
        self.token = token
        self.password = password
    }

    package func plan(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Plan {
        guard let user = try ResetLinks.find(token, now: transaction.now, in: transaction) else {
            return .failure(ResetLinks.refusal)
        }
        let known = try Passwords.find(of: user.id, scope, in: transaction)
        let set = Passwords.register(password, of: user.id, after: known, isReset: true)
        return .success(([set, ResetLinks.register(user.id, nil)], user.name))
    }
}
