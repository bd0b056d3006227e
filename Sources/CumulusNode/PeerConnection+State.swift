// What a connection to a peer takes where the peer's log doesn't reach: its state. And what it
// reads for others: that state for an operator who compares, and assets.

import CumulusModel
import CumulusStorage
import CumulusWire
import Logging

extension PeerConnection {
    /// What a donor may send ahead of this node's writer.
    static let stateCredit = 1 << 20

    /// Takes the peer's state of a scope, unless this node takes it from another one already.
    func takeState(of scope: ScopeID) {
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

    func takeState(of scope: ScopeID, above base: VersionVector) {
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

    func transferEnded(_ outcome: StateTransfer.Outcome, _ stream: UInt32) {
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
    func readState(of scope: ScopeID) -> PeerReading {
        let request = StateRequest(vector: VersionVector(), format: OpenStore.formatVersion)
        return read(.peersState, scope, request.encoded())
    }

    /// Makes a call whose answer somebody reads message by message; from any thread.
    func read(_ method: Method, _ scope: ScopeID, _ request: Bytes) -> PeerReading {
        let reading = PeerReading()
        onLoop { connection in
            guard !connection.isClosing else { return reading.fail(connection.lost) }
            let stream = connection.call(method, scope, request)
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

    func stopReading(_ stream: UInt32) {
        guard readings.removeValue(forKey: stream) != nil else { return }
        connection.send(Frame(.cancel, stream: stream))
    }

    var lost: ServiceError {
        ServiceError(.serviceUnavailable, "the connection to that node ended: \(reason)")
    }
}
