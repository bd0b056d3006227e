// What operators and users change about accounts: each is one commit of a few registers in the
// cluster's scope.
//
// Run by `WriteRequest` in the writer. What was looked up or hashed before its turn, a password
// above all, is compared with what is there now. Whatever takes a right away writes a greater
// number than it saw, so that it stands on every node; see `RegisterRule`.

package import CumulusModel
package import CumulusStorage

package enum AccountChange: Sendable {
    // Of operators.
    case setDisabled(Bool, user: String)
    case resetPassword(HashedPassword, user: String)
    case addKey(ServiceKeys.Key)
    /// By its id.
    case revokeKey(Bytes)
    case setHandle(Handle, user: String, isHeld: Bool)
    // Of anybody who proved a password, or may register.
    /// With the same password hashed anew, if the hash that was compared was weak.
    case signIn(Proof, NewSession, rehashed: HashedPassword? = nil)
    case register(name: String, id: Bytes, HashedPassword, NewSession)
    /// Of somebody whom an identity provider vouches for.
    case signInSubject(ProvenSubject, NewSession)
    // Of a user. The first three also of operators, who name the user.
    case setProfile(People.Profile, user: String?)
    case revoke(digest: Bytes, user: String?)
    case endSessions(user: String?)
    case changePassword(HashedPassword, Proof, NewSession)
    /// Makes the session of the request's own credential good for longer.
    case renew

    /// Somebody knew the password of a user when this was it.
    package struct Proof: Hashable, Sendable {
        package var user: Users.User
        package var password: Dot

        package init(user: Users.User, password: Dot) {
            self.user = user
            self.password = password
        }
    }

    package enum Outcome: Hashable, Sendable {
        /// Whether something was changed.
        case done(Bool)
        /// A session began; it expires at that time, in milliseconds since 1970 UTC.
        case opened(Users.User, expires: Int64)
        /// A service key is registered.
        case key(ServiceKeys.Key, existed: Bool)
        /// The label of a service key that was to end, empty without one, and whether it was good.
        case keyEnded(label: String, existed: Bool)
        /// Whether the user had the handle before, and whether another one had it.
        case handle(existed: Bool, isMoved: Bool)
    }

    /// Whether nobody can do more after it than before.
    var onlyTakesAway: Bool {
        switch self {
        case .setDisabled(let isDisabled, _): isDisabled
        case .setHandle(_, _, let isHeld): !isHeld
        case .revoke, .endSessions, .revokeKey: true
        case .resetPassword, .addKey, .setProfile, .signIn, .signInSubject, .register,
            .changePassword, .renew:
            false
        }
    }

    /// Registers to write, and what to answer then.
    typealias Plan = Result<(registers: [Commit.Register], outcome: Outcome), ServiceError>
}

// MARK: - Running

extension AccountChange {
    func run(
        by request: WriteRequest,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> (Result<Outcome, ServiceError>, keep: Bool) {
        let scope = try transaction.makeScope(.cluster)
        switch try plan(by: request, scope, in: &transaction) {
        case .failure(let error): return (.failure(error), false)
        case .success(let (registers, outcome)):
            guard !registers.isEmpty else { return (.success(outcome), false) }
            try transaction.set(registers, in: scope)
            return (.success(outcome), true)
        }
    }

    private func plan(
        by request: WriteRequest,
        _ scope: ScopeNumber,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Plan {
        switch self {
        case .setDisabled(let isDisabled, let name):
            return try planning(for: name, by: request, transaction) { user throws(EngineError) in
                try setDisabled(isDisabled, user.id, scope, in: transaction)
            }
        case .resetPassword(let hashed, let name):
            return try planning(for: name, by: request, transaction) { user throws(EngineError) in
                let known = try Passwords.find(of: user.id, scope, in: transaction)
                return [Passwords.register(hashed, of: user.id, after: known, isReset: true)]
            }
        case .revoke(let digest, let name):
            return try planning(for: name, by: request, transaction) { user throws(EngineError) in
                try revoke(digest, of: user, scope, in: transaction)
            }
        case .endSessions(let name):
            return try planning(for: name, by: request, transaction) { user throws(EngineError) in
                let ended = try transaction.accountNumber(AccountRegister.revoked, user.id, scope)
                return [AccountRegister.number(AccountRegister.revoked, user.id, ended + 1)]
            }
        case .addKey(let key): return try add(key, request, scope, in: transaction)
        case .revokeKey(let id): return try revokeKey(id, request, scope, in: transaction)
        case .setHandle(let handle, let name, let isHeld):
            return try setHandle(
                handle,
                of: name,
                isHeld: isHeld,
                request,
                scope,
                in: transaction
            )
        case .setProfile(let profile, let name):
            return try planning(for: name, by: request, transaction) { user throws(EngineError) in
                try setProfile(profile, of: user.id, scope, in: transaction)
            }
        case .signIn(let proof, let session, let rehashed):
            return try signIn(proof, session, rehashed, scope, in: transaction)
        case .signInSubject(let subject, let session):
            return try signIn(subject, session, scope, in: transaction)
        case .register(let name, let id, let hashed, let session):
            return try register(name, id, hashed, session, scope, &transaction)
        case .changePassword(let hashed, let proof, let session):
            return try change(hashed, proof, session, request, scope, &transaction)
        case .renew: return try renew(request, scope, in: transaction)
        }
    }

    /// Plans for a user whom an operator names, or for the caller itself.
    private func planning(
        for name: String?,
        by request: WriteRequest,
        _ transaction: borrowing WriteTransaction,
        _ registers: (Users.User) throws(EngineError) -> [Commit.Register]
    ) throws(EngineError) -> Plan {
        let user: Users.User
        switch try self.user(name, by: request, transaction) {
        case .success(let found): user = found
        case .failure(let error): return .failure(error)
        }
        let planned = try registers(user)
        return .success((planned, .done(!planned.isEmpty)))
    }

    private func user(
        _ name: String?,
        by request: WriteRequest,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> Result<Users.User, ServiceError> {
        guard let name else {
            guard let owner = request.credential?.session,
                let session = try Sessions.find(
                    owner.digest,
                    now: transaction.now,
                    in: transaction
                ), session.user.id == owner.userID
            else { return .failure(Sessions.refusal) }
            return .success(session.user)
        }
        guard request.caller.role == .operator else {
            return .failure(
                ServiceError(.permissionFailure, "only an operator may do this to another user")
            )
        }
        guard let user = try Users.find(name, in: transaction) else {
            return .failure(Users.unknown(name))
        }
        return .success(user)
    }

    // MARK: What is written

    /// Disabling writes the next odd number also if the user is disabled already: it then outlasts
    /// an enabling that didn't know of it.
    private func setDisabled(
        _ isDisabled: Bool,
        _ userID: Bytes,
        _ scope: ScopeNumber,
        in transaction: borrowing WriteTransaction
    ) throws(EngineError) -> [Commit.Register] {
        let number = try transaction.accountNumber(AccountRegister.state, userID, scope)
        let isOdd = number % 2 == 1
        if !isDisabled, !isOdd { return [] }
        let next = number + (isDisabled && isOdd ? 2 : 1)
        return [AccountRegister.number(AccountRegister.state, userID, next)]
    }

    /// Nothing for a session of somebody else, as for one that was never there.
    private func revoke(
        _ digest: Bytes,
        of user: Users.User,
        _ scope: ScopeNumber,
        in transaction: borrowing WriteTransaction
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

    private func signIn(
        _ proof: Proof,
        _ session: NewSession,
        _ rehashed: HashedPassword?,
        _ scope: ScopeNumber,
        in transaction: borrowing WriteTransaction
    ) throws(EngineError) -> Plan {
        guard let known = try isPresent(proof, scope, in: transaction) else {
            return .failure(Passwords.refusal)
        }
        let opened = try open(
            session,
            of: proof.user,
            password: proof.password,
            scope,
            in: transaction
        )
        // Another sign-in may have hashed it anew meanwhile.
        guard let rehashed, known.hashed.isWeak else { return .success(opened) }
        let register = Passwords.register(rehashed, of: proof.user.id, inPlaceOf: known)
        return .success((opened.registers + [register], opened.outcome))
    }

    private func register(
        _ name: String,
        _ id: Bytes,
        _ hashed: HashedPassword,
        _ session: NewSession,
        _ scope: ScopeNumber,
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
        let opened = try open(session, of: user, password: version, scope, in: transaction)
        let account = [
            Users.register(of: user),
            Passwords.register(hashed, of: id, after: nil, isReset: false),
        ]
        return .success((account + opened.registers, opened.outcome))
    }

    /// Ends all sessions of the user and opens one for the caller.
    private func change(
        _ hashed: HashedPassword,
        _ proof: Proof,
        _ session: NewSession,
        _ request: WriteRequest,
        _ scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Plan {
        guard request.credential?.session?.userID == proof.user.id else {
            return .failure(Sessions.refusal)
        }
        guard let known = try isPresent(proof, scope, in: transaction) else {
            return .failure(Passwords.refusal)
        }
        let version = try transaction.nextDot(scope)
        let opened = try open(session, of: proof.user, password: version, scope, in: transaction)
        let changed = Passwords.register(
            hashed,
            of: proof.user.id,
            after: known,
            isReset: false
        )
        return .success(([changed] + opened.registers, opened.outcome))
    }

    /// The password that was proven, if it is still that of a user who may come in.
    private func isPresent(
        _ proof: Proof,
        _ scope: ScopeNumber,
        in transaction: borrowing WriteTransaction
    ) throws(EngineError) -> Passwords.Stored? {
        let (name, id) = (proof.user.name, proof.user.id)
        guard try Users.find(name, in: transaction)?.id == id,
            try !Users.isDisabled(id, scope, in: transaction),
            let known = try Passwords.find(of: id, scope, in: transaction),
            known.version == proof.password
        else { return nil }
        return known
    }

    /// Opens a session; the oldest one ends where there are too many.
    ///
    /// - Parameter password: The one that it is opened with; nil means that it is opened without.
    func open(
        _ session: NewSession,
        of user: Users.User,
        password: Dot?,
        _ scope: ScopeNumber,
        in transaction: borrowing WriteTransaction
    ) throws(EngineError) -> (registers: [Commit.Register], outcome: Outcome) {
        let now = transaction.now
        let listed = try Sessions.listed(of: user.id, scope, now: now, in: transaction)
        let sessions = listed.valid.filter { $0.token.details?.kind.isSession == true }
        let ending = sessions.prefix(max(0, sessions.count + 1 - Sessions.mostPerUser))
        let registers =
            session.registers(
                of: user,
                opened: now,
                password: password,
                try Sessions.generations(of: user.id, scope, in: transaction)
            ) + ending.flatMap { AccountRegister.revoked($0.digest, of: user.id) }
            + listed.over.map { AccountRegister.unlisted($0, of: user.id) }
        return (registers, .opened(user, expires: session.expires(opened: now)))
    }

    private func renew(
        _ request: WriteRequest,
        _ scope: ScopeNumber,
        in transaction: borrowing WriteTransaction
    ) throws(EngineError) -> Plan {
        let now = transaction.now
        guard let owner = request.credential?.session,
            let session = try Sessions.find(owner.digest, now: now, in: transaction)
        else { return .failure(Sessions.refusal) }
        guard session.isDue(now: now) else { return .success(([], .done(false))) }
        var token = session.token
        token.details?.expires = now + Sessions.lifetime
        let register = Commit.Register(
            namespace: AccountRegister.token,
            key: [owner.digest],
            value: token.value
        )
        return .success(([register], .done(true)))
    }
}

extension TokenRow {
    fileprivate func belongs(to user: Users.User) -> Bool {
        if let details { return details.userID == user.id }
        return name == Bytes(user.name.utf8)
    }
}

extension Users {
    package static func unknown(_ name: String) -> ServiceError {
        ServiceError(
            .unknownItem,
            "there is no user '\(name)'; add one with 'cumulus user add \(name)'"
        )
    }
}
