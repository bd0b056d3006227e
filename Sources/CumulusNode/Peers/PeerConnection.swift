// This node's side of a connection that it dialled to a peer. It proves its identity, pulls each
// scope and submits commits to the writer, takes state if the peer's log doesn't reach back, and
// reports how far it has read. Timeouts and the end are here; the other files of this type hold the
// rest.
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
    /// How a connection ended.
    struct Ending {
        enum Kind {
            /// It was open, and may be again.
            case over
            /// The node there could not be greeted, though it should be.
            case problem
            /// The node there is connected otherwise, or is this one.
            case duplicate
        }

        let kind: Kind
        let reason: String
    }

    // Confined to `link.loop`.

    let node: Node
    let link: any FrameLink
    let proof: PeerProof
    let endpoint: String
    /// Called once, when the connection is over.
    private let ended: @Sendable (Ending) -> Void
    var connection: FrameConnection
    let nonce: Bytes
    var serverNonce: Bytes?
    var isOpen = false
    var peerID: Bytes = []
    var peerRun = Incarnation(0)
    var isClosing = false
    var isClosed = false
    /// The node there is connected otherwise, or is this one.
    var isDuplicate = false
    var challengers = Challengers()
    var reason = "the peer closed the connection"
    var nextStream: UInt32 = 1
    /// Bytes of a pull that get credit together: a quarter of what the peer begins with.
    var creditStep = 0
    /// Streams are never used twice, so a connection ends long before there are none left.
    static let lastStream: UInt32 = 1 << 31
    var pulls: [UInt32: Pull] = [:]
    /// Bytes that came of all of them and that the writer isn't done with.
    var unwrittenBytes = 0
    /// The streams by scope, and the few streams that wait for a time: there may be thousands, and
    /// most are idle.
    var (pulled, timed) = ([ScopeID: UInt32](), Set<UInt32>())
    var transfers: [UInt32: StateTransfer] = [:]
    var setbacks: [ScopeID: Setback] = [:]
    /// Calls whose answers are read message by message.
    var readings: [UInt32: PeerReading] = [:]
    /// What this peer was last told, and when the next report is due.
    var reported: [ScopeID: (vector: VersionVector, time: Instant)] = [:]
    var reports: [UInt32: ScopeID] = [:]
    var reportTime: Instant?
    var ownClock = OwnClock()
    /// The refused origins that were already logged.
    var alarmed: PeerCommits.Paused = [:]
    /// The time of the next search for scopes that are not being pulled: new ones, and scopes whose
    /// pull ended.
    var lookTime: Instant?
    /// The time until which everything of a scope is asked for, though other nodes send a part of
    /// it.
    var wholeUntil: [ScopeID: Instant] = [:]

    init(
        _ node: Node,
        _ proof: PeerProof,
        link: any FrameLink,
        endpoint: String,
        now: Instant,
        ended: @escaping @Sendable (Ending) -> Void
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
    func stop(_ why: String = "this node is shutting down") {
        onLoop { $0.close(why) }
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
        let isMute = !node.holdsStore && !isClosing
        return Turn(
            output: isMute ? FrameOutput() : connection.takeOutput(),
            wake: isMute ? min(wake, now + 50) : wake,
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
            if let goal = pull.goal, goal.due <= now { checkGoal(of: stream) }
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
        if isOpen {
            node.catchUp.leave(peerID)
            node.newcomers.withLock { _ = $0.remove(peerID) }
        }
        for answer in challengers.take() { answer(false) }
        (pulls, pulled, timed) = ([:], [:], [])
        for stream in transfers.keys.sorted() { transfers[stream]?.breakOff(reason) }
        for stream in readings.keys.sorted() { readings[stream]?.fail(lost) }
        readings = [:]
        node.connections.withLock { connections in
            if connections[peerID]?.connection === self { connections[peerID] = nil }
        }
        if isOpen, node.directRuns.leave(peerID) { node.directRunsChanged(in: nil) }
        if serverNonce == nil, link.certificate.isEmpty { reason += PeerConnection.tlsHint }
        ended(Ending(kind: isOpen ? .over : isDuplicate ? .duplicate : .problem, reason: reason))
    }

    /// The hint for a connection without TLS that ended before the peer had greeted.
    private static let tlsHint =
        "; if that node has a certificate, this one needs --tls-authority or a certificate too"

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
