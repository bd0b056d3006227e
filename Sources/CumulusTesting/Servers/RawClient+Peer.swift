// A raw client that a node takes for another node of its cluster.

package import CumulusModel
import CumulusReplication
package import CumulusWire

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
        let hello = Hello(asPeer: nodeID, key: key, answering: frame.payload)
        try send(Frame(.hello, payload: hello.encoded()))
        try readHello()
    }
}

extension Hello {
    /// The greeting of a node that holds the cluster's key over plain TCP, in answer to a nonce.
    package init(asPeer nodeID: Bytes, key: Bytes, answering serverNonce: Bytes) {
        let proof = PeerProof(key: key)
        self.init()
        role = WireRole.peer.rawValue
        self.nodeID = nodeID
        clusterID = proof.clusterID
        nonce = Bytes(repeating: 2, count: PeerProof.nonceBytes)
        incarnation = 2
        self.proof = proof.make(
            .dialler,
            serverNonce: serverNonce,
            diallerNonce: nonce,
            nodeID: nodeID,
            certificate: []
        )
    }
}
