// Which tokens let their bearers in: a token exists, was not revoked and has not expired, its user
// is active, and since it was made neither its password has changed nor have all sessions been
// ended.
//
// The answer rests on what this node holds. It is asked when a connection begins, again for its
// next call when the accounts have changed (`Credential`), and by the writer. `SessionChanges`
// writes the rows.
//
// Folder: who may come in, and what users and operators change about that. Read `Sessions`, then
// `Credential`, `Passwords`, `ServiceKeys`, `People`, `AccountChange` and `SessionChanges`.

import Crypto
package import CumulusModel
package import CumulusStorage

package enum Sessions {
    /// How long a session lasts without being used, in milliseconds.
    package static let lifetime: Int64 = 30 * 24 * 3_600_000
    /// The most sessions of one user; a further session ends the oldest one.
    package static let mostPerUser = 100

    /// A token that lets its bearer in.
    package struct Session: Hashable, Sendable {
        package var user: Users.User
        /// SHA-256 of the token.
        package var digest: Bytes
        package var token: TokenRow
    }

    enum Verdict {
        case valid(Session)
        /// The session has expired here; another node may extend it.
        case expired(Session)
        /// The token lets nobody in, now or for ever.
        case ended
    }

    /// The one answer to every caller that can't come in, whatever the cause.
    package static let refusal = ServiceError(
        .notAuthenticated,
        """
        the access token is not valid: it is unknown or has expired, was revoked, or its user is \
        disabled; sign in again, or ask an operator for a new one
        """
    )

    package static func digest(of token: Bytes) -> Bytes {
        Bytes(SHA256.hash(data: token))
    }

    /// The session of a token; nil if it lets nobody in.
    ///
    /// - Parameters:
    ///   - digest: SHA-256 of the token.
    ///   - now: Milliseconds since 1970 UTC.
    package static func find<Reader: RowReader & ~Copyable>(
        _ digest: Bytes,
        now: Int64,
        in reader: borrowing Reader
    ) throws(EngineError) -> Session? {
        guard let scope = try reader.scope(.cluster),
            case .valid(let session) = try judge(digest, scope, now: now, in: reader)
        else { return nil }
        return session
    }

    static func judge<Reader: RowReader & ~Copyable>(
        _ digest: Bytes,
        _ scope: ScopeNumber,
        now: Int64,
        in reader: borrowing Reader
    ) throws(EngineError) -> Verdict {
        guard let value = try reader.register(scope, AccountRegister.token, [digest])?.value,
            try reader.register(scope, AccountRegister.revoked, [digest])?.value == nil
        else { return .ended }
        let token = try reader.decoding(digest) { () throws(MalformedBytes) in
            try TokenRow(value)
        }
        guard let user = try Users.user(named: token.name, scope, in: reader),
            try !Users.isDisabled(user.id, scope, in: reader),
            try generations(of: user.id, scope, in: reader) == token.generations
        else { return .ended }
        let session = Session(user: user, digest: digest, token: token)
        guard let details = token.details else {
            let owner = try Users.owner(of: token, scope: scope, in: reader)
            return owner == user.id ? .valid(session) : .ended
        }
        guard details.userID == user.id else { return .ended }
        if let password = details.password {
            let present = try Passwords.find(of: user.id, scope, in: reader)
            guard present?.version == password else { return .ended }
        }
        let isExpired = details.expires != 0 && details.expires <= now
        return isExpired ? .expired(session) : .valid(session)
    }

    /// The sessions that let a user in, oldest first.
    ///
    /// Tokens of earlier releases are not among them.
    package static func all<Reader: RowReader & ~Copyable>(
        of userID: Bytes,
        now: Int64,
        in reader: borrowing Reader
    ) throws(EngineError) -> [Session] {
        guard let scope = try reader.scope(.cluster) else { return [] }
        return try listed(of: userID, scope, now: now, in: reader).valid
    }

    /// The sessions of a user, oldest first, and the digests of tokens that can go from the list.
    static func listed<Reader: RowReader & ~Copyable>(
        of userID: Bytes,
        _ scope: ScopeNumber,
        now: Int64,
        in reader: borrowing Reader
    ) throws(EngineError) -> (valid: [Session], over: [Bytes]) {
        var (valid, over): ([Session], [Bytes]) = ([], [])
        for (key, _) in try reader.registers(scope, AccountRegister.session, below: [userID]) {
            guard let digest = key.first else { continue }
            switch try judge(digest, scope, now: now, in: reader) {
            case .valid(let session): valid.append(session)
            case .expired(let session):
                if session.token.expires + lifetime <= now { over.append(digest) }
            case .ended: over.append(digest)
            }
        }
        valid.sort { ($0.opened, $0.digest.hex) < ($1.opened, $1.digest.hex) }
        return (valid, over)
    }

    /// Ends the sessions and access tokens of all users, also the ones that other nodes open now.
    static func endAll(in transaction: inout WriteTransaction) throws(EngineError) {
        let scope = try transaction.makeScope(.cluster)
        let (namespace, key) = (AccountRegister.revoked, AccountRegister.everybody)
        let ended = try transaction.accountNumber(namespace, key, scope)
        let next = min(ended, .max - 1) + 1
        try ScopeRegisters(of: scope).set(
            [AccountRegister.number(namespace, key, next)],
            &transaction
        )
    }

    /// The commits that last ended all sessions of a user.
    static func generations<Reader: RowReader & ~Copyable>(
        of userID: Bytes,
        _ scope: ScopeNumber,
        in reader: borrowing Reader
    ) throws(EngineError) -> TokenRow.Generations {
        let namespace = AccountRegister.revoked
        return TokenRow.Generations(
            user: try reader.register(scope, namespace, [userID])?.stamp.dot,
            everybody: try reader.register(scope, namespace, [AccountRegister.everybody])?.stamp.dot
        )
    }
}

extension Sessions.Session {
    /// Milliseconds since 1970 UTC; 0 if an earlier release made the token.
    package var opened: Int64 { token.details?.opened ?? 0 }

    /// Whether a use at that time extends the session.
    package func isDue(now: Int64) -> Bool {
        token.expires != 0 && token.expires - now < Sessions.lifetime / 2
    }
}

extension RowReader where Self: ~Copyable {
    /// A number that each change raises; 0 if there is no register.
    borrowing func accountNumber(
        _ namespace: String,
        _ key: Bytes,
        _ scope: ScopeNumber
    ) throws(EngineError) -> UInt64 {
        guard let value = try register(scope, namespace, [key])?.value else { return 0 }
        return try decoding(key) { () throws(MalformedBytes) in
            var reader = CanonicalReader(value)
            return try reader.bigEndian()
        }
    }
}
