// A raw client that a node takes for another node of its cluster.

package import CumulusModel
import CumulusReplication
import CumulusWire

extension RawClient {
    /// Connects and greets as another node of the cluster that holds the key.
    package convenience init(
        greeting endpoint: String,
        asPeer nodeID: Bytes,
        key: Bytes,
        receiveBuffer: Int32? = nil
    ) throws {
        try self.init(endpoint, receiveBuffer: receiveBuffer)
        try send(Frame.preface)
        var frame = try nextFrame()
        while frame.kind != .nonce { frame = try nextFrame() }
        let proof = PeerProof(key: key)
        var hello = Hello()
        hello.role = WireRole.peer.rawValue
        hello.nodeID = nodeID
        hello.clusterID = proof.clusterID
        hello.nonce = Bytes(repeating: 2, count: PeerProof.nonceBytes)
        hello.incarnation = 2
        hello.proof = proof.make(
            .dialler,
            serverNonce: frame.payload,
            diallerNonce: hello.nonce,
            nodeID: nodeID,
            certificate: []
        )
        try send(Frame(.hello, payload: hello.encoded()))
        try readHello()
    }
}
