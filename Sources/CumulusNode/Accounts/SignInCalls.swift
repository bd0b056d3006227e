// The calls that take passwords: sign in, register, change one's own, and an operator's reset. One
// may sign in with an ID token instead.
//
// `MethodTable` lists them. They come over connections that take tokens. Each is counted
// (`Attempts`), hashed on `PasswordThread`, and then one commit, which is made only if the password
// that was proven is still the present one. `TokenIssuers` judges an ID token.

import CumulusModel
import CumulusOperations
import CumulusRequests
import CumulusStorage
import CumulusWire
import Logging

enum SignInCalls {
    static let methods: [MethodEntry] = [
        .init(
            .accountsSignIn,
            .message,
            .audit,
            admit: checkConnection,
            parse: decoded(SignInRequest.init(wire:)),
            begin: signIn
        ),
        .init(
            .accountsRegister,
            .message,
            .audit,
            admit: { context in
                try checkConnection(context)
                try checkRegistrations(context)
            },
            parse: decoded(SignInRequest.init(wire:)),
            begin: register
        ),
        .init(
            .accountsChangePassword,
            .message,
            [.token, .audit],
            admit: { context in
                try checkConnection(context)
                _ = try context.identity.session()
            },
            parse: decoded(ChangePasswordRequest.init(wire:)),
            begin: changePassword
        ),
        .init(
            .operatorSetPassword,
            .message,
            .act,
            admit: checkConnection,
            parse: decoded(SetPasswordRequest.init(wire:)),
            begin: setPassword
        ),
    ]

    /// Refuses connections that others can read.
    @Sendable private static func checkConnection(_ context: CallContext) throws {
        _ = try SignInDesk(context)
    }

    private static func checkRegistrations(_ context: CallContext) throws {
        guard context.node.configuration.takesRegistrations else {
            throw ServiceError(
                .permissionFailure,
                "users don't register here; ask an operator to add you"
            )
        }
    }

    private static func signIn(_ request: SignInRequest, _ context: CallContext) throws {
        let desk = try SignInDesk(context)
        guard request.idToken.isEmpty else {
            return try signIn(byIDTokenOf: request, desk, context)
        }
        let name = try Names.checkIdentifier(request.name[...], "user name")
        context.concerns(name)
        context.task { _, time in
            // Spaces around a name do not change it.
            let proven = try await desk.prove(
                request.password,
                of: Bytes(Names.trimmed(name).utf8)
            ) { reader in try Users.find(name, in: reader) }
            // A failure refuses no sign-in: the next one tries again.
            let rehashed: HashedPassword? =
                if proven.isWeak { try? await desk.hash(request.password) } else { nil }
            return try await desk.open(request.label, time) {
                SignIn(proven.proof, $0, rehashed: rehashed)
            }
        }
    }

    private static func signIn(
        byIDTokenOf request: SignInRequest,
        _ desk: SignInDesk,
        _ context: CallContext
    ) throws {
        guard request.name.isEmpty, request.password.isEmpty else {
            throw ServiceError(
                .invalidArguments,
                "an ID token says who signs in; leave name and password out"
            )
        }
        guard let issuers = context.node.configuration.idTokens else {
            throw ServiceError(
                .permissionFailure,
                "this node takes no ID tokens; its operator names identity providers with --issuers"
            )
        }
        let token = Result { () throws(IDToken.Problem) in try IDToken(request.idToken) }
        // It is not proven yet who that is.
        if let token = try? token.get() { context.concerns("\(token.issuer) \(token.subject)") }
        context.task { node, time in
            try node.attempts.begin(.idToken, from: desk.address, now: node.environment.now())
            let subject: ProvenSubject
            do throws(IDToken.Problem) {
                subject = try await issuers.prove(
                    try token.get(),
                    nonce: request.nonce,
                    now: node.environment.wallClock(),
                    key: node.subjectKey
                )
            } catch {
                node.environment.logger.info(
                    "an ID token was refused",
                    metadata: ["why": "\(error.why.prefix(200))"]
                )
                throw Subjects.refusal
            }
            let answer = try await desk.open(request.label, time) { SignInSubject(subject, $0) }
            node.attempts.succeed(.idToken, from: desk.address)
            return answer
        }
    }

    private static func register(_ request: SignInRequest, _ context: CallContext) throws {
        let desk = try SignInDesk(context)
        let name = try Names.checkNewUserName(request.name)
        context.concerns(name)
        try Passwords.check(request.password)
        context.task { node, time in
            let now = node.environment.now()
            try node.attempts.begin(.registration, from: desk.address, now: now)
            let hashed = try await desk.hash(request.password)
            var dice = NodeDice(node.environment)
            let id = dice.bytes(16)
            return try await desk.open(request.label, time) {
                RegisterUser(name: name, id: id, hashed, $0)
            }
        }
    }

    private static func changePassword(
        _ request: ChangePasswordRequest,
        _ context: CallContext
    ) throws {
        let desk = try SignInDesk(context)
        let owner = try context.identity.session()
        try Passwords.check(request.newPassword)
        context.task { node, time in
            let now = node.environment.wallClock()
            let proven = try await desk.prove(
                request.oldPassword,
                of: owner.userID
            ) { reader in try Sessions.find(owner.digest, now: now, in: reader)?.user }
            let hashed = try await desk.hash(request.newPassword)
            return try await desk.open(request.label, time) {
                ChangePassword(hashed, proven.proof, $0)
            }
        }
    }

    private static func setPassword(_ request: SetPasswordRequest, _ context: CallContext) throws {
        let desk = try SignInDesk(context)
        let name = try Names.checkIdentifier(request.user[...], "user name")
        context.concerns(name)
        try Passwords.check(request.password)
        context.task { _, time in
            let hashed = try await desk.hash(request.password)
            _ = try await desk.write(ResetPassword(hashed, user: name), time)
            return []
        }
    }
}

/// Checks one caller's password or ID token.
struct SignInDesk: Sendable {
    let node: Node
    let caller: Caller
    let credential: Credential?
    /// nil for operators.
    let container: String?
    /// The caller's address, 4 or 16 bytes.
    let address: Bytes
    /// The kind of the new session.
    let kind: TokenRow.Kind

    /// Refuses connections that others can read.
    init(_ context: CallContext) throws(ServiceError) {
        let link = context.calls.link
        guard context.node.takesSecrets(over: link) else { throw Node.notOverPlainTCP }
        node = context.node
        caller = context.caller
        credential = context.identity.credential
        container = context.identity.scope?.container
        address = link.remoteAddress
        kind = link is LocalConnection ? .web : .session
    }

    /// Proves that a caller knows a user's password; takes as long for an unknown name.
    ///
    /// Returns also whether the hash that it was compared with is weak.
    ///
    /// - Parameters:
    ///   - key: The user's name or id, by which attempts are counted.
    ///   - find: Looks the user up; returns nil if no user has that name.
    func prove(
        _ password: Bytes,
        of key: Bytes,
        _ find: @escaping @Sendable (ReadTransaction) throws -> Users.User?
    ) async throws -> (proof: PasswordProof, isWeak: Bool) {
        try node.attempts.begin(.password(of: key), from: address, now: node.environment.now())
        let found = try await node.gate.reading(.prompt) { reader in
            try find(reader).flatMap { user in
                try Passwords.find(of: user.id, in: reader).map { (user, $0) }
            }
        }
        let hashed = found?.1.hashed ?? .ofNobody
        // How many readings there are does not depend on the user.
        let readings = Passwords.readings(of: password)
        let isRight = try await node.passwords.run { readings.contains(where: hashed.matches) }
        guard isRight, let (user, stored) = found else { throw Passwords.refusal }
        node.attempts.succeed(.password(of: key), from: address)
        let proof = PasswordProof(user: user, password: stored.version)
        return (proof, stored.hashed.isWeak)
    }

    func hash(_ password: Bytes) async throws -> HashedPassword {
        var dice = NodeDice(node.environment)
        let salt = dice.bytes(HashedPassword.saltBytes)
        let password = Passwords.composed(password)
        guard
            let hashed = try await node.passwords.run({ HashedPassword(password, salt: salt) })
        else {
            throw ServiceError(.internalError, "the node has no memory to hash a password")
        }
        return hashed
    }

    /// Opens a session with a new token; the answer's bytes.
    func open<Opening: AccountChange>(
        _ label: String,
        _ time: TaskTime,
        _ change: (NewSession) -> Opening
    ) async throws -> Bytes where Opening.Outcome == BegunSession {
        let label = try label.isEmpty ? "" : Names.checkText(Bytes(label.utf8)[...], "label")
        var dice = NodeDice(node.environment)
        let token = dice.accessToken()
        let session = NewSession(
            digest: Sessions.digest(of: token),
            kind: kind,
            label: label,
            device: caller.device
        )
        let begun = try await write(change(session), time)
        let name = container.map { begun.user.recordName(in: $0) } ?? ""
        return OpenedSession(token: token, expires: begun.expires, user: name).encoded()
    }

    func write<Change: AccountChange>(
        _ change: Change,
        _ time: TaskTime
    ) async throws -> Change.Outcome {
        let request = WriteRequest(change, caller: caller, credential: credential)
        return try await node.gate.perform(request, time.token)
    }
}

extension NodeDice {
    /// A token for HELLO: 32 random bytes as text.
    mutating func accessToken() -> Bytes {
        Bytes("cumulus_".utf8) + Bytes(bytes(32).hex.utf8)
    }
}
