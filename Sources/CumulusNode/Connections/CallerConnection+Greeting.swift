// Judging HELLO: who calls, and in which scope.
//
// A token is looked up in memory first, and on a reader thread if that doesn't decide; so is a
// service key, see `CallerConnection+ServiceKey`. A peer proves that it has the cluster's key, and
// is admitted if no other process with its id is alive.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusRequests
import CumulusStorage
import CumulusWire
import Logging

/// Who calls, and where.
struct Identity: Sendable {
    var caller = Caller(role: .anonymous)
    /// What a user or a server showed; judged again when the accounts have changed.
    var credential: Credential?
    /// Clients have one for the connection; operators name one per call.
    var scope: ScopeID?
    var scopeNumber: ScopeNumber?
    /// The epoch of the accounts at which the scope was known not to be deleted.
    var scopeEpoch: UInt64 = 0
    /// The caller is told how far answers reach.
    var wantsTokens = false
    /// The caller has no zstd: chunks come and go as plain bytes.
    var wantsPlainChunks = false
    /// The webhook that is told on behalf of the caller; nil means the caller itself.
    var webhook: String?
    /// The id of the node that calls; nil means the caller is no node of this cluster.
    var peer: Bytes?
    /// The name of an operator of the cluster; nil for the one who has the node's own token.
    var operatorName: String?
    /// The user's id in all containers, or the service key's; nil means the caller is neither.
    var account: Bytes?
    var isPeer: Bool { peer != nil }

    /// The caller's own session; refuses callers that are no users.
    func session() throws(ServiceError) -> Credential.SessionOwner {
        guard let credential else { throw Authorisation.signInNeeded }
        guard let session = credential.session else { throw ServiceKeys.userNeeded }
        return session
    }
}

extension ScopeID {
    /// The scope that a HELLO or a call's header names.
    init(named container: Bytes, _ environment: UInt32) throws(ServiceError) {
        let name = try Names.checkIdentifier(container[...], "container")
        guard let environment = UInt8(exactly: environment).flatMap(Environment.init(rawValue:))
        else {
            throw ServiceError(
                .invalidArguments,
                "name an environment: 1 (development) or 2 (production)"
            )
        }
        self.init(container: name, environment: environment)
    }
}

extension CallerConnection {
    func judge(_ payload: Bytes) {
        do {
            let hello = try Hello(wire: payload)
            try check(hello)
            look(hello, reach: .memory)
        } catch let error as ServiceError {
            close(error)
        } catch {
            close(ServiceError(.invalidArguments, .protocolError, "HELLO can't be read"))
        }
    }

    /// Checks what needs no look-up.
    private func check(_ hello: Hello) throws(ServiceError) {
        guard hello.protocolVersion == 1 else {
            throw ServiceError(
                .incompatibleVersion,
                "this server speaks protocol version 1, not \(hello.protocolVersion)"
            )
        }
        guard (WireRole.client.rawValue...WireRole.operator.rawValue).contains(hello.role) else {
            throw ServiceError(
                .invalidArguments,
                "callers of role \(hello.role) are not served by this release"
            )
        }
        guard hello.largestFrame == 0 || Int(hello.largestFrame) >= limits.frameBytes else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                "largest_frame must be 0, or at least this server's \(limits.frameBytes) bytes"
            )
        }
        guard hello.deviceID.count <= limits.deviceBytes else {
            throw ServiceError(
                .invalidArguments,
                .invalidName,
                "the device id is longer than \(limits.deviceBytes) bytes"
            )
        }
        guard hello.endpoint.isEmpty || Endpoint.split(hello.endpoint) != nil else {
            throw ServiceError(
                .invalidArguments,
                .invalidName,
                "a peer's endpoint is host:port, of at most \(limits.nameBytes) bytes"
            )
        }
        try checkCredentials(of: hello)
    }

    /// Secrets don't cross a network in the clear, and peers have the cluster's key.
    private func checkCredentials(of hello: Hello) throws(ServiceError) {
        let isPeer = hello.role == WireRole.peer.rawValue
        let showsNothing = hello.token.isEmpty && hello.keyID.isEmpty && !isPeer
        guard node.takesSecrets(over: link) || showsNothing else { throw Node.notOverPlainTCP }
        try checkKey(of: hello)
        guard !isPeer || isProven(hello) else {
            node.warn(of: hello.endpoint, .claimed, "a peer is refused", why: Node.otherKey)
            throw ServiceError(.notAuthenticated, Node.otherKey)
        }
    }

    // MARK: Looking up

    private func look(_ hello: Hello, reach: Reach) {
        do {
            // Before the state is taken: that is at least as new.
            let epoch = node.gate.epochs.accounts
            let identity = try identify(hello, node.gate.latest(reach: reach), epoch)
            if identity.isPeer {
                admit(identity, hello)
            } else {
                greet(identity, role: hello.role)
            }
        } catch EngineError.notInMemory {
            lookOnDisk(hello)
        } catch {
            close(node.serviceError(error))
        }
    }

    private func lookOnDisk(_ hello: Hello) {
        let isQueued = node.gate.read(.prompt) { [self] in
            onLoop { connection in
                connection.look(hello, reach: .disk)
                connection.takeFrames(now: connection.node.environment.now())
            }
        }
        if !isQueued { close(.tooManyReads) }
    }

    private func identify(
        _ hello: Hello,
        _ reader: ReadTransaction,
        _ epoch: UInt64
    ) throws -> Identity {
        var identity = Identity()
        switch hello.role {
        case WireRole.operator.rawValue:
            identity.caller = Caller(role: .operator, device: hello.deviceID)
            if !hello.token.isEqualInConstantTime(to: node.configuration.operatorToken) {
                let digest = Sessions.digest(of: hello.token)
                try enter(&identity, asOperatorWith: digest, reader, epoch)
            }
        case WireRole.peer.rawValue:
            // Its proof was judged before.
            if node.gate.stops.isReadOnly { throw WriteStops.readOnly }
            identity.peer = hello.nodeID
        default:
            if let refusal = node.joiningRefusal { throw refusal }
            let scope = try ScopeID(named: hello.container, hello.environment)
            identity.scopeNumber = try Containers.number(of: scope, in: reader)
            identity.scope = scope
            identity.scopeEpoch = epoch
            identity.wantsTokens = hello.features.contains(.causalTokens)
            identity.wantsPlainChunks = hello.features.contains(.plainChunks)
            identity.caller.device = hello.deviceID
            if !hello.token.isEmpty {
                let digest = Sessions.digest(of: hello.token)
                try enter(&identity, withSession: digest, reader, epoch)
            }
            if !hello.keyID.isEmpty { try enter(&identity, by: hello, scope, reader, epoch) }
        }
        return identity
    }

    /// Takes the caller for the user whose token it has.
    ///
    /// - Parameter digest: SHA-256 of the token.
    func enter(
        _ identity: inout Identity,
        withSession digest: Bytes,
        _ reader: ReadTransaction,
        _ epoch: UInt64
    ) throws {
        let now = node.environment.wallClock()
        guard let scope = identity.scope,
            let session = try Sessions.find(digest, now: now, in: reader)
        else { throw Sessions.refusal }
        let credential = Credential(session, epoch: epoch)
        identity.caller.role = .user(session.user.recordName(in: scope.container))
        identity.caller.registered = session.user.created
        identity.account = session.user.id
        identity.credential = credential
        node.renew(session, identity.caller, credential)
    }

    /// Takes the caller for the operator of the cluster whose token it has.
    ///
    /// - Parameter digest: SHA-256 of the token.
    func enter(
        _ identity: inout Identity,
        asOperatorWith digest: Bytes,
        _ reader: ReadTransaction,
        _ epoch: UInt64
    ) throws {
        guard let known = try Operators.find(digest, in: reader) else {
            throw Node.wrongOperatorToken
        }
        identity.operatorName = known.name
        identity.credential = Credential(known, epoch: epoch)
    }

    // MARK: Peers

    /// Whether a HELLO proves that its sender belongs to this cluster.
    private func isProven(_ hello: Hello) -> Bool {
        guard let proof = node.peerProof, hello.clusterID == proof.clusterID,
            hello.nodeID.count == node.nodeID.count
        else { return false }
        return proof.isRight(
            hello.proof,
            .dialler,
            serverNonce: nonce,
            diallerNonce: hello.nonce,
            nodeID: hello.nodeID,
            certificate: link.certificate
        )
    }

    /// This node's own proof, for a peer that gave one.
    private func proof(for hello: Hello) -> Bytes {
        node.peerProof?.make(
            .listener,
            serverNonce: nonce,
            diallerNonce: hello.nonce,
            nodeID: node.nodeID,
            certificate: link.certificate
        ) ?? []
    }

    /// Accepts a peer that proved itself, if no other process with its id is alive.
    private func admit(_ identity: Identity, _ hello: Hello) {
        guard let nodeID = identity.peer else { return }
        let run = Incarnation(hello.incarnation)
        node.peerRuns.enter(run, of: nodeID, at: hello.endpoint, self) { [self] isAlone in
            link.loop.execute { [self] in
                // It may have been given up meanwhile: nobody would take it out again.
                guard isBeingJudged else { return node.peerRuns.leave(nodeID, self) }
                finishAdmission(of: identity, hello, isAlone: isAlone)
                takeFrames(now: node.environment.now())
                link.needsTurn()
            }
        }
    }

    private func finishAdmission(of identity: Identity, _ hello: Hello, isAlone: Bool) {
        guard let nodeID = identity.peer else { return }
        if isAlone {
            node.enter(nodeID, hello.endpoint)
            greet(identity, role: hello.role, proof: proof(for: hello))
        } else {
            node.refusedTwin(Incarnation(hello.incarnation), of: nodeID, at: hello.endpoint)
            sendHello(role: hello.role, proof: proof(for: hello), refuses: true)
            close(Node.idInUse)
        }
    }

    // MARK: Answering

    /// Sends the node's own greeting.
    ///
    /// - Parameter refuses: The caller is a node and is refused; why comes next. With the proof it
    ///   believes that.
    func sendHello(role: UInt32, proof: Bytes, refuses: Bool = false) {
        let identity = calls.identity
        var hello = ServerHello()
        hello.software = "cumulusd"
        hello.softwareVersion = node.configuration.version
        hello.nodeID = node.nodeID
        hello.incarnation = refuses ? 0 : node.incarnation.value
        hello.clusterID = node.clusterID
        hello.limits = limits
        if calls.budget == nil { hello.limits.perCaller = .none }
        // Peers judge clocks; callers need the time that their requests are held to.
        hello.clock = identity.isPeer ? node.toldClock : node.clock
        hello.callerRole = role
        hello.callerUser = identity.caller.user
        hello.proof = proof
        hello.notReady = node.notReady
        hello.lacksNodes = node.catchUp.lacksNodes
        frames.send(Frame(.hello, payload: hello.encoded()))
    }
}

extension Node {
    /// Whether secrets may come over a connection: nobody between its two ends can read them.
    func takesSecrets(over link: any FrameLink) -> Bool {
        link.isLoopback || !link.certificate.isEmpty || configuration.acceptsInsecureCredentials
    }

    static let wrongOperatorToken = ServiceError(
        .notAuthenticated,
        """
        this is not the node's operator token, nor one of an operator of the cluster: the node's \
        own is in the file operator.token of its data directory, and 'cumulus operator add' makes \
        tokens that every node takes
        """
    )

    static let notOverPlainTCP = ServiceError(
        .notAuthenticated,
        """
        tokens, passwords, service keys and peers are refused over plain TCP from another machine; \
        give the node a certificate (--tls-certificate), or allow it (--insecure-credentials)
        """
    )
}
