// One caller's connection, from its first byte to its last: greeting, calls, credit, deadlines,
// draining.
//
// A transport drives it as a `FrameHandler` on one event loop; the store's threads come back to it
// through that loop. What a call means is in `ClientSession+Calls`. hot: several steps per call.
//
// Folder: the life of a caller's connection. Read `ClientSession`, then `ClientSession+Greeting`,
// which decides who calls, `CallState`, and `ClientSession+Calls`, where each call begins.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusWire
import Logging

final class ClientSession: FrameHandler, @unchecked Sendable {
    // Confined to `link.loop`: closures that leave it come back through `link.loop.execute`.

    let node: Node
    let link: any FrameLink
    private var connection: FrameConnection
    private var phase = Phase.greeting
    private var highestStream: UInt32 = 0
    private var requestBytes = 0
    /// Bytes of answers that wait for credit, or are held back.
    var waitingBytes = 0
    let room: ConnectionRoom
    /// The incoming frame that may be kept whole, by the number of those before it.
    private var admittedFrame: Int?
    private var isClosed = false
    var calls: [UInt32: CallState] = [:]
    /// Of all calls that wait for what their callers have seen.
    var bellWait: BellWait?
    /// The version of the causal token that the caller was told last.
    var toldVersion: UInt64 = 0
    /// What proofs of this connection are made over.
    let nonce: Bytes
    var identity = Identity()
    /// Pages that reader threads read for a peer, and streams whose next one waits for room.
    var pagesBeingRead = 0
    private var streamsWithoutRoom: [UInt32] = []
    private var challengers = Challengers()

    private enum Phase {
        /// HELLO has not come yet.
        case greeting
        /// HELLO is being judged; what follows it waits unread.
        case judging
        case open
        /// What was said is sent, then the connection ends.
        case closing
    }

    /// Who is calling, and where.
    struct Identity {
        var caller = Caller(role: .anonymous)
        /// Clients have one for the connection; operators name one per call.
        var scope: ScopeID?
        var scopeNumber: ScopeNumber?
        /// It is told how far answers reach.
        var wantsTokens = false
        /// The id of the node that calls; nil: the caller is no node of this cluster.
        var peer: Bytes?
        var isPeer: Bool { peer != nil }
    }

    init(node: Node, link: any FrameLink, now: Instant) {
        self.node = node
        self.link = link
        room = ConnectionRoom(node.meter, node.configuration.limits)
        connection = FrameConnection(limits: node.configuration.limits, now: now)
        var dice = NodeDice(node.environment)
        nonce = dice.bytes(PeerProof.nonceBytes)
        connection.send(Frame(.nonce, payload: nonce))
    }

    var limits: Limits { node.configuration.limits }

    // MARK: FrameHandler

    func received(_ bytes: UnsafeRawBufferPointer, now: Instant) {
        do throws(ProtocolFault) {
            try connection.received(bytes, now: now)
        } catch {
            return fault(error)
        }
        takeFrames(now: now)
    }

    /// Handles the frames that have arrived, as far as it is their turn.
    func takeFrames(now: Instant) {
        do throws(ProtocolFault) {
            while isTakingFrames, let frame = try connection.next() {
                try handle(frame, now: now)
                room.hold(keptBytes)
            }
        } catch {
            fault(error)
        }
        if connection.isChallenged { return }
        for answer in challengers.take() { answer(true) }
    }

    func turnEnded(now: Instant) -> Turn {
        // Frames may be left for which there was no room in the last turn.
        takeFrames(now: now)
        readForPeer()
        let isTaking = isTakingFrames
        let isMute = connection.isSilent && !isClosing
        let output = isMute ? FrameOutput() : connection.takeOutput()
        let hasRoom = takeRoom(keptBytes + output.count)
        let isReading = isTaking && hasRoom
        connection.reading(isReading, now: now)
        var wake = connection.wakeTime
        for call in calls.values {
            if let deadline = call.deadline { wake = min(wake, deadline) }
            if let retry = call.retry { wake = min(wake, retry) }
        }
        // A paused connection looks again soon: others may have let go of what they held.
        if !isReading { wake = min(wake, now + 50) }
        return Turn(output: output, wake: wake, closes: isClosing, isReading: isReading)
    }

    /// Tells the node what this connection holds; whether there is room for more.
    ///
    /// A frame takes room for all its bytes once its length is known, and waits outside until it
    /// has it: half frames never hold up each other.
    private func takeRoom(_ kept: Int) -> Bool {
        let incoming = connection.incomingBytes
        guard incoming > 0 else {
            room.hold(kept)
            // Answers that wait need a frame that brings credit.
            return waitingBytes > 0 || room.allows(kept)
        }
        if admittedFrame != connection.endedFrames, room.allows(kept + incoming) {
            admittedFrame = connection.endedFrames
            connection.reserveIncoming()
        }
        let isAdmitted = admittedFrame == connection.endedFrames
        room.hold(isAdmitted ? kept + incoming : kept)
        return isAdmitted
    }

    /// Bytes of calls in progress, and of what was said and not taken yet.
    private var keptBytes: Int {
        requestBytes + waitingBytes + connection.pendingBytes + connection.output.count
    }

    /// A page is on its way from a reader thread, which is not bound to wait for this loop.
    func send(_ page: Page, on stream: UInt32) {
        let byteCount = page.message.count
        room.addArriving(byteCount)
        link.loop.execute { [self] in
            room.addArriving(-byteCount)
            pageCame { $0.finish(stream, page) }
        }
    }

    func timePassed(now: Instant) {
        do throws(ProtocolFault) {
            try connection.timePassed(now: now)
        } catch {
            return fault(error)
        }
        // In an order that is the same each time.
        for (stream, call) in calls.filter({ $1.deadline.map { $0 <= now } ?? false }).inOrder {
            if let behind = call.behind {
                failBehind(stream, behind)
                continue
            }
            if let held = call.held {
                failHeld(stream, held)
                continue
            }
            if call.waitsForRoom {
                fail(stream, ClientSession.untaken)
            } else {
                fail(stream, call.retry == nil ? ClientSession.unread : full)
            }
        }
        for (stream, _) in calls.filter({ $1.retry.map { $0 <= now } ?? false }).inOrder {
            readOn(stream)
        }
    }

    private static let unread = ServiceError(
        .serviceUnavailable,
        .deadline,
        "the call's time was up before the caller gave credit for the rest"
    )

    private static let untaken = ServiceError(
        .serviceUnavailable,
        .deadline,
        "the call's time was up before the caller had taken what else it asked for"
    )

    func writing(_ pendingBytes: Int, now: Instant) {
        connection.writing(pendingBytes, now: now)
        guard identity.isPeer else { return }
        room.hold(keptBytes)
        readForPeer()
    }

    func closed() {
        isClosed = true
        for call in calls.values { call.token.cancel() }
        node.meter.callsInProgress.add(-calls.count)
        room.hold(0)
        calls = [:]
        bellWait = nil
        if let peer = identity.peer { node.peerRuns.leave(peer, self) }
        for answer in challengers.take() { answer(false) }
        node.forget(self)
    }

    // MARK: Room for a peer's pages

    /// Pages that are read for one peer at a time: nobody knows before how large they are.
    private static let pagesAtOnce = 4

    /// Whether a page may be read for a peer: it has taken enough of what was read for it before.
    private var peerHasRoom: Bool {
        let unsent = waitingBytes + connection.pendingBytes + connection.output.count
        return pagesBeingRead < ClientSession.pagesAtOnce && unsent < limits.peerBytes
    }

    /// Reads a page for a peer when its stream's turn comes: first come, first served, as room
    /// allows.
    func readInTurn(_ stream: UInt32, _ read: @escaping NextPage) {
        guard let call = calls[stream] else { return }
        call.next = read
        call.waitsForRoom = true
        streamsWithoutRoom.append(stream)
        readForPeer()
    }

    private func readForPeer() {
        while !streamsWithoutRoom.isEmpty, peerHasRoom {
            let stream = streamsWithoutRoom.removeFirst()
            guard let call = calls[stream], let read = call.next else { continue }
            call.next = nil
            call.waitsForRoom = false
            pagesBeingRead += 1
            readNow(call, stream, read)
        }
    }

    // MARK: Frames

    private var isClosing: Bool {
        if case .closing = phase { true } else { false }
    }

    /// Whether it is the next frame's turn: nobody is being judged, and what is held is not too
    /// much.
    ///
    /// Answers that wait for credit don't count: a frame has to bring it.
    private var isTakingFrames: Bool {
        switch phase {
        case .greeting, .open:
            keptBytes + room.queuedBytes - waitingBytes <= limits.unansweredBytes
                && (waitingBytes > 0 || room.allows(keptBytes))
        case .judging, .closing: false
        }
    }

    private func handle(_ frame: Frame, now: Instant) throws(ProtocolFault) {
        switch phase {
        case .greeting:
            guard frame.kind == .hello, frame.stream == 0 else {
                throw ProtocolFault("the first frame must be HELLO")
            }
            phase = .judging
            judge(frame.payload)
        case .open: try handleOpen(frame, now: now)
        case .judging, .closing: break
        }
    }

    private func handleOpen(_ frame: Frame, now: Instant) throws(ProtocolFault) {
        switch frame.kind {
        case .call: try open(frame, now: now)
        case .cancel:
            guard try isOpen(frame.stream) else { return }
            fail(frame.stream, ServiceError(.operationCancelled, "the caller cancelled the call"))
        case .credit: try grant(frame)
        case .message:
            guard try isOpen(frame.stream) else { return }
            try receive(frame, now: now)
        case .status:
            guard try isOpen(frame.stream) else { return }
            calls[frame.stream]?.token.cancel()
            end(frame.stream)
        case .hello: throw ProtocolFault("a second greeting")
        case .nonce, .ping, .pong, .drain, .causal:
            throw ProtocolFault("a frame that callers don't send: \(frame.kind)")
        }
    }

    /// Whether a stream's call is in progress.
    ///
    /// One that is over is not an error, one that never was is.
    private func isOpen(_ stream: UInt32) throws(ProtocolFault) -> Bool {
        guard stream != 0, stream <= highestStream, stream % 2 == 1 else {
            throw ProtocolFault("a frame on stream \(stream), which was never opened")
        }
        return calls[stream] != nil
    }

    private func open(_ frame: Frame, now: Instant) throws(ProtocolFault) {
        guard frame.stream % 2 == 1 else {
            throw ProtocolFault(
                "a CALL on stream \(frame.stream): a dialler's calls have odd numbers"
            )
        }
        guard frame.stream > highestStream else {
            throw ProtocolFault("stream \(frame.stream) is reused")
        }
        highestStream = frame.stream
        if let refusal = refusal(of: frame) { return refuse(frame.stream, refusal) }
        let split: (header: CallHeader, message: Bytes)
        do {
            split = try CallHeader.split(frame.payload)
        } catch {
            return refuse(
                frame.stream,
                ServiceError(.invalidArguments, .protocolError, error.message)
            )
        }
        guard frame.isEnd || split.header.method == Method.assetsUpload.rawValue else {
            return refuse(
                frame.stream,
                ServiceError(
                    .invalidArguments,
                    .protocolError,
                    "this call takes exactly one message: set the end bit of its CALL frame"
                )
            )
        }
        let time =
            split.header.timeout == 0
            ? limits.callMilliseconds
            : min(Int64(split.header.timeout), limits.longestCallMilliseconds)
        requestBytes += frame.payload.count
        calls[frame.stream] = CallState(
            token: CallToken(deadline: now + time),
            of: split.header,
            requestBytes: frame.payload.count,
            credit: limits.initialCredit
        )
        node.meter.calls.add(1)
        node.meter.callsInProgress.add(1)
        dispatch(
            Call(
                stream: frame.stream,
                header: split.header,
                message: split.message,
                isEnd: frame.isEnd
            )
        )
    }

    /// Why a call can't even begin now; nil if it can.
    private func refusal(of frame: Frame) -> ServiceError? {
        if node.isDraining { return ClientSession.draining }
        // A peer has a stream per scope.
        if calls.count >= limits.streamsPerConnection, !identity.isPeer {
            return overloaded("more than \(limits.streamsPerConnection) calls on one connection")
        }
        let unanswered = requestBytes + room.queuedBytes + waitingBytes + frame.payload.count
        if unanswered > limits.unansweredBytes {
            return overloaded(
                "more than \(limits.unansweredBytes) unanswered bytes on one connection"
            )
        }
        if waitingBytes > 0, !room.allows(room.heldBytes + frame.payload.count) { return full }
        return nil
    }

    /// All connections together hold too much.
    private var full: ServiceError {
        overloaded("more than \(limits.nodeUnansweredBytes) unanswered bytes on this node")
    }

    func overloaded(_ what: String) -> ServiceError {
        var error = ServiceError(.requestRateLimited, .overloaded, "\(what); try again in a moment")
        error.retryAfterMilliseconds = 100
        return error
    }

    private static let draining: ServiceError = {
        var error = ServiceError(
            .serviceUnavailable,
            .draining,
            "this node is shutting down; connect to another one, or here again later"
        )
        error.retryAfterMilliseconds = 1_000
        return error
    }()

    // MARK: Credit

    private func grant(_ frame: Frame) throws(ProtocolFault) {
        guard frame.payload.count == 4 else { throw ProtocolFault("a CREDIT has 4 bytes") }
        guard try isOpen(frame.stream), let call = calls[frame.stream] else { return }
        let sum = call.credit + frame.payload.reduce(0) { $0 << 8 | Int($1) }
        guard sum <= Int(Int32.max) else {
            throw ProtocolFault("the credit of stream \(frame.stream) exceeds 2^31 - 1")
        }
        call.credit = sum
        call.stallDeadline = nil
        sendWaiting(frame.stream)
    }

    /// Sends what the caller has room for, and reads the next page when it has room for more.
    private func sendWaiting(_ stream: UInt32) {
        guard let call = calls[stream] else { return }
        var sent = 0
        while sent < call.waiting.count, call.credit > 0 {
            let message = call.waiting[sent]
            sent += 1
            call.credit -= message.count
            waitingBytes -= message.count
            let isEnd = call.isComplete && sent == call.waiting.count
            connection.send(message, isEnd: isEnd, stream: stream)
        }
        call.waiting.removeFirst(sent)
        if let patience = call.patience, call.isWaiting, call.credit <= 0 {
            call.stallDeadline = call.stallDeadline ?? node.environment.now() + patience
        }
        if call.isComplete && call.waiting.isEmpty {
            end(stream)
        } else if call.waiting.isEmpty, call.credit > 0 {
            readOn(stream)
        }
    }

    // MARK: Answers

    /// The whole answer of a call.
    ///
    /// - Parameter staysWithoutUs: What it tells is known to be on other nodes.
    func finish(_ stream: UInt32, _ messages: [Bytes], staysWithoutUs: Bool = false) {
        guard let call = calls[stream] else { return }
        if let large = messages.first(where: { !fits($0.count) }) {
            return fail(stream, ClientSession.tooLarge(large.count))
        }
        tellCausalToken()
        if showsNothing, !staysWithoutUs { return fail(stream, Node.isLeaving) }
        for message in messages { waitingBytes += message.count }
        call.waiting += messages.map { MessagePieces($0) }
        call.isComplete = true
        sendWaiting(stream)
    }

    /// The next part of an answer, or its last one.
    func finish(_ stream: UInt32, _ page: Page) {
        guard let call = calls[stream] else { return }
        guard fits(page.message.count) else {
            return fail(stream, ClientSession.tooLarge(page.message.count))
        }
        call.pause = nil
        tellCausalToken()
        if showsNothing { return fail(stream, Node.isLeaving) }
        if !page.isSilent {
            waitingBytes += page.message.count
            call.waiting.append(page.message)
        }
        call.isComplete = page.next == nil
        if let idle = page.idle {
            call.idle = page.next
            let wait = BellWait(node.gate.bell)
            call.wait = wait
            wait.begin(after: idle.rings, of: idle.scope) { [weak self] in
                self?.resume { $0.wakeUp(stream) }
            }
        } else {
            call.next = page.next
        }
        sendWaiting(stream)
    }

    /// Whether a message of so many bytes goes into a frame; the other side ends the connection for
    /// one that doesn't.
    private func fits(_ byteCount: Int) -> Bool { byteCount <= limits.frameBytes - 64 }

    private static func tooLarge(_ byteCount: Int) -> ServiceError {
        ServiceError(
            .limitExceeded,
            .tooLarge,
            "the answer has \(byteCount) bytes, which don't fit into a frame; ask for less at once"
        )
    }

    /// Something was committed: an idle stream may go on.
    private func wakeUp(_ stream: UInt32) {
        guard let call = calls[stream], let idle = call.idle else { return }
        call.idle = nil
        call.next = idle
        sendWaiting(stream)
    }

    /// The call has no deadline; its request is not kept.
    ///
    /// - Parameter patience: How long its answer may wait for credit, in milliseconds.
    func makeEndless(_ stream: UInt32, patience: Int64? = nil) {
        guard let call = calls[stream] else { return }
        requestBytes -= call.requestBytes
        call.requestBytes = 0
        call.isEndless = true
        call.patience = patience
    }

    func fail(_ stream: UInt32, _ error: ServiceError) {
        guard let call = calls[stream] else { return }
        call.token.cancel()
        node.environment.logger.debug(
            "a call is refused",
            metadata: [
                "method": "\(call.method.map { "\($0)" } ?? "unknown")",
                "request": "\(call.requestID.hex)", "code": "\(error.code)",
                "reason": "\(error.reason)",
            ]
        )
        // It may say what was done, or what is there.
        tellCausalToken()
        refuse(stream, error)
        end(stream)
    }

    /// More of what a stream sends is taken.
    func sendCredit(_ byteCount: Int, on stream: UInt32) {
        var payload: Bytes = []
        FrameEncoder.append(UInt32(clamping: byteCount), to: &payload)
        connection.send(Frame(.credit, stream: stream, payload: payload))
    }

    /// What a call brought waits for a thread of the store from now on.
    func queue(_ call: CallState) -> QueuedBytes {
        defer {
            requestBytes -= call.requestBytes
            call.requestBytes = 0
        }
        return QueuedBytes(call.requestBytes, in: room)
    }

    func sendCausal(_ token: Bytes) {
        connection.send(Frame(.causal, payload: token))
    }

    private func refuse(_ stream: UInt32, _ error: ServiceError) {
        connection.send(Frame(.status, isEnd: true, stream: stream, payload: error.encoded()))
    }

    private func end(_ stream: UInt32) {
        guard let call = calls.removeValue(forKey: stream) else { return }
        if call.waitsForRoom { streamsWithoutRoom.removeAll { $0 == stream } }
        requestBytes -= call.requestBytes
        waitingBytes -= call.waitingBytes
        node.meter.callsInProgress.add(-1)
    }

    /// Comes back to the loop from one of the store's threads.
    func resume(_ work: @escaping @Sendable (ClientSession) -> Void) {
        link.loop.execute { self.run(work) }
    }

    /// The same, with what became of a page that was being read; on the loop.
    func pageCame(_ work: (ClientSession) -> Void) {
        if identity.isPeer { pagesBeingRead -= 1 }
        run(work)
    }

    /// Runs work that arrived on the loop outside a read.
    func run(_ work: (ClientSession) -> Void) {
        guard !isClosed else { return }
        work(self)
        link.needsTurn()
    }

    // MARK: Greeting and end

    /// Accepts a peer that proved itself, if no other process with its id is alive.
    func admit(_ peer: Identity, _ hello: Hello) {
        guard let nodeID = peer.peer else { return }
        let incarnation = Incarnation(hello.incarnation)
        node.peerRuns.enter(incarnation, of: nodeID, at: hello.endpoint, self) { [self] isAlone in
            link.loop.execute { [self] in
                // It may have been given up meanwhile: nobody would take it out again.
                guard case .judging = phase, !isClosed else {
                    return node.peerRuns.leave(nodeID, self)
                }
                run { session in
                    if isAlone {
                        node.enter(nodeID, hello.endpoint)
                        session.greet(peer, role: hello.role, proof: proof(for: hello))
                    } else {
                        node.refusedTwin(incarnation, of: nodeID, at: hello.endpoint)
                        session.sendHello(role: hello.role, proof: proof(for: hello), refuses: true)
                        session.close(Node.idInUse)
                    }
                    session.takeFrames(now: node.environment.now())
                }
            }
        }
    }

    /// The caller is accepted: its calls are taken from now on.
    func greet(_ identity: Identity, role: UInt32, proof: Bytes = []) {
        guard case .judging = phase else { return }
        self.identity = identity
        if let peer = identity.peer { node.replicas.forget(peer) }
        phase = .open
        connection.finishGreeting(isPeer: identity.isPeer)
        sendHello(role: role, proof: proof)
        if node.isDraining { drain() }
    }

    /// - Parameter refuses: A node is refused, and why comes next; with the proof it is believed.
    private func sendHello(role: UInt32, proof: Bytes, refuses: Bool = false) {
        var hello = hello(role: role)
        hello.proof = proof
        if refuses { hello.incarnation = 0 }
        connection.send(Frame(.hello, payload: hello.encoded()))
    }

    private func hello(role: UInt32) -> ServerHello {
        var hello = ServerHello()
        hello.software = "cumulusd"
        hello.softwareVersion = node.configuration.version
        hello.nodeID = node.nodeID
        hello.incarnation = node.incarnation.value
        hello.clusterID = node.clusterID
        hello.limits = limits
        // Peers judge clocks; callers need the time that their requests are held to.
        hello.clock = identity.peer == nil ? node.clock : node.toldClock
        hello.callerRole = role
        hello.callerUser = identity.caller.user
        return hello
    }

    /// The caller is refused, or said something that can't be understood.
    func close(_ error: ServiceError) {
        refuse(0, error)
        phase = .closing
    }

    private func fault(_ fault: ProtocolFault) {
        guard !isClosing else { return }
        node.environment.logger.debug(
            "a connection is closed",
            metadata: ["reason": "\(fault.message)"]
        )
        if connection.looksLikeHTTP {
            connection.output = FrameOutput(Bytes(ClientSession.httpAnswer.utf8))
        } else {
            refuse(0, ServiceError(.invalidArguments, .protocolError, fault.message))
        }
        phase = .closing
    }

    private static let httpAnswer = """
        HTTP/1.1 400 Bad Request\r
        Content-Type: text/plain\r
        Connection: close\r
        \r
        This port speaks the Cumulus binary protocol, not HTTP; use the cumulus client.\r\n
        """

    /// Tells the caller that this node is going.
    func drain() {
        guard case .open = phase, !isClosed else { return }
        let notice = DrainNotice(message: "this node is shutting down")
        connection.send(Frame(.drain, payload: notice.encoded()))
        // Streams without an end would hold up this node's.
        for (stream, call) in calls.inOrder {
            if call.isEndless { fail(stream, ClientSession.draining) }
            // Peers go too, and report no more.
            if let held = call.held { failHeld(stream, held) }
        }
        link.needsTurn()
    }
}

extension ClientSession: PeerLink {
    func challenge(_ answer: @escaping @Sendable (Bool) -> Void) {
        link.loop.execute { [self] in
            if isClosed { return answer(false) }
            run { session in
                session.challengers.add(answer)
                session.connection.challenge(session.challengeNumber(), now: node.environment.now())
            }
        }
    }

    private func challengeNumber() -> Bytes {
        var dice = NodeDice(node.environment)
        return dice.bytes(8)
    }
}
