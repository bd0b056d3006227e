// Takes a peer's state if the peer's log doesn't reach back. It also reads that state for an
// operator's comparison, and assets.

import CumulusModel
import CumulusReplication
import CumulusStorage
import CumulusWire
import Logging

extension PeerConnection {
    /// How much a donor may send ahead of this node's writer.
    static let stateCredit = 1 << 20
    /// How much a donor of digests may send beyond a call's initial credit.
    ///
    /// A few bytes of digests stand for much that the peer has to read, so it must not be gigabytes
    /// ahead.
    static let digestCredit = 4 << 10

    /// How often in a row a state could not be taken, and when it is tried again.
    struct Setback {
        var count: Int
        var end: Instant
    }

    /// Takes the peer's state of a scope, from where it broke off if it did, unless this node takes
    /// one already, or could not just before.
    func takeState(of scope: ScopeID) {
        if let setback = setbacks[scope], node.environment.now() < setback.end { return }
        if let rest = node.transfers.goOn(in: scope, from: peerID) { return takeState(rest) }
        guard node.beginState(of: scope) else { return }
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

    func takeState(of scope: ScopeID, above base: VersionVector) {
        log("taking the peer's state", ["scope": "\(scope.container)"])
        let now = node.environment.now()
        let progress = StateProgress(of: scope, from: peerID, base: base, began: now)
        let request = StateRequest(vector: base, format: OpenStore.stateVersion)
        take(request, progress, nil)
    }

    private func takeState(_ rest: InterruptedState) {
        let progress = rest.progress
        log(
            "going on with the peer's state",
            ["scope": "\(progress.scope.container)", "records": "\(progress.recordCount)"]
        )
        let request = StateRequest(
            vector: progress.offer.base,
            format: OpenStore.stateVersion,
            snapshot: progress.snapshot,
            position: StateRequest.Position(progress.position)
        )
        take(request, progress, rest.sync)
    }

    private func take(_ request: StateRequest, _ progress: StateProgress, _ sync: StateSync?) {
        let scope = progress.scope
        let stream = call(.peersState, scope, request.encoded())
        credit(PeerConnection.stateCredit, stream)
        transfers[stream] = StateTransfer(
            node,
            progress,
            sync,
            loop: link.loop
        ) { [weak self] size in
            self?.credit(size, stream)
            self?.link.needsTurn()
        } ended: { [weak self, node] outcome in
            if case .interrupted(let rest) = outcome {
                node.transfers.keep(rest)
            } else {
                node.endTransfer(of: scope)
            }
            self?.transferEnded(outcome, stream)
        }
    }

    func transferEnded(_ outcome: StateTransfer.Outcome, _ stream: UInt32) {
        guard let transfer = transfers.removeValue(forKey: stream), !isClosing else { return }
        let scope = transfer.scope
        switch outcome {
        case .done:
            setbacks[scope] = nil
            // A cluster's state may name containers that were not known here.
            findScopes()
        case .interrupted:
            setBack(scope, milliseconds: PeerConnection.lookMilliseconds)
        case .failed(let why):
            let count = setBack(scope, milliseconds: PeerConnection.lookMilliseconds)
            log(
                "the peer's state could not be taken",
                ["scope": "\(scope.container)", "why": "\(why)", "times": "\(count)"],
                level: count == 1 ? .info : .error
            )
            connection.send(Frame(.cancel, stream: stream))
        case .forked(let incarnation):
            setBack(scope, milliseconds: PeerConnection.pausedMilliseconds)
            if alarmed.updateValue(.forked, forKey: incarnation) != .forked {
                log(
                    "a node's log was forked: no state is taken; an operator has to look",
                    ["scope": "\(scope.container)", "incarnation": "\(incarnation)"],
                    level: .critical
                )
            }
            connection.send(Frame(.cancel, stream: stream))
        }
        link.needsTurn()
    }

    /// Pauses, twice as long each time; returns how often in a row.
    ///
    /// - Parameter first: The first pause.
    @discardableResult
    private func setBack(_ scope: ScopeID, milliseconds first: Int64) -> Int {
        let count = setbacks[scope]?.count ?? 0
        // Shifted further it is longer than the longest one anyway.
        let pause = min(first << min(count, 5), PeerConnection.pausedMilliseconds)
        setbacks[scope] = Setback(count: count + 1, end: node.environment.now() + pause)
        return count + 1
    }

    /// Asks for what is compared and not taken; from any thread.
    ///
    /// - Parameter stretches: The stretches whose records are wanted; nil asks for digests of
    ///   everything that the peer holds of the scope.
    func readState(of scope: ScopeID, comparing stretches: [Stretch]?) -> PeerReading {
        let request = StateRequest(
            vector: VersionVector(),
            format: OpenStore.stateVersion,
            compares: true,
            stretches: (stretches ?? []).map(StateRequest.Stretch.init)
        )
        let credit = stretches == nil ? PeerConnection.digestCredit : PeerConnection.stateCredit
        return read(.peersState, scope, request.encoded(), credit: credit)
    }

    /// Makes a call whose answer is read message by message; from any thread.
    func read(
        _ method: Method,
        _ scope: ScopeID,
        _ request: Bytes,
        credit: Int = PeerConnection.stateCredit
    ) -> PeerReading {
        let reading = PeerReading()
        onLoop { connection in
            guard !connection.isClosing else { return reading.fail(connection.lost) }
            let stream = connection.call(method, scope, request)
            connection.credit(credit, stream)
            connection.readings[stream] = reading
            reading.begin { [weak connection] size in
                connection?.onLoop { $0.credit(size, stream) }
            } abandon: { [weak connection] in
                connection?.onLoop { $0.stopReading(stream) }
            }
        }
        return reading
    }

    func stopReading(_ stream: UInt32) {
        guard readings.removeValue(forKey: stream) != nil else { return }
        connection.send(Frame(.cancel, stream: stream))
    }

    var lost: ServiceError {
        ServiceError(.serviceUnavailable, "the connection to that node ended: \(reason)")
    }
}
