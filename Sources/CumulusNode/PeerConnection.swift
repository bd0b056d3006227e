// This node's side of a connection to a peer that it dialled: proves itself, pulls each scope and
// hands what comes to the writer, takes state where the peer's log doesn't reach, and reports how
// far it has read.
//
// A transport drives it on one event loop. One stream per scope; the peer gets credit for more when
// the writer is done with what came, so a slow disk here holds up that peer's reading and nothing
// else.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusWire
import Logging
import Synchronization

final class PeerConnection: FrameHandler, @unchecked Sendable {
    // Confined to `link.loop`.

    private let node: Node
    private let link: any FrameLink
    private let proof: PeerProof
    private let endpoint: String
    /// Called once, when the connection is over: why.
    private let ended: @Sendable (String) -> Void
    private var connection: FrameConnection
    private let nonce: Bytes
    private var serverNonce: Bytes?
    private var isOpen = false
    private var peerID: Bytes = []
    private var peerRun = Incarnation(0)
    private var isClosing = false
    private var isClosed = false
    /// Who waits for a sign of life.
    private var challengers: [@Sendable (Bool) -> Void] = []
    private var reason = "the peer closed the connection"
    private var nextStream: UInt32 = 1
    private var pulls: [UInt32: Pull] = [:]
    private var transfers: [UInt32: StateTransfer] = [:]
    /// Who reads the peer's state only.
    private var readings: [UInt32: StateReading] = [:]
    /// What this peer was told last, and when the next report is due.
    private var reported: [ScopeID: (vector: VersionVector, time: Instant)] = [:]
    private var reports: [UInt32: ScopeID] = [:]
    private var reportTime: Instant?
    /// What was said about origins that are refused.
    private var alarmed: PeerCommits.Paused = [:]
    /// When scopes are looked for that are not being pulled: new ones, and those whose pull ended.
    private var lookTime: Instant?
    private static let lookMilliseconds: Int64 = 1_000

    /// Until when all is asked for of a scope, though others send some of it.
    private var wholeUntil: [ScopeID: Instant] = [:]
    private static let wholeMilliseconds: Int64 = 60_000

    /// What others are to send may come so much later than from this peer.
    private static let markMilliseconds: Int64 = 1_000
    private static let soonMilliseconds: Int64 = 20

    /// What was refused is tried again after a longer while: a clock may have been set right.
    private static let pausedMilliseconds: Int64 = 30_000

    /// A report is repeated then though nothing changed: its time counts too.
    private static let oldReportMilliseconds: Int64 = 600_000

    /// What a donor may send ahead of this node's writer.
    private static let stateCredit = 1 << 20

    private struct Pull {
        let scope: ScopeID
        /// Origins of which nothing more is taken.
        var paused: PeerCommits.Paused = [:]
        /// When to pull anew, from what is here by then.
        var restart: Instant?
        /// What came while the writer was busy with what came before; bounded by our credit.
        var commits: [Bytes] = []
        /// Bytes of the messages that brought them.
        var size = 0
        var isWriting = false
        var hasBegun = false
        /// The peer wants to hear as soon as it is durable here.
        var wantsReport = false
        /// Runs that the peer does not send.
        var elsewhere: Set<Incarnation>
        /// What the peer has of those, and when it has to be here too.
        var mark: (vector: VersionVector, due: Instant)?
        /// What it told since.
        var news = VersionVector()
        /// How often what it has was not here in time.
        var misses = 0
        /// Until when commits are held back that depend on what others send.
        var heldUntil: Instant?
    }

    init(
        _ node: Node,
        _ proof: PeerProof,
        link: any FrameLink,
        endpoint: String,
        now: Instant,
        ended: @escaping @Sendable (String) -> Void
    ) {
        self.node = node
        self.proof = proof
        self.link = link
        self.endpoint = endpoint
        self.ended = ended
        connection = FrameConnection(limits: node.configuration.limits, now: now)
        var dice = NodeDice(node.environment)
        nonce = dice.bytes(PeerProof.nonceBytes)
    }

    /// Ends the connection; from any thread.
    func stop() {
        onLoop { $0.close("this node is shutting down") }
    }

    private func onLoop(_ work: @escaping @Sendable (PeerConnection) -> Void) {
        link.loop.execute { [self] in
            work(self)
            link.needsTurn()
        }
    }

    // MARK: FrameHandler

    func received(_ bytes: UnsafeRawBufferPointer, now: Instant) {
        do throws(ProtocolFault) {
            try connection.received(bytes, now: now)
            while !isClosing, let frame = try connection.next() { try handle(frame) }
            if !connection.isChallenged { answerChallengers(true) }
        } catch {
            close(error.message)
        }
    }

    func turnEnded(now: Instant) -> Turn {
        var wake = connection.wakeTime
        if let lookTime { wake = min(wake, lookTime) }
        if let reportTime { wake = min(wake, reportTime) }
        for pull in pulls.values {
            if let restart = pull.restart { wake = min(wake, restart) }
            if let mark = pull.mark { wake = min(wake, mark.due) }
            if let heldUntil = pull.heldUntil { wake = min(wake, heldUntil) }
        }
        for end in wholeUntil.values { wake = min(wake, end) }
        return Turn(output: connection.takeOutput(), wake: wake, closes: isClosing)
    }

    func timePassed(now: Instant) {
        do throws(ProtocolFault) {
            try connection.timePassed(now: now)
        } catch {
            return close(error.message)
        }
        for (stream, pull) in pulls where pull.restart.map({ $0 <= now }) ?? false {
            stopPulling(stream)
        }
        for (stream, pull) in pulls {
            if let mark = pull.mark, mark.due <= now { checkMark(of: stream) }
            if let heldUntil = pull.heldUntil, heldUntil <= now { takeAll(stream) }
        }
        for (scope, end) in wholeUntil where end <= now {
            wholeUntil[scope] = nil
            directRunsChanged(in: scope)
        }
        if let lookTime, lookTime <= now { findScopes() }
        if let reportTime, reportTime <= now {
            self.reportTime = nil
            report()
        }
    }

    func writing(_ pendingBytes: Int, now: Instant) {
        connection.writing(pendingBytes, now: now)
    }

    func closed() {
        isClosing = true
        isClosed = true
        node.peerRuns.leave(peerID, self)
        answerChallengers(false)
        pulls = [:]
        for transfer in transfers.values { transfer.stop(reason) }
        for reading in readings.values { reading.fail(lost) }
        readings = [:]
        node.connections.withLock { connections in
            if connections[peerID]?.connection === self { connections[peerID] = nil }
        }
        if isOpen, node.directRuns.leave(peerID) { node.directRunsChanged(in: nil) }
        ended(reason)
    }

    // MARK: Greeting

    private func handle(_ frame: Frame) throws(ProtocolFault) {
        switch frame.kind {
        case .nonce: try greet(frame.payload)
        case .hello: try open(frame.payload)
        case .message: try take(frame)
        case .status: try end(frame)
        case .drain: close("the peer is shutting down")
        case .credit, .causal: break
        case .call, .cancel, .ping, .pong:
            throw ProtocolFault("the peer sent a frame that only diallers send")
        }
    }

    private func greet(_ serverNonce: Bytes) throws(ProtocolFault) {
        guard self.serverNonce == nil, serverNonce.count == PeerProof.nonceBytes else {
            throw ProtocolFault("the peer's NONCE can't be used")
        }
        self.serverNonce = serverNonce
        var hello = Hello()
        hello.role = WireRole.peer.rawValue
        hello.software = "cumulusd"
        hello.softwareVersion = node.configuration.version
        hello.nodeID = node.nodeID
        hello.clusterID = proof.clusterID
        hello.nonce = nonce
        hello.endpoint = node.endpoint.withLock { $0 }
        hello.incarnation = node.incarnation.value
        hello.proof = proof.make(
            .dialler,
            serverNonce: serverNonce,
            diallerNonce: nonce,
            nodeID: node.nodeID,
            certificate: link.certificate
        )
        connection.send(Frame(.hello, payload: hello.encoded()))
    }

    private func open(_ payload: Bytes) throws(ProtocolFault) {
        guard let serverNonce, !isOpen, let hello = try? ServerHello(wire: payload) else {
            throw ProtocolFault("the peer's HELLO can't be read")
        }
        let isPeer = proof.isRight(
            hello.proof,
            .listener,
            serverNonce: serverNonce,
            diallerNonce: nonce,
            nodeID: hello.nodeID,
            certificate: link.certificate
        )
        guard isPeer else { throw ProtocolFault("what answers there is no node of this cluster") }
        guard hello.nodeID != node.nodeID else {
            throw ProtocolFault("that address is this node's own")
        }
        guard !node.isLinked(to: hello.nodeID) else {
            throw ProtocolFault("there is another connection to that node")
        }
        peerID = hello.nodeID
        peerRun = Incarnation(hello.incarnation)
        node.peerRuns.enter(peerRun, of: peerID, self) { [self] isAlone in
            onLoop { connection in
                if connection.isClosing {
                    return connection.node.peerRuns.leave(hello.nodeID, self)
                }
                isAlone ? connection.open(hello) : connection.refuseTwin()
            }
        }
    }

    /// Another process with that node's id is connected, and alive.
    private func refuseTwin() {
        node.refusedTwin(peerRun, of: peerID, at: endpoint)
        close("another process is alive that has that node's id")
    }

    private func open(_ hello: ServerHello) {
        guard !isOpen, !node.isLinked(to: peerID) else {
            return close("there is another connection to that node")
        }
        isOpen = true
        node.note(isTwin: false, by: endpoint)
        node.connections.withLock { $0[peerID] = WeakPeer(connection: self) }
        let now = node.environment.now()
        node.clocks.note(hello.clock, of: peerID, ours: node.environment.wallClock(), now: now)
        connection.finishGreeting()
        node.note(endpoint, hello.nodeID)
        log("a peer is connected", ["node": "\(hello.nodeID.hex)"])
        findScopes()
        checkMembership()
        beat()
        // What was missed meanwhile comes at once: then the peer is told, without a long wait.
        reportTime =
            node.environment.now()
            + min(PeerConnection.lookMilliseconds, node.configuration.reportMilliseconds)
    }

    // MARK: Pulling

    /// Pulls the scopes of this node that are not being pulled.
    private func findScopes() {
        lookTime = node.environment.now() + PeerConnection.lookMilliseconds
        readVectors { connection, found in
            for (scope, vector) in found { connection.pull(scope, from: vector) }
        }
    }

    /// Reads how far this node is in each scope that it knows.
    private func readVectors(
        then use: @escaping @Sendable (PeerConnection, [(ScopeID, VersionVector)]) -> Void
    ) {
        onReader { [node] in
            let reader = node.gate.latest(reach: .disk)
            return try ScopeDirectory.all(in: reader).map { scope, number in
                (scope, try reader.vector(of: number))
            }
        } then: {
            use($0, $1)
        }
    }

    private func pull(_ scope: ScopeID, from vector: VersionVector) {
        guard !pulls.values.contains(where: { $0.scope == scope }),
            !transfers.values.contains(where: { $0.scope == scope })
        else { return }
        let elsewhere = elsewhere(scope)
        let request = PullRequest(
            vector: vector,
            run: node.incarnation.value,
            elsewhere: elsewhere.map(\.value).sorted()
        )
        let stream = call(.peersPull, scope, request.encoded())
        pulls[stream] = Pull(scope: scope, elsewhere: elsewhere)
    }

    /// Sends a call; returns its stream.
    private func call(_ method: Method, _ scope: ScopeID, _ request: Bytes) -> UInt32 {
        var header = CallHeader(method)
        if scope != .cluster {
            header.container = Bytes(scope.container.utf8)
            header.environment = UInt32(scope.environment.rawValue)
        }
        let stream = nextStream
        nextStream += 2
        let payload = header.encoded(before: request)
        connection.send(Frame(.call, isEnd: true, stream: stream, payload: payload))
        return stream
    }

    private func take(_ frame: Frame) throws(ProtocolFault) {
        if let transfer = transfers[frame.stream] { return transfer.received(frame.payload) }
        if let reading = readings[frame.stream] {
            if frame.isEnd { readings[frame.stream] = nil }
            return reading.received(frame.payload, isEnd: frame.isEnd)
        }
        if reports.removeValue(forKey: frame.stream) != nil { return }
        guard let pull = pulls[frame.stream] else { return }
        guard let response = try? PullResponse(wire: frame.payload) else {
            throw ProtocolFault("what the peer sent can't be read")
        }
        note(response.vector, frame.stream)
        if !pull.hasBegun {
            checkRun(pull.scope, response.vector)
            pulls[frame.stream]?.hasBegun = true
            if node.directRuns.enter(peerRun, of: peerID, pull.scope) {
                node.directRunsChanged(in: pull.scope)
            }
        }
        node.meter.receivedCommits.add(response.commits.count)
        pulls[frame.stream]?.commits += response.commits
        pulls[frame.stream]?.size += frame.payload.count
        if response.wantsReport { pulls[frame.stream]?.wantsReport = true }
        submit(frame.stream)
    }

    /// Hands the writer what has come of a stream, unless it still has some of it: what is paused
    /// is known before the next commits are looked at.
    private func submit(_ stream: UInt32) {
        guard let pull = pulls[stream], !pull.isWriting else { return }
        pulls[stream]?.commits = []
        pulls[stream]?.size = 0
        let size = pull.size
        if pull.commits.isEmpty, !pull.wantsReport { return grant(size, stream) }
        pulls[stream]?.isWriting = true
        pulls[stream]?.wantsReport = false
        let commits = PeerCommits(
            scope: pull.scope,
            commits: pull.commits,
            paused: pull.paused,
            clock: node.clock
        )
        let (gate, wantsReport) = (node.gate, pull.wantsReport)
        let rings = gate.bell.count(of: nil)
        // What brings nothing wakes nobody.
        let kind: StoreGate.Job.Kind = pull.commits.isEmpty ? .housekeeping : .commits
        let job = StoreGate.Job(kind) { transaction throws(EngineError) in
            let taken =
                gate.isHeld(commits.scope)
                ? (.unknownScope, commits.paused) : try commits.run(in: &transaction)
            return (taken, wantsReport ? try transaction.vector(of: commits.scope) : nil)
        } waits: {
            if case .waits = $0.0.0 { true } else { false }
        } then: { [self] taken in
            guard !isClosing else { return }
            pulls[stream]?.isWriting = false
            switch taken {
            case .success(let ((outcome, paused), vector)):
                if let vector { report(vector, pull.scope) }
                pause(paused, stream)
                if case .waits(let dot) = outcome, pull.elsewhere.contains(dot.incarnation) {
                    // Some before it may have been taken.
                    lookAround(pull.scope)
                    putBack(pull.commits, size, stream, rings)
                } else {
                    pulls[stream]?.heldUntil = nil
                    took(outcome, of: pull.scope, size, stream)
                    submit(stream)
                }
            case .failure(let error): close(error.message)
            }
            link.needsTurn()
        }
        let isQueued = node.gate.submit(
            StoreGate.QueuedWrite(.job(job), byteCount: size, loop: link.loop)
        )
        if !isQueued { close("too many writes are waiting here") }
    }

    /// Ends the process if a peer knows more of this run than its own store does: the machine went
    /// back to a snapshot while the process ran, and would give out its numbers a second time.
    private func checkRun(_ scope: ScopeID, _ vector: VersionVector) {
        let run = node.incarnation
        let known = vector[run]
        guard known > 0 else { return }
        onReader { [node] in
            let reader = node.gate.latest(reach: .disk)
            guard let number = try reader.scope(scope) else { return UInt64.max }
            return try reader.runs(of: number)[run]?.seq ?? 0
        } then: { connection, own in
            guard own < known else { return }
            connection.node.environment.fail(Node.rolledBack)
        }
    }

    private func took(
        _ outcome: PeerCommits.Outcome,
        of scope: ScopeID,
        _ size: Int,
        _ stream: UInt32
    ) {
        switch outcome {
        case .taken(let count):
            grant(size, stream)
            if count > 0 { lookAround(scope) }
        case .waits(let dot):
            log("a commit was not sent; pulling anew", ["commit": "\(dot)"])
            stopPulling(stream)
        case .malformed(let what): close("the peer sent a damaged commit: \(what)")
        case .unknownScope: stopPulling(stream)
        }
    }

    /// Containers are made in the cluster's scope, and members are listed there.
    private func lookAround(_ scope: ScopeID) {
        guard scope == .cluster else { return }
        findScopes()
        checkMembership()
    }

    /// Notes which origins are refused, and tells an operator once per connection.
    private func pause(_ paused: PeerCommits.Paused, _ stream: UInt32) {
        guard let known = pulls[stream]?.paused, known != paused else { return }
        pulls[stream]?.paused = paused
        if pulls[stream]?.restart == nil {
            pulls[stream]?.restart = node.environment.now() + PeerConnection.pausedMilliseconds
        }
        for (incarnation, refusal) in paused where alarmed[incarnation] != refusal {
            alarmed[incarnation] = refusal
            node.environment.logger.critical(
                "the commits of a node are refused; an operator has to look",
                metadata: [
                    "incarnation": "\(incarnation)", "why": "\(refusal)", "peer": "\(endpoint)",
                ]
            )
        }
    }

    private func grant(_ size: Int, _ stream: UInt32) {
        if pulls[stream] != nil { credit(size, stream) }
    }

    private func credit(_ size: Int, _ stream: UInt32) {
        var payload = Bytes()
        FrameEncoder.append(UInt32(clamping: size), to: &payload)
        connection.send(Frame(.credit, stream: stream, payload: payload))
    }

    private func stopPulling(_ stream: UInt32) {
        guard pulls.removeValue(forKey: stream) != nil else { return }
        connection.send(Frame(.cancel, stream: stream))
    }

    /// The peer ended a stream, or the connection.
    private func end(_ frame: Frame) throws(ProtocolFault) {
        let error =
            (try? ServiceError(wire: frame.payload))
            ?? ServiceError(.internalError, "the peer's error can't be read")
        if frame.stream == 0 {
            if error.reason == .nodeIDInUse { node.note(isTwin: true, by: endpoint) }
            return close(error.message)
        }
        if let transfer = transfers[frame.stream] { return transfer.stop(error.message) }
        if let reading = readings.removeValue(forKey: frame.stream) {
            return reading.fail(error)
        }
        if let scope = reports.removeValue(forKey: frame.stream) { reported[scope] = nil }
        guard let pull = pulls.removeValue(forKey: frame.stream) else { return }
        if node.directRuns.leave(peerID, pull.scope) { node.directRunsChanged(in: pull.scope) }
        if error.reason == .logTruncated { return takeState(of: pull.scope) }
        log("a pull ended", ["scope": "\(pull.scope.container)", "why": "\(error.message)"])
    }

    // MARK: What others send

    /// Runs that this peer need not send.
    private func elsewhere(_ scope: ScopeID) -> Set<Incarnation> {
        if let until = wholeUntil[scope], node.environment.now() < until { return [] }
        return node.directRuns.elsewhere(than: peerID, scope)
    }

    /// Pulls anew where others began or ceased to send their own commits, in a while: there may be
    /// more of it; from any thread.
    ///
    /// - Parameter scope: nil: in any scope.
    func directRunsChanged(in scope: ScopeID?) {
        onLoop { connection in
            let changed = connection.pulls.filter { _, pull in
                (scope == nil || pull.scope == scope)
                    && pull.elsewhere != connection.elsewhere(pull.scope)
            }
            for stream in changed.keys { connection.stopPulling(stream) }
            if !changed.isEmpty { connection.lookSoon() }
        }
    }

    private func lookSoon() {
        guard isOpen else { return }
        let soon = node.environment.now() + PeerConnection.soonMilliseconds
        lookTime = min(lookTime ?? soon, soon)
    }

    /// The peer has so much of what others send: it is to be here soon.
    private func note(_ vector: VersionVector, _ stream: UInt32) {
        guard let pull = pulls[stream] else { return }
        for dot in vector.dots where pull.elsewhere.contains(dot.incarnation) {
            pulls[stream]?.news.cover(dot)
        }
        mark(stream)
    }

    /// What the peer told last has to be here in time, if nothing else is being waited for.
    private func mark(_ stream: UInt32) {
        guard let pull = pulls[stream], pull.mark == nil, !pull.news.isEmpty else { return }
        let due = node.environment.now() + PeerConnection.markMilliseconds
        pulls[stream]?.mark = (pull.news, due)
        pulls[stream]?.news = VersionVector()
    }

    /// Looks whether what the peer had came from elsewhere.
    ///
    /// It may be here and wait for this node's own disk: that is looked at twice.
    private func checkMark(of stream: UInt32) {
        guard let pull = pulls[stream], let mark = pull.mark else { return }
        let now = node.environment.now()
        pulls[stream]?.mark?.due = now + PeerConnection.markMilliseconds
        onReader { [node] in
            let reader = node.gate.latest(reach: .disk)
            return try reader.scope(pull.scope).map { try reader.vector(of: $0) }
        } then: { connection, vector in
            guard let pull = connection.pulls[stream], let vector else { return }
            if vector.covers(mark.vector) {
                connection.pulls[stream]?.mark = nil
                connection.pulls[stream]?.misses = 0
                connection.mark(stream)
            } else if pull.misses > 0 {
                connection.takeAll(stream)
            } else {
                connection.pulls[stream]?.misses = 1
            }
        }
    }

    /// Asks the peer for what others should have sent, too.
    private func takeAll(_ stream: UInt32) {
        guard let scope = pulls[stream]?.scope else { return }
        log("another peer doesn't send its commits; asking this one for them", [:])
        wholeUntil[scope] = node.environment.now() + PeerConnection.wholeMilliseconds
        stopPulling(stream)
        lookSoon()
    }

    /// Keeps commits that depend on what others send until something has come.
    private func putBack(_ commits: [Bytes], _ size: Int, _ stream: UInt32, _ rings: UInt64) {
        guard let pull = pulls[stream] else { return }
        let patience = PeerConnection.markMilliseconds
        pulls[stream]?.heldUntil = pull.heldUntil ?? node.environment.now() + patience
        pulls[stream]?.commits.insert(contentsOf: commits, at: 0)
        pulls[stream]?.size += size
        node.gate.bell.wait(after: rings, of: nil) { [weak self] in
            self?.onLoop { $0.submit(stream) }
        }
    }

    // MARK: State

    /// Takes the peer's state of a scope, unless this node takes it from another one already.
    private func takeState(of scope: ScopeID) {
        guard node.beginTransfer(of: scope) else { return }
        onReader { [node] in
            let reader = node.gate.latest(reach: .disk)
            let number = try reader.scope(scope)
            return try number.map { try reader.vector(of: $0) } ?? VersionVector()
        } then: { connection, base in
            connection.takeState(of: scope, above: base)
        } otherwise: { [node] in
            node.endTransfer(of: scope)
        }
    }

    private func takeState(of scope: ScopeID, above base: VersionVector) {
        log("taking the peer's state", ["scope": "\(scope.container)"])
        let request = StateRequest(vector: base, format: OpenStore.formatVersion)
        let stream = call(.peersState, scope, request.encoded())
        credit(PeerConnection.stateCredit, stream)
        transfers[stream] = StateTransfer(node, scope: scope, base: base, loop: link.loop) {
            [weak self] size in
            self?.credit(size, stream)
            self?.link.needsTurn()
        } ended: { [weak self, node] outcome in
            node.endTransfer(of: scope)
            self?.transferEnded(outcome, stream)
        }
    }

    private func transferEnded(_ outcome: StateTransfer.Outcome, _ stream: UInt32) {
        guard transfers.removeValue(forKey: stream) != nil, !isClosing else { return }
        switch outcome {
        case .done:
            // A cluster's state may name containers that were not known here.
            findScopes()
        case .failed(let why):
            log("the peer's state could not be taken", ["why": "\(why)"])
            connection.send(Frame(.cancel, stream: stream))
        }
        link.needsTurn()
    }

    /// Asks for all that the peer holds of a scope, without taking it; from any thread.
    func readState(of scope: ScopeID) -> StateReading {
        let reading = StateReading()
        onLoop { connection in
            guard !connection.isClosing else { return reading.fail(connection.lost) }
            let request = StateRequest(vector: VersionVector(), format: OpenStore.formatVersion)
            let stream = connection.call(.peersState, scope, request.encoded())
            connection.credit(PeerConnection.stateCredit, stream)
            connection.readings[stream] = reading
            reading.begin { [weak connection] size in
                connection?.onLoop { $0.credit(size, stream) }
            } abandon: { [weak connection] in
                connection?.onLoop { $0.stopReading(stream) }
            }
        }
        return reading
    }

    private func stopReading(_ stream: UInt32) {
        guard readings.removeValue(forKey: stream) != nil else { return }
        connection.send(Frame(.cancel, stream: stream))
    }

    private var lost: ServiceError {
        ServiceError(.serviceUnavailable, "the connection to that node ended: \(reason)")
    }

    // MARK: Reports

    private func reportSoon() {
        reportTime = node.environment.now() + node.configuration.reportMilliseconds
    }

    /// Tells the peer what is durable here, since somebody waits for it there.
    ///
    /// It doesn't write that down: the next report of all scopes tells it again.
    private func report(_ vector: VersionVector, _ scope: ScopeID) {
        // What a node that is about to leave takes now it may not hand over, see `leave`.
        let vector = node.gate.hasStopped ? VersionVector() : vector
        let request = ReportRequest(
            vector: vector,
            isAnswer: true,
            time: node.toldClock
        )
        reports[call(.peersReport, scope, request.encoded())] = scope
    }

    /// Tells the peer how far this node has read, where it wasn't told lately.
    private func report() {
        checkMembership()
        let now = node.environment.now()
        let known = reported.filter { now < $0.value.time + PeerConnection.oldReportMilliseconds }
            .mapValues(\.vector)
        onReader { [node] in
            try node.state(unless: known)
        } then: { connection, found in
            if connection.node.gate.hasStopped { return }
            let clock = connection.node.toldClock
            for (scope, vector, digest) in found {
                let stream = connection.call(
                    .peersReport,
                    scope,
                    ReportRequest(vector: vector, digest: digest, time: clock).encoded()
                )
                connection.reports[stream] = scope
                connection.reported[scope] = (vector, now)
            }
        }
        beat()
        reportSoon()
    }

    /// Tells the peer that this node is there, and what its clock says.
    private func beat() {
        report(VersionVector(), .cluster)
    }

    /// Nothing is taken from a node that was taken off the list, and one that was ends.
    private func checkMembership() {
        onReader { [node, peerID] in
            let reader = node.gate.latest(reach: .disk)
            return (
                own: try Members.isRemoved(node.nodeID, in: reader),
                peer: try Members.isRemoved(peerID, in: reader)
            )
        } then: { connection, isRemoved in
            if isRemoved.own { connection.node.endRemoved() }
            if isRemoved.peer { connection.close("an operator took that node off the list") }
        }
    }

    // MARK: Parts

    /// Reads on a reader thread and comes back to the loop.
    private func onReader<Value: Sendable>(
        _ read: @escaping @Sendable () throws -> Value,
        then use: @escaping @Sendable (PeerConnection, Value) -> Void,
        otherwise: @escaping @Sendable () -> Void = {}
    ) {
        let isQueued = node.gate.read { [self] in
            let result = Result { try read() }
            link.loop.execute { [self] in
                guard !isClosing else { return otherwise() }
                switch result {
                case .success(let value): use(self, value)
                case .failure(let error):
                    otherwise()
                    close("this node could not read its store: \(error)")
                }
                link.needsTurn()
            }
        }
        if !isQueued {
            otherwise()
        }
    }

    private func close(_ why: String) {
        if !isClosing { reason = why }
        isClosing = true
    }

    private func log(_ message: Logger.Message, _ metadata: Logger.Metadata) {
        let peer: Logger.Metadata = ["peer": "\(endpoint)"]
        node.environment.logger.info(message, metadata: metadata.merging(peer) { $1 })
    }
}

extension PeerConnection: PeerLink {
    func challenge(_ answer: @escaping @Sendable (Bool) -> Void) {
        onLoop { connection in
            if connection.isClosed { return answer(false) }
            var dice = NodeDice(connection.node.environment)
            connection.challengers.append(answer)
            connection.connection.challenge(dice.bytes(8), now: connection.node.environment.now())
        }
    }

    private func answerChallengers(_ isAlive: Bool) {
        if challengers.isEmpty { return }
        let waiting = challengers
        challengers = []
        for answer in waiting { answer(isAlive) }
    }
}
