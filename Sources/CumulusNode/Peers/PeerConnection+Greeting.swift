// How a connection to a peer begins: both sides prove that they have the cluster's key, and this
// node learns who is there and whether that node has taken a state.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusWire
import Logging
import Synchronization

extension PeerConnection {
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
        node.catchUp.reach(endpoint, hello.nodeID, isOwn: hello.nodeID == node.nodeID)
        isDuplicate = hello.nodeID == node.nodeID || node.isLinked(to: hello.nodeID)
        guard hello.nodeID != node.nodeID else {
            // The settings may name no other node than this one.
            node.renewAccessLease()
            throw ProtocolFault("that address is this node's own")
        }
        guard !isDuplicate else {
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
            isDuplicate = true
            return close("there is another connection to that node")
        }
        isOpen = true
        creditStep = hello.limits.initialCredit / 4
        node.note(isTwin: false, by: endpoint)
        node.connections.withLock { $0[peerID] = WeakPeer(connection: self) }
        meet(hello)
        let now = node.environment.steadyNow
        node.clocks.note(hello.clock, of: peerID, ours: node.environment.wallClock(), now: now)
        connection.finishGreeting(isPeer: true)
        node.note(endpoint, hello.nodeID)
        log("a peer is connected", ["node": "\(hello.nodeID.hex)"])
        findScopes()
        checkMembership()
        beat()
        // Missed commits arrive at once, and the peer is then told without a long wait.
        reportTime =
            node.environment.now()
            + min(PeerConnection.lookMilliseconds, node.configuration.reportMilliseconds)
    }

    private func meet(_ hello: ServerHello) {
        let isReady = hello.notReady.isEmpty
        node.catchUp.meet(
            peerID,
            at: endpoint,
            isReady ? .ready : .joining(lacksNodes: hello.lacksNodes)
        )
        if !isReady { node.newcomers.withLock { _ = $0.insert(peerID) } }
    }
}
