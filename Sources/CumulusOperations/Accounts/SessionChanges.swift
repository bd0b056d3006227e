// How sessions begin, go on and end: signing in, registering, changing the password, signing out.
//
// Run as an `AccountChange`. A change that takes a password carries a proof from before the
// writer's turn, which counts only if that password is still the present one.

package import CumulusModel
package import CumulusStorage

/// A proof that somebody knew a user's password at this version.
package struct PasswordProof: Hashable, Sendable {
    package var user: Users.User
    package var password: Dot

    package init(user: Users.User, password: Dot) {
        self.user = user
        self.password = password
    }

    /// The proven password, if it is still the password of a user who may come in.
    fileprivate func present(
        _ scope: ScopeNumber,
        in transaction: borrowing WriteTransaction
    ) throws(EngineError) -> Passwords.Stored? {
        guard try Users.find(user.name, in: transaction)?.id == user.id,
            try !Users.isDisabled(user.id, scope, in: transaction),
            let known = try Passwords.find(of: user.id, scope, in: transaction),
            known.version == password
        else { return nil }
        return known
    }
}

/// A session that began.
package struct BegunSession: Hashable, Sendable {
    package var user: Users.User
    /// Milliseconds since 1970 UTC.
    package var expires: Int64

    package init(user: Users.User, expires: Int64) {
        self.user = user
        self.expires = expires
    }
}

extension NewSession {
    /// Opens a session; if the user has too many, the oldest one ends.
    ///
    /// - Parameter password: The version of the password that opens it; nil if none does.
    func begin(
        of user: Users.User,
        password: Dot?,
        _ scope: ScopeNumber,
        in transaction: borrowing WriteTransaction
    ) throws(EngineError) -> (registers: [Commit.Register], outcome: BegunSession) {
        let now = transaction.now
        let listed = try Sessions.listed(of: user.id, scope, now: now, in: transaction)
        let sessions = listed.valid.filter { $0.token.details?.kind.isSession == true }
        let ending = sessions.prefix(max(0, sessions.count + 1 - Sessions.mostPerUser))
        let registers =
            registers(
                of: user,
                opened: now,
                password: password,
                try Sessions.generations(of: user.id, scope, in: transaction)
            ) + ending.flatMap { AccountRegister.revoked($0.digest, of: user.id) }
            + listed.over.map { AccountRegister.unlisted($0, of: user.id) }
        return (registers, BegunSession(user: user, expires: expires(opened: now)))
    }
}

// MARK: - With a password

package struct SignIn: AccountChange {
    package typealias Outcome = BegunSession

    private let proof: PasswordProof
    private let session: NewSession
    private let rehashed: HashedPassword?

    /// - Parameter rehashed: The same password with a new hash, if the stored hash is weak.
    package init(
        _ proof: PasswordProof,
        _ session: NewSession,
        rehashed: HashedPassword? = nil
    ) {
        self.proof = proof
        self.session = session
        self.rehashed = rehashed
    }

    package func plan(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Plan {
        guard let known = try proof.present(scope, in: transaction) else {
            return .failure(Passwords.refusal)
        }
        let begun = try session.begin(
            of: proof.user,
            password: proof.password,
            scope,
            in: transaction
        )
        // Another sign-in may have stored a new hash meanwhile.
        guard let rehashed, known.hashed.isWeak else { return .success(begun) }
        let register = Passwords.register(rehashed, of: proof.user.id, inPlaceOf: known)
        return .success((begun.registers + [register], begun.outcome))
    }
}

/// Makes a user, and opens its first session.
package struct RegisterUser: AccountChange {
    package typealias Outcome = BegunSession

    private let name: String
    private let id: Bytes
    private let password: HashedPassword
    private let session: NewSession

    /// - Parameter id: 16 bytes.
    package init(name: String, id: Bytes, _ password: HashedPassword, _ session: NewSession) {
        self.name = name
        self.id = id
        self.password = password
        self.session = session
    }

    package func plan(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Plan {
        guard try Users.find(name, in: transaction) == nil else {
            return .failure(
                ServiceError(
                    .invalidArguments,
                    .invalidName,
                    "the name '\(name)' is taken; choose another one"
                )
            )
        }
        if let refusal = try AlikeNames.refusal(of: name, in: transaction) {
            return .failure(refusal)
        }
        let user = Users.User(name: name, id: id, created: transaction.now)
        let version = try transaction.nextDot(scope)
        let begun = try session.begin(of: user, password: version, scope, in: transaction)
        let account = [
            try Users.register(of: user, scope, in: transaction),
            Passwords.register(password, of: id, after: nil, isReset: false),
        ]
        return .success((account + begun.registers, begun.outcome))
    }
}

/// Ends all sessions of the user and opens one for the caller.
package struct ChangePassword: AccountChange {
    package typealias Outcome = BegunSession

    private let password: HashedPassword
    private let proof: PasswordProof
    private let session: NewSession

    /// - Parameter proof: The proof of the old password.
    package init(_ password: HashedPassword, _ proof: PasswordProof, _ session: NewSession) {
        self.password = password
        self.proof = proof
        self.session = session
    }

    package func plan(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Plan {
        guard asker.credential?.session?.userID == proof.user.id else {
            return .failure(Sessions.refusal)
        }
        guard let known = try proof.present(scope, in: transaction) else {
            return .failure(Passwords.refusal)
        }
        let version = try transaction.nextDot(scope)
        let begun = try session.begin(of: proof.user, password: version, scope, in: transaction)
        let changed = Passwords.register(
            password,
            of: proof.user.id,
            after: known,
            isReset: false
        )
        return .success(([changed] + begun.registers, begun.outcome))
    }
}

/// Gives a user another password.
package struct ResetPassword: UserChange {
    package let user: String?
    private let password: HashedPassword

    package init(_ password: HashedPassword, user: String) {
        self.password = password
        self.user = user
    }

    package func registers(
        of user: Users.User,
        in scope: ScopeNumber,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> [Commit.Register] {
        let known = try Passwords.find(of: user.id, scope, in: transaction)
        return [Passwords.register(password, of: user.id, after: known, isReset: true)]
    }
}

// MARK: - Sessions that are there

/// Ends one session of a user.
package struct RevokeSession: UserChange {
    package let user: String?
    private let digest: Bytes

    /// - Parameters:
    ///   - digest: SHA-256 of its token.
    ///   - user: The user's name; nil means the caller itself.
    package init(digest: Bytes, user: String?) {
        self.digest = digest
        self.user = user
    }

    package var onlyDeletes: Bool { true }

    /// Returns no registers for a session of another user, as for one that never existed.
    package func registers(
        of user: Users.User,
        in scope: ScopeNumber,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> [Commit.Register] {
        guard let value = try transaction.register(scope, AccountRegister.token, [digest])?.value,
            try transaction.register(scope, AccountRegister.revoked, [digest])?.value == nil
        else { return [] }
        let token = try transaction.decoding(digest) { () throws(MalformedBytes) in
            try TokenRow(value)
        }
        guard token.belongs(to: user) else { return [] }
        return AccountRegister.revoked(digest, of: user.id)
    }
}

/// Ends all sessions of a user.
package struct EndSessions: UserChange {
    package let user: String?

    /// - Parameter user: The user's name; nil means the caller itself.
    package init(user: String?) {
        self.user = user
    }

    package var onlyDeletes: Bool { true }

    package func registers(
        of user: Users.User,
        in scope: ScopeNumber,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> [Commit.Register] {
        let ended = try transaction.accountNumber(AccountRegister.revoked, user.id, scope)
        return [AccountRegister.number(AccountRegister.revoked, user.id, ended + 1)]
    }
}

/// Extends the session of the caller's own credential.
package struct RenewSession: AccountChange {
    /// Whether the session was due.
    package typealias Outcome = Bool

    package init() {}

    package func keeps(_ isChanged: Bool) -> Bool { isChanged }

    package func plan(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Plan {
        let now = transaction.now
        guard let owner = asker.credential?.session,
            let session = try Sessions.find(owner.digest, now: now, in: transaction)
        else { return .failure(Sessions.refusal) }
        guard session.isDue(now: now) else { return .success(([], false)) }
        var token = session.token
        token.details?.expires = now + Sessions.lifetime
        let register = Commit.Register(
            namespace: AccountRegister.token,
            key: [owner.digest],
            value: token.value
        )
        return .success(([register], true))
    }
}

extension TokenRow {
    fileprivate func belongs(to user: Users.User) -> Bool {
        if let details { return details.userID == user.id }
        return name == Bytes(user.name.utf8)
    }
}
