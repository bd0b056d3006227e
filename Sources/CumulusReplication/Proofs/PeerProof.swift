// How a node shows another that it belongs to the cluster: without a secret that travels.
//
// Both sides hold the cluster's key and prove it over both nonces, so that a proof is good for one
// connection and one direction; over TLS also over the listener's certificate, so that nobody in
// between can pass it on. The bytes are fixed by proto/peers.md.

import Crypto
package import CumulusModel

package struct PeerProof: Sendable {
    package enum Side: String, Sendable {
        case dialler = "cumulus/1 dialler"
        case listener = "cumulus/1 listens"
    }

    package static let nonceBytes = 32

    /// Held by every node of the cluster, 32 bytes.
    private let key: SymmetricKey
    /// 16 bytes, told from the key: nodes that hold one key are one cluster.
    package let clusterID: Bytes

    package init(key: Bytes) {
        self.key = SymmetricKey(data: key)
        let name = Bytes("cumulus cluster id".utf8)
        clusterID = Bytes(HMAC<SHA256>.authenticationCode(for: name, using: self.key).prefix(16))
    }

    /// - Parameters:
    ///   - nodeID: The id of the node that proves its identity.
    ///   - certificate: The digest of the listener's, as the node that proves saw it; empty over
    ///     plain TCP.
    package func make(
        _ side: Side,
        serverNonce: Bytes,
        diallerNonce: Bytes,
        nodeID: Bytes,
        certificate: Bytes
    ) -> Bytes {
        let data = content(side, serverNonce, diallerNonce, nodeID, certificate)
        return Bytes(HMAC<SHA256>.authenticationCode(for: data, using: key))
    }

    /// Compares in a time that doesn't tell how much is equal.
    package func isRight(
        _ proof: Bytes,
        _ side: Side,
        serverNonce: Bytes,
        diallerNonce: Bytes,
        nodeID: Bytes,
        certificate: Bytes
    ) -> Bool {
        guard diallerNonce.count == PeerProof.nonceBytes, nodeID.count == 16 else { return false }
        let data = content(side, serverNonce, diallerNonce, nodeID, certificate)
        return HMAC<SHA256>.isValidAuthenticationCode(proof, authenticating: data, using: key)
    }

    private func content(
        _ side: Side,
        _ serverNonce: Bytes,
        _ diallerNonce: Bytes,
        _ nodeID: Bytes,
        _ certificate: Bytes
    ) -> Bytes {
        Bytes(side.rawValue.utf8) + serverNonce + diallerNonce + clusterID + nodeID + certificate
    }
}
