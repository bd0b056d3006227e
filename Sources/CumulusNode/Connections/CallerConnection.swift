// One caller's connection, from its first byte to its last: frames, phases, room, closing.
//
// A transport drives it as a `FrameHandler` on one event loop. It knows no method: a call's frames
// go to `OpenCalls`. hot: several steps per call.
//
// Folder: the life of a caller's connection. Read `CallerConnection`, `CallerConnection+Greeting`,
// which decides who calls, then `OpenCall`, `OpenCalls` and `OpenCalls+Opening`, where each call
// begins. `ConnectionRoom` counts what is in memory.

import CumulusModel
import CumulusReplication
import CumulusWire
import Logging

final class CallerConnection: FrameHandler, @unchecked Sendable {
    // Confined to `link.loop`: closures that leave it come back through `onLoop`.

    let node: Node
    let link: any FrameLink
    let frames: ConnectionFrames
    let calls: OpenCalls
    private let room: ConnectionRoom
    private var phase = Phase.greeting
    /// The incoming frame that may be kept whole, by the number of those before it.
    private var admittedFrame: Int?
    private var isClosed = false
    /// What proofs of this connection are made over; empty for a caller in this process, which
    /// makes none.
    let nonce: Bytes
    private var challengers = Challengers()
    /// Tells a caller in this process that it is in, and as whom; others get HELLO.
    var letIn: ((Identity) -> Void)?

    private enum Phase {
        /// HELLO has not come yet.
        case greeting
        /// HELLO is being judged; frames behind it wait.
        case judging
        case open
        /// What was said is sent, then the connection ends.
        case closing
    }

    init(node: Node, link: any FrameLink, now: Instant) {
        self.node = node
        self.link = link
        let isLocal = link is LocalConnection
        room = ConnectionRoom(node.meter, node.configuration.limits, isLocal: isLocal)
        frames = ConnectionFrames(FrameConnection(limits: node.configuration.limits, now: now))
        calls = OpenCalls(node: node, link: link, frames: frames, room: room)
        var dice = NodeDice(node.environment)
        nonce = isLocal ? [] : dice.bytes(PeerProof.nonceBytes)
        if !isLocal { frames.send(Frame(.nonce, payload: nonce)) }
    }

    var limits: Limits { node.configuration.limits }

    // MARK: FrameHandler

    func received(_ bytes: UnsafeRawBufferPointer, now: Instant) {
        do throws(ProtocolFault) {
            try frames.connection.received(bytes, now: now)
        } catch {
            return fault(error)
        }
        takeFrames(now: now)
    }

    /// Handles the frames that have arrived, as far as it is their turn.
    func takeFrames(now: Instant) {
        do throws(ProtocolFault) {
            while isTakingFrames(now: now), let frame = try frames.connection.next() {
                try handle(frame, now: now)
                room.hold(keptBytes)
            }
        } catch {
            fault(error)
        }
        if frames.connection.isChallenged { return }
        for answer in challengers.take() { answer(true) }
    }

    func turnEnded(now: Instant) -> Turn {
        // Frames may be left for which there was no room in the last turn.
        takeFrames(now: now)
        calls.readForPeer()
        let isTaking = isTakingFrames(now: now)
        let isAway = calls.identity.isPeer && !node.holdsStore
        let isMute = (frames.connection.isSilent || isAway) && !isClosing
        let output = isMute ? FrameOutput() : frames.connection.takeOutput()
        let hasRoom = takeRoom(keptBytes + output.count)
        let isReading = isTaking && hasRoom
        frames.connection.reading(isReading, now: now)
        var wake = min(frames.connection.wakeTime, calls.wakeTime)
        wake = min(wake, judgePatience(now: now))
        // A paused connection looks again soon: others may have let go of what they held.
        if !isReading || isAway { wake = min(wake, now + 50) }
        return Turn(output: output, wake: wake, closes: isClosing, isReading: isReading)
    }

    /// A caller that takes nothing is closed sooner while others need the room.
    ///
    /// Returns when to look again.
    private func judgePatience(now: Instant) -> Instant {
        guard !calls.identity.isPeer, frames.unsentBytes > 0 else { return .distant }
        let patience = limits.stalledWriteMilliseconds
        frames.connection.stalledWriteMilliseconds =
            room.isCrowded ? min(limits.crowdedWriteMilliseconds, patience) : patience
        return now + limits.crowdedWriteMilliseconds / 5
    }

    func timePassed(now: Instant) {
        do throws(ProtocolFault) {
            try frames.connection.timePassed(now: now)
        } catch {
            return fault(error)
        }
        calls.timePassed(now: now)
    }

    func writing(_ pendingBytes: Int, now: Instant) {
        frames.connection.writing(pendingBytes, now: now)
        guard calls.identity.isPeer else { return }
        room.hold(keptBytes)
        calls.readForPeer()
    }

    func closed() {
        isClosed = true
        calls.close()
        room.hold(0)
        if let peer = calls.identity.peer { node.peerRuns.leave(peer, self) }
        for answer in challengers.take() { answer(false) }
        letIn = nil
        node.forget(self)
    }

    /// Runs work on the connection's loop, unless the connection has ended; from any thread.
    func onLoop(_ work: @escaping @Sendable (CallerConnection) -> Void) {
        link.loop.execute { self.run(work) }
    }

    /// Runs work that arrived on the loop outside a read.
    private func run(_ work: (CallerConnection) -> Void) {
        guard !isClosed else { return }
        work(self)
        link.needsTurn()
    }

    // MARK: Room

    /// Bytes of calls in progress, and of frames that the other side has not taken yet.
    private var keptBytes: Int { calls.keptBytes + frames.unsentBytes }

    /// Tells the node what this connection holds, and returns whether there is room for more.
    ///
    /// A frame takes room for all its bytes once its length is known, and waits outside until it
    /// has it: half frames never hold up each other.
    private func takeRoom(_ kept: Int) -> Bool {
        let incoming = frames.connection.incomingBytes
        guard incoming > 0 else {
            room.hold(kept)
            // Answers that wait need a frame that brings credit.
            return calls.waitingBytes > 0 || room.allows(kept)
        }
        let number = frames.connection.endedFrames
        if admittedFrame != number, room.allows(kept + incoming) {
            admittedFrame = number
            frames.connection.reserveIncoming()
        }
        let isAdmitted = admittedFrame == number
        room.hold(isAdmitted ? kept + incoming : kept)
        return isAdmitted
    }

    /// Whether the next frame is handled now: nobody is being judged, the connection does not hold
    /// too much, and its caller comes when it was told to.
    ///
    /// Answers that wait for credit don't count: a frame has to bring it.
    private func isTakingFrames(now: Instant) -> Bool {
        if calls.restraint.isPausing(now: now) { return false }
        return switch phase {
        case .greeting, .open:
            keptBytes + room.queuedBytes - calls.waitingBytes <= limits.unansweredBytes
                && (calls.waitingBytes > 0 || room.allows(keptBytes))
        case .judging, .closing: false
        }
    }

    // MARK: Frames

    private func handle(_ frame: Frame, now: Instant) throws(ProtocolFault) {
        switch phase {
        case .greeting:
            guard frame.kind == .hello, frame.stream == 0 else {
                throw ProtocolFault("the first frame must be HELLO")
            }
            beginJudging()
            judge(frame.payload)
        case .open: try handleOpen(frame, now: now)
        case .judging, .closing: break
        }
    }

    private func handleOpen(_ frame: Frame, now: Instant) throws(ProtocolFault) {
        switch frame.kind {
        case .call: try calls.open(frame, now: now)
        case .cancel: try calls.cancel(frame.stream)
        case .credit: try calls.grant(frame)
        case .message: try calls.receive(frame)
        case .status: try calls.abandon(frame.stream)
        case .hello: throw ProtocolFault("a second greeting")
        case .nonce, .ping, .pong, .drain, .causal:
            throw ProtocolFault("a frame that callers don't send: \(frame.kind)")
        }
    }

    // MARK: Values

    /// Whether a call of a caller in this process may begin now, as one in a frame might.
    func takesCall(now: Instant) -> Bool {
        if case .open = phase { isTakingFrames(now: now) } else { false }
    }

    /// A caller in this process begins a call, under a number that no stream of frames has.
    func open(_ value: ValueCall, _ header: CallHeader, on stream: UInt32, now: Instant) {
        calls.open(value, header, on: stream, now: now)
        room.hold(keptBytes)
    }

    /// A caller in this process wants no answer any more.
    func cancel(value stream: UInt32) {
        calls.fail(stream, .cancelledByCaller)
        link.needsTurn()
    }

    // MARK: Opening and closing

    /// Whether HELLO is still being judged, and somebody is there to be told.
    var isBeingJudged: Bool {
        if case .judging = phase { !isClosed } else { false }
    }

    /// Somebody looks up who calls; frames wait.
    func beginJudging() { phase = .judging }

    /// Accepts the caller: its calls are taken from now on.
    func greet(_ identity: Identity, role: UInt32, proof: Bytes = []) {
        guard case .judging = phase else { return }
        calls.identity = identity
        calls.budget = node.budgets.enter(
            identity,
            from: link.remoteAddress,
            now: node.environment.now()
        )
        if let peer = identity.peer { node.replicas.forget(peer) }
        phase = .open
        frames.connection.finishGreeting(isPeer: identity.isPeer)
        if let letIn { letIn(identity) } else { sendHello(role: role, proof: proof) }
        letIn = nil
        if node.isDraining { drain() }
    }

    private var isClosing: Bool {
        if case .closing = phase { true } else { false }
    }

    /// Refuses the caller, and ends the connection.
    func close(_ error: ServiceError) {
        audit(error)
        frames.refuse(0, error)
        phase = .closing
    }

    private func fault(_ fault: ProtocolFault) {
        guard !isClosing else { return }
        node.environment.logger.debug(
            "a connection is closed",
            metadata: ["reason": "\(fault.message)"]
        )
        if frames.connection.looksLikeHTTP {
            frames.connection.output = FrameOutput(Bytes(CallerConnection.httpAnswer.utf8))
            phase = .closing
        } else {
            close(ServiceError(.invalidArguments, .protocolError, fault.message))
        }
    }

    private static let httpAnswer = """
        HTTP/1.1 400 Bad Request\r
        Content-Type: text/plain\r
        Connection: close\r
        \r
        This port speaks the Cumulus binary protocol, not HTTP; use the cumulus client.\r\n
        """

    /// Tells the caller that this node is shutting down.
    func drain() {
        guard case .open = phase, !isClosed else { return }
        let notice = DrainNotice(message: "this node is shutting down")
        frames.send(Frame(.drain, payload: notice.encoded()))
        calls.drain()
        link.needsTurn()
    }
}

extension CallerConnection {
    /// Ends the connection of a peer, which comes again and is told that this node is ready.
    func meetAgain() {
        guard case .open = phase, !isClosed, calls.identity.isPeer else { return }
        close(Node.isReadyNow)
        link.needsTurn()
    }
}

extension CallerConnection: PeerLink {
    func challenge(_ answer: @escaping @Sendable (Bool) -> Void) {
        link.loop.execute { [self] in
            if isClosed { return answer(false) }
            run { connection in
                connection.challengers.add(answer)
                connection.frames.connection.challenge(
                    connection.challengeNumber(),
                    now: node.environment.now()
                )
            }
        }
    }

    private func challengeNumber() -> Bytes {
        var dice = NodeDice(node.environment)
        return dice.bytes(8)
    }
}
