// The key with which a node turns what names a share into the end of its URL, and back.
//
// Made by the node of the cluster's key, so that each node makes the same URLs and only nodes can
// make them. A cipher and not a digest: a URL then needs no row to be found, and a guessed one is
// the name of no share.

import Crypto
import CryptoExtras
package import CumulusModel
package import CumulusStorage

package struct ShareURLKey: Sendable {
    private let key: SymmetricKey

    /// - Parameter secret: Any bytes that only the cluster's nodes have.
    package init(secret: Bytes) {
        var hash = SHA256()
        hash.update(data: Bytes("cumulus share url".utf8))
        hash.update(data: secret)
        key = SymmetricKey(data: Bytes(Bytes(hash.finalize()).prefix(16)))
    }

    package func url(of share: ShareID) throws -> ShareURL {
        // One block: without a chain the vector of zeros adds nothing.
        let bytes = try AES._CBC.encrypt(share.bytes, using: key, iv: zeros, noPadding: true)
        guard let url = ShareURL(bytes: Bytes(bytes)) else { throw ShareURLKey.broken }
        return url
    }

    package func share(of url: ShareURL) throws -> ShareID {
        let bytes = try AES._CBC.decrypt(url.bytes, using: key, iv: zeros, noPadding: true)
        return ShareID(bytes: Bytes(bytes))
    }

    private var zeros: AES._CBC.IV {
        get throws { try AES._CBC.IV(ivBytes: Bytes(repeating: 0, count: 16)) }
    }

    private static let broken = ServiceError(.internalError, "a share's URL could not be made")
}
