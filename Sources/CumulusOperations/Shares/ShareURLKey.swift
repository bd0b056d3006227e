// The key that encrypts the id of a share as the end of its URL, and decrypts it.
//
// The node derives it from the cluster's key, so that all nodes make the same URLs and only nodes
// can make them. A URL is encrypted and not a digest: no row is needed to find its share, and a
// guessed URL leads to no share.

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
        // The id is one block, so the vector of zeros has no effect.
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
