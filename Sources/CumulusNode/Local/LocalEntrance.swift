// The credentials of a caller that connects from inside the process, and how the node checks them.
//
// Made by the HTTP gateway and by gRPC. The gateway has checked what only it can see, such as a
// signature over an HTTP request. The node looks the credentials up in its registers and answers as
// to a HELLO.

package import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

package struct LocalEntrance: Sendable {
    /// What a caller shows.
    package enum Proof: Sendable {
        case nothing
        /// The session whose token has this SHA-256.
        case session(digest: Bytes)
        /// The SHA-256 of an access token that the caller has sent as it is: only where nobody else
        /// can read it, as in a HELLO.
        case accessToken(digest: Bytes)
        /// A server's key; asks whether the caller has the private half of a public key.
        case serviceKey(id: Bytes, isRight: @Sendable (_ publicKey: Bytes) -> Bool)
        /// Nothing: the node acts on behalf of a user, to tell a webhook.
        case webhook(WebhookSubscriber)
        /// Nothing: the node acts on behalf of a user, to wake a device, as long as the session
        /// lasts that registered it. This does not make the session longer.
        case push(PushAddresses.Target)
        /// An operator's token, as somebody typed it; only wrong ones are counted
        /// (`Attempts`), so the right one opens whatever others tried.
        case operatorToken(Bytes)
        /// The SHA-256 of an operator's token, from a caller who showed the token before.
        case operatorSession(digest: Bytes)

        /// The SHA-256 of an operator's token; empty for other callers.
        fileprivate var operatorDigest: Bytes {
            switch self {
            case .operatorToken(let token): Sessions.digest(of: token)
            case .operatorSession(let digest): digest
            case .nothing, .session, .accessToken, .serviceKey, .webhook, .push: []
            }
        }

        fileprivate var isOfOperator: Bool {
            switch self {
            case .operatorToken, .operatorSession: true
            case .nothing, .session, .accessToken, .serviceKey, .webhook, .push: false
            }
        }
    }

    /// Where the calls go; an operator's calls name it one by one.
    package var scope: ScopeID
    package var proof: Proof
    /// IP address of the caller: 4 or 16 bytes; empty if it has none.
    package var address: Bytes
    package var device: Bytes
    /// No one between caller and node can read what they say.
    package var isSecret: Bool
    /// Causal tokens of what the caller has seen; nil: it wants none of what it will see.
    package var seen: [Bytes]?
    /// Whether chunks of assets come and go without compression.
    package var wantsPlainChunks = false
    /// What holds up a caller that ignores when to come again; nil: one for this connection alone.
    package var restraint: SharedRestraint?

    package init(
        _ scope: ScopeID,
        _ proof: Proof = .nothing,
        address: Bytes = [],
        device: Bytes = [],
        isSecret: Bool = false,
        seen: [Bytes]? = nil
    ) {
        self.scope = scope
        self.proof = proof
        self.address = address
        self.device = device
        self.isSecret = isSecret
        self.seen = seen
    }
}

extension CallerConnection {
    /// Judges a caller that comes without a HELLO, and gets none.
    func enter(_ entrance: LocalEntrance, _ letIn: @escaping (_ user: String) -> Void) {
        self.letIn = { letIn($0.caller.user) }
        beginJudging()
        look(entrance, reach: .memory)
    }

    private func look(_ entrance: LocalEntrance, reach: Reach) {
        do {
            // Before the state is taken: that is at least as new.
            let epoch = node.gate.epochs.accounts
            if entrance.proof.isOfOperator {
                return try letOperatorIn(entrance, node.gate.latest(reach: reach), epoch)
            }
            let identity = try identify(entrance, node.gate.latest(reach: reach), epoch)
            greet(identity, role: WireRole.client.rawValue)
        } catch EngineError.notInMemory {
            let isQueued = node.gate.read(.prompt) { [self] in
                onLoop { $0.look(entrance, reach: .disk) }
            }
            if !isQueued { close(.tooManyReads) }
        } catch {
            close(node.serviceError(error))
        }
    }

    private func identify(
        _ entrance: LocalEntrance,
        _ reader: ReadTransaction,
        _ epoch: UInt64
    ) throws -> Identity {
        if let refusal = node.joiningRefusal { throw refusal }
        var identity = Identity()
        identity.scopeNumber = try Containers.number(of: entrance.scope, in: reader)
        identity.scope = entrance.scope
        identity.scopeEpoch = epoch
        identity.caller.device = entrance.device
        identity.wantsTokens = entrance.seen != nil
        identity.wantsPlainChunks = entrance.wantsPlainChunks
        switch entrance.proof {
        case .nothing, .operatorToken, .operatorSession: break
        case .session(let digest):
            try enter(&identity, withSession: digest, reader, epoch)
        case .accessToken(let digest):
            guard node.takesSecrets(over: link) else { throw Node.notOverPlainTCP }
            try enter(&identity, withSession: digest, reader, epoch)
        case .serviceKey(let id, let isRight):
            try enter(&identity, by: id, of: entrance.scope, reader, epoch, isRight)
        case .webhook(let subscriber):
            let user = try subscriber.admitted(in: reader)
            identity.caller.role = .user(subscriber.user)
            identity.caller.registered = user.created
            identity.account = user.id
            identity.credential = Credential(user, epoch: epoch)
            identity.webhook = subscriber.webhook
        case .push(let target): try enter(&identity, toWake: target.push, reader, epoch)
        }
        return identity
    }

    private func enter(
        _ identity: inout Identity,
        toWake push: StoredPush,
        _ reader: ReadTransaction,
        _ epoch: UInt64
    ) throws {
        let now = node.environment.wallClock()
        guard let scope = identity.scope,
            let session = try Sessions.find(push.session, now: now, in: reader),
            session.user.recordName(in: scope.container) == push.user
        else { throw Sessions.refusal }
        identity.caller.role = .user(push.user)
        identity.caller.device = push.device
        identity.caller.registered = session.user.created
        identity.account = session.user.id
        identity.credential = Credential(session, epoch: epoch)
        identity.webhook = push.marker.webhook
    }

    /// The node's own token is one of its settings; another one is looked up.
    private func letOperatorIn(
        _ entrance: LocalEntrance,
        _ reader: ReadTransaction,
        _ epoch: UInt64
    ) throws {
        guard node.takesSecrets(over: link) else { throw Node.notOverPlainTCP }
        let token = node.configuration.operatorToken
        var identity = Identity()
        identity.caller = Caller(role: .operator, device: entrance.device)
        let digest = entrance.proof.operatorDigest
        let isOwn = digest.isEqualInConstantTime(to: Sessions.digest(of: token))
        if token.isEmpty || !isOwn {
            do {
                try enter(&identity, asOperatorWith: digest, reader, epoch)
            } catch let error as ServiceError {
                if case .operatorToken = entrance.proof { try countWrongToken() }
                throw error
            }
        }
        greet(identity, role: WireRole.operator.rawValue)
    }

    /// Slows down a caller that shows wrong tokens.
    ///
    /// A token has 128 bits and more, so nobody finds one by guessing: this only keeps the noise
    /// low, and the right token needs no wait.
    private func countWrongToken() throws(ServiceError) {
        let now = node.environment.now()
        try node.attempts.begin(.operatorToken, from: link.remoteAddress, now: now)
    }
}

extension WebhookSubscriber {
    /// The user on whose behalf a webhook is told; refused while an operator keeps the user out.
    func admitted(in reader: ReadTransaction) throws -> Users.User {
        guard let user = try Users.find(account, in: reader),
            user.recordName(in: scope.container) == self.user,
            try !Users.isDisabled(user, in: reader)
        else { throw Users.refusal }
        return user
    }
}
