// Pulls the commits of each scope from a peer, from this node's vector on, without commits that
// come from their own nodes.
//
// There is one stream per scope. Commits wait while the writer is busy with earlier ones. This
// node's credit bounds what waits; for all streams together, it stops reading from the connection.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusWire
import Logging

extension PeerConnection {
    struct Pull {
        let scope: ScopeID
        /// Origins whose commits are refused.
        var paused: PeerCommits.Paused = [:]
        /// The time to pull anew, from the vector of that time.
        var restart: Instant?
        /// Commits that arrived while the writer was busy with earlier ones; our credit bounds
        /// them.
        var commits: [Bytes] = []
        /// Bytes of the messages that brought them.
        var size = 0
        var isWriting = false
        /// Bytes that the writer is done with and that the peer was given no new credit for.
        var uncredited = 0
        var hasBegun = false
        /// The peer wants to hear as soon as it is durable here.
        var wantsReport = false
        /// Runs that the peer does not send.
        var elsewhere: Set<Incarnation>
        /// How far the peer has the runs that come directly, and when this node must have them too.
        var goal: (vector: VersionVector, due: Instant)?
        /// The peer's later news.
        var news = VersionVector()
        /// How often the peer's commits did not arrive here in time by the other way.
        var misses = 0
        /// The time until which commits are held back that depend on other nodes' commits.
        var heldUntil: Instant?
        /// The wait for commits on which the received ones depend.
        var wait: BellWait?

        /// The time of the stream's next step; nil means it rests.
        var wake: Instant? { [restart, goal?.due, heldUntil].compactMap(\.self).min() }
    }

    static let lookMilliseconds: Int64 = 1_000
    static let wholeMilliseconds: Int64 = 60_000
    /// How much later than this peer's news commits from other nodes may arrive.
    static let goalMilliseconds: Int64 = 1_000
    static let soonMilliseconds: Int64 = 20

    /// Refused commits are tried again after a longer pause: a clock may have been corrected.
    static let pausedMilliseconds: Int64 = 30_000

    /// Pulls the scopes of this node that are not being pulled.
    func findScopes() {
        lookTime = node.environment.now() + PeerConnection.lookMilliseconds
        onReader { [node, pulled] in
            let reader = node.gate.latest(reach: .disk)
            return try ScopeDirectory.all(in: reader).filter { pulled[$0.scope] == nil }
                .map { scope, number in (scope, try reader.vector(of: number)) }
        } then: { connection, found in
            for (scope, vector) in found { connection.pull(scope, from: vector) }
        }
    }

    func pull(_ scope: ScopeID, from vector: VersionVector) {
        guard pulled[scope] == nil, !transfers.values.contains(where: { $0.scope == scope })
        else { return }
        let elsewhere = elsewhere(scope)
        let request = PullRequest(
            vector: vector,
            run: node.incarnation.value,
            elsewhere: elsewhere.map(\.value).sorted()
        )
        let stream = call(.peersPull, scope, request.encoded())
        pulls[stream] = Pull(scope: scope, elsewhere: elsewhere)
        node.catchUp.ask(peerID, scope)
        pulled[scope] = stream
    }

    @discardableResult
    private func removePull(_ stream: UInt32) -> Pull? {
        timed.remove(stream)
        guard let pull = pulls.removeValue(forKey: stream) else { return nil }
        unwrittenBytes -= pull.size
        pulled[pull.scope] = nil
        return pull
    }

    /// Changes the times of a pull.
    func setTimes(of stream: UInt32, _ change: (inout Pull) -> Void) {
        guard var pull = pulls[stream] else { return }
        change(&pull)
        pulls[stream] = pull
        if pull.wake == nil { timed.remove(stream) } else { timed.insert(stream) }
    }

    func take(_ frame: Frame) throws(ProtocolFault) {
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
            node.catchUp.note(response.vector, of: peerID, pull.scope)
            pulls[frame.stream]?.hasBegun = true
            setbacks[pull.scope] = nil
            if node.directRuns.enter(peerRun, of: peerID, pull.scope) {
                node.directRunsChanged(in: pull.scope)
            }
        }
        node.meter.receivedCommits.add(response.commits.count)
        node.noteArrival(of: response.commits, from: peerID)
        pulls[frame.stream]?.commits += response.commits
        pulls[frame.stream]?.size += frame.payload.count
        unwrittenBytes += frame.payload.count
        if response.wantsReport { pulls[frame.stream]?.wantsReport = true }
        submit(frame.stream)
    }

    /// Submits a stream's commits to the writer, unless it still works on earlier ones.
    ///
    /// The set of paused origins is then known before the next commits are examined.
    func submit(_ stream: UInt32) {
        guard let pull = pulls[stream], !pull.isWriting else { return }
        pulls[stream]?.commits = []
        pulls[stream]?.size = 0
        let size = pull.size
        if pull.commits.isEmpty, !pull.wantsReport {
            unwrittenBytes -= size
            return grant(size, stream)
        }
        pulls[stream]?.isWriting = true
        pulls[stream]?.wantsReport = false
        let commits = PeerCommits(
            scope: pull.scope,
            commits: pull.commits,
            paused: pull.paused,
            clock: node.intakeClock(of: peerID)
        )
        let (gate, wantsReport) = (node.gate, pull.wantsReport)
        let rings = gate.bell.count(of: nil)
        let job = StoreGate.Job(kind(of: commits)) { transaction throws(EngineError) in
            let taken =
                gate.stops.isHeld(commits.scope)
                ? (.unknownScope, commits.paused) : try commits.run(in: &transaction)
            return (taken, wantsReport ? try transaction.vector(of: commits.scope) : nil)
        } waits: {
            if case .waits = $0.0.0 { true } else { false }
        } then: { [self] taken in
            guard !isClosing else { return }
            unwrittenBytes -= size
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
                    setTimes(of: stream) { $0.heldUntil = nil }
                    took(outcome, of: pull.scope, size, stream)
                    submit(stream)
                }
            case .failure(let error): close(error.message)
            }
            link.needsTurn()
        }
        let isQueued = node.gate.submit(
            StoreGate.QueuedWrite(job, byteCount: size, loop: link.loop)
        )
        if !isQueued { close("too many writes are waiting here") }
    }

    /// What brings nothing wakes nobody; a disk that takes deletes only has them told apart.
    private func kind(of commits: PeerCommits) -> StoreGate.WorkKind {
        if commits.commits.isEmpty { return .housekeeping }
        return node.gate.stops.disk == .deletes && commits.onlyDelete ? .deletes : .commits
    }

    /// Ends the process if a peer knows more of this run than its own store does: the machine went
    /// back to a snapshot while the process ran, and would give out its numbers a second time.
    func checkRun(_ scope: ScopeID, _ vector: VersionVector) {
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
        } otherwise: { [weak self] in
            // The next connection tries again.
            self?.close("this node could not look how far its own run is")
        }
    }

    func took(
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
    func lookAround(_ scope: ScopeID) {
        guard scope == .cluster else { return }
        findScopes()
        checkMembership()
    }

    /// Notes which origins are refused, and tells an operator once per connection.
    func pause(_ paused: PeerCommits.Paused, _ stream: UInt32) {
        guard let known = pulls[stream]?.paused, known != paused else { return }
        pulls[stream]?.paused = paused
        let restart = node.environment.now() + PeerConnection.pausedMilliseconds
        setTimes(of: stream) { $0.restart = $0.restart ?? restart }
        for (incarnation, refusal) in paused.sorted(by: { $0.key < $1.key })
        where !refusal.repeats(alarmed[incarnation]) {
            alarmed[incarnation] = refusal
            if case .follows = refusal { continue }
            var message: Logger.Message =
                "the commits of a node are refused; an operator has to look"
            if case .damagedHere = refusal {
                node.meter.damagedRows.add(1)
                message = PeerConnection.damagedHere
            }
            node.environment.logger.critical(
                message,
                metadata: [
                    "incarnation": "\(incarnation)", "why": "\(refusal)", "peer": "\(endpoint)",
                ]
            )
        }
    }

    /// A comparison can't mend what it can't read.
    static let damagedHere: Logger.Message = """
        this node's own store is damaged, so commits of others can't be applied here: \
        \(EngineError.remedy)
        """

    /// Gives credit for messages that the writer is done with, once they are worth a frame.
    ///
    /// The peer keeps three quarters of its credit meanwhile, so it never waits for the rest.
    func grant(_ size: Int, _ stream: UInt32) {
        guard size > 0, let pull = pulls[stream] else { return }
        let sum = pull.uncredited + size
        pulls[stream]?.uncredited = sum < creditStep ? sum : 0
        if sum >= creditStep { credit(sum, stream) }
    }

    func stopPulling(_ stream: UInt32) {
        guard removePull(stream) != nil else { return }
        connection.send(Frame(.cancel, stream: stream))
    }

    /// The peer ended a stream, or the connection.
    func end(_ frame: Frame) throws(ProtocolFault) {
        let error =
            (try? ServiceError(wire: frame.payload))
            ?? ServiceError(.internalError, "the peer's error can't be read")
        if frame.stream == 0 {
            // Only a node of the cluster is believed; this one then takes no writes.
            let isProven = !peerID.isEmpty
            if error.reason == .nodeIDInUse, isProven { node.note(isTwin: true, by: endpoint) }
            if error.code == .notAuthenticated {
                node.warn(of: endpoint, .dialled, "a peer refuses this node", why: error.message)
            }
            return close(error.message)
        }
        if let transfer = transfers[frame.stream] {
            // It has much to do, and the snapshot still.
            let isBusy = error.code == .requestRateLimited
            return isBusy ? transfer.breakOff(error.message) : transfer.stop(error.message)
        }
        if let reading = readings.removeValue(forKey: frame.stream) {
            var error = error
            error.message = "node \(peerID.hex) says: \(error.message)"
            return reading.fail(error)
        }
        if let scope = reports.removeValue(forKey: frame.stream) { reported[scope] = nil }
        guard let pull = removePull(frame.stream) else { return }
        if node.directRuns.leave(peerID, pull.scope) { node.directRunsChanged(in: pull.scope) }
        if error.reason == .logTruncated {
            // The stream was idle, and its commits came by another way and were then forgotten
            // there, since this node was known to have them. The log may reach back to where this
            // node is now.
            return pull.hasBegun ? lookSoon() : takeState(of: pull.scope)
        }
        if error.code == .badContainer {
            // It has nothing of that scope.
            node.catchUp.note(VersionVector(), of: peerID, pull.scope)
        }
        log("a pull ended", ["scope": "\(pull.scope.container)", "why": "\(error.message)"])
    }
}

extension Node {
    /// Why a process ends whose own commits come back to it.
    static let rolledBack = "this run was rolled back while it was running"
}
