// This node's side of a connection to a peer that it dialled: proves itself, pulls each scope and
// hands what comes to the writer, takes state where the peer's log doesn't reach, and reports how
// far it has read. Greeting, time and end are here, the rest is in the files beside this one.
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

    let node: Node
    let link: any FrameLink
    private let proof: PeerProof
    let endpoint: String
    /// Called once, when the connection is over: why.
    private let ended: @Sendable (String) -> Void
    var connection: FrameConnection
    private let nonce: Bytes
    private var serverNonce: Bytes?
    var isOpen = false
    var peerID: Bytes = []
    var peerRun = Incarnation(0)
    var isClosing = false
    var isClosed = false
    var challengers = Challengers()
    var reason = "the peer closed the connection"
    var nextStream: UInt32 = 1
    /// Streams are never used twice, so a connection ends long before there are none left.
    static let lastStream: UInt32 = 1 << 31
    var pulls: [UInt32: Pull] = [:]
    /// Bytes that came of all of them and that the writer isn't done with.
    var unwrittenBytes = 0
    /// Their streams by scope, and those of the few that wait for a time: there may be thousands,
    /// and most of them rest.
    var (pulled, timed) = ([ScopeID: UInt32](), Set<UInt32>())
    var transfers: [UInt32: StateTransfer] = [:]
    var setbacks: [ScopeID: Setback] = [:]
    /// Calls whose answers are read message by message.
    var readings: [UInt32: PeerReading] = [:]
    /// What this peer was told last, and when the next report is due.
    var reported: [ScopeID: (vector: VersionVector, time: Instant)] = [:]
    var reports: [UInt32: ScopeID] = [:]
    var reportTime: Instant?
    var ownClock = OwnClock()
    /// What was said about origins that are refused.
    var alarmed: PeerCommits.Paused = [:]
    /// When scopes are looked for that are not being pulled: new ones, and those whose pull ended.
    var lookTime: Instant?
    /// Until when all is asked for of a scope, though others send some of it.
    var wholeUntil: [ScopeID: Instant] = [:]

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

    func onLoop(_ work: @escaping @Sendable (PeerConnection) -> Void) {
        link.loop.execute { [self] in
            work(self)
            link.needsTurn()
        }
    }

    /// Bytes of frames that the peer has not taken yet: what it sends makes reports and credit, so
    /// nothing more of it is read beyond a bound.
    var unsentBytes: Int { connection.pendingBytes + connection.output.count }

    // MARK: FrameHandler

    func received(_ bytes: UnsafeRawBufferPointer, now: Instant) {
        do throws(ProtocolFault) {
            try connection.received(bytes, now: now)
            while !isClosing, let frame = try connection.next() { try handle(frame) }
            connection.reserveIncoming()
            if connection.isChallenged { return }
            for answer in challengers.take() { answer(true) }
        } catch {
            close(error.message)
        }
    }

    func turnEnded(now: Instant) -> Turn {
        var wake = connection.wakeTime
        if let lookTime { wake = min(wake, lookTime) }
        if let reportTime { wake = min(wake, reportTime) }
        if isOpen { wake = min(wake, ownClock.lookTime) }
        for stream in timed { wake = min(wake, pulls[stream]?.wake ?? wake) }
        for end in wholeUntil.values { wake = min(wake, end) }
        let limit = node.configuration.limits.peerBytes
        let isReading = unwrittenBytes < limit && unsentBytes < limit
        connection.reading(isReading, now: now)
        return Turn(
            output: connection.takeOutput(),
            wake: wake,
            closes: isClosing,
            isReading: isReading
        )
    }

    func timePassed(now: Instant) {
        do throws(ProtocolFault) {
            try connection.timePassed(now: now)
        } catch {
            return close(error.message)
        }
        // They change while it goes on.
        let due = timed.sorted()
        for stream in due where pulls[stream]?.restart.map({ $0 <= now }) ?? false {
            stopPulling(stream)
        }
        for stream in due {
            guard let pull = pulls[stream] else { continue }
            if let mark = pull.mark, mark.due <= now { checkMark(of: stream) }
            if let heldUntil = pull.heldUntil, heldUntil <= now { takeAll(stream) }
        }
        let over = wholeUntil.filter { $0.value <= now }.keys
        for scope in over { wholeUntil[scope] = nil }
        if !over.isEmpty { directRunsChanged(in: over.count == 1 ? over.first : nil) }
        if nextStream > PeerConnection.lastStream {
            return close("its streams are used up; there will be another connection")
        }
        if let lookTime, lookTime <= now {
            for stream in transfers.keys.sorted() { transfers[stream]?.timePassed(now: now) }
            findScopes()
        }
        if let reportTime, reportTime <= now {
            self.reportTime = nil
            report()
        }
        if isOpen, ownClock.lookTime <= now { lookAtClock(now: now) }
    }

    func writing(_ pendingBytes: Int, now: Instant) {
        connection.writing(pendingBytes, now: now)
    }

    func closed() {
        isClosing = true
        isClosed = true
        node.peerRuns.leave(peerID, self)
        if isOpen { node.catchUp.leave(peerID) }
        for answer in challengers.take() { answer(false) }
        (pulls, pulled, timed) = ([:], [:], [])
        for stream in transfers.keys.sorted() { transfers[stream]?.breakOff(reason) }
        for stream in readings.keys.sorted() { readings[stream]?.fail(lost) }
        readings = [:]
        node.connections.withLock { connections in
            if connections[peerID]?.connection === self { connections[peerID] = nil }
        }
        if isOpen, node.directRuns.leave(peerID) { node.directRunsChanged(in: nil) }
        ended(reason)
    }

    // MARK: Greeting

    func handle(_ frame: Frame) throws(ProtocolFault) {
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

    func greet(_ serverNonce: Bytes) throws(ProtocolFault) {
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

    func open(_ payload: Bytes) throws(ProtocolFault) {
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
        guard isPeer else {
            node.warn(of: endpoint, .dialled, "what answers there is no peer", why: Node.otherKey)
            throw ProtocolFault("what answers there is no node of this cluster")
        }
        guard hello.nodeID != node.nodeID else {
            throw ProtocolFault("that address is this node's own")
        }
        guard !node.isLinked(to: hello.nodeID) else {
            throw ProtocolFault("there is another connection to that node")
        }
        peerID = hello.nodeID
        // It refuses this node, and says why next.
        guard hello.incarnation != 0 else { return }
        peerRun = Incarnation(hello.incarnation)
        node.peerRuns.enter(peerRun, of: peerID, at: endpoint, self) { [self] isAlone in
            onLoop { connection in
                if connection.isClosing {
                    return connection.node.peerRuns.leave(hello.nodeID, self)
                }
                isAlone ? connection.open(hello) : connection.refuseTwin()
            }
        }
    }

    /// Another process with that node's id is connected, and alive.
    func refuseTwin() {
        node.refusedTwin(peerRun, of: peerID, at: endpoint)
        close("another process is alive that has that node's id")
    }

    func open(_ hello: ServerHello) {
        guard !isOpen, !node.isLinked(to: peerID) else {
            return close("there is another connection to that node")
        }
        isOpen = true
        node.note(isTwin: false, by: endpoint)
        node.connections.withLock { $0[peerID] = WeakPeer(connection: self) }
        node.catchUp.meet(peerID)
        let now = node.environment.now()
        node.clocks.note(hello.clock, of: peerID, ours: node.environment.wallClock(), now: now)
        connection.finishGreeting(isPeer: true)
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

    // MARK: Parts

    /// Sends a call; returns its stream.
    func call(_ method: Method, _ scope: ScopeID, _ request: Bytes) -> UInt32 {
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

    func credit(_ size: Int, _ stream: UInt32) {
        var payload = Bytes()
        FrameEncoder.append(UInt32(clamping: size), to: &payload)
        connection.send(Frame(.credit, stream: stream, payload: payload))
    }

    /// Reads on a reader thread and comes back to the loop.
    func onReader<Value: Sendable>(
        _ read: @escaping @Sendable () throws -> Value,
        then use: @escaping @Sendable (PeerConnection, Value) -> Void,
        otherwise: @escaping @Sendable () -> Void = {}
    ) {
        let isQueued = node.gate.read(.prompt) { [self] in
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

    func close(_ why: String) {
        if !isClosing { reason = why }
        isClosing = true
    }

    func log(
        _ message: Logger.Message,
        _ metadata: Logger.Metadata,
        level: Logger.Level = .info
    ) {
        let peer: Logger.Metadata = ["peer": "\(endpoint)"]
        node.environment.logger.log(
            level: level,
            message,
            metadata: metadata.merging(peer) { $1 }
        )
    }
}
