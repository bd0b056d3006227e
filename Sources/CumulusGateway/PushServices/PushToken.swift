// Signed tokens by which a push service knows who pushes: JSON Web Tokens of ES256 and RS256.
//
// Made by `APNsPush`, `WebPush` and `FCMPush`. A token is used for a while, since services refuse
// those who make many.

import Crypto
import CryptoExtras
import CumulusModel

package enum PushToken {
    /// What is signed: header and claims, each in Base64 for URLs.
    static func content(_ header: JSON, _ claims: JSON) -> String {
        [header, claims].map { Base64URL.encode($0.text.utf8) }.joined(separator: ".")
    }

    static func es256(
        _ header: [JSON.Member],
        _ claims: JSON,
        _ key: P256.Signing.PrivateKey
    ) throws -> String {
        let content = content(.object([JSON.Member("alg", .string("ES256"))] + header), claims)
        let signature = try key.signature(for: Bytes(content.utf8))
        return content + "." + Base64URL.encode(signature.rawRepresentation)
    }

    static func rs256(
        _ header: [JSON.Member],
        _ claims: JSON,
        _ key: _RSA.Signing.PrivateKey
    ) throws -> String {
        let content = content(.object([JSON.Member("alg", .string("RS256"))] + header), claims)
        let signature = try key.signature(
            for: Bytes(content.utf8),
            padding: .insecurePKCS1v1_5
        )
        return content + "." + Base64URL.encode(signature.rawRepresentation)
    }

    /// A token with the time until which it is used.
    package struct Made: Hashable, Sendable {
        package let text: String
        /// When it was made, in milliseconds since 1970 UTC.
        package let made: Int64
        /// Milliseconds since 1970 UTC.
        package let renewed: Int64

        package init(_ text: String, made: Int64, renewed: Int64) {
            (self.text, self.made, self.renewed) = (text, made, renewed)
        }

        package func isGood(now: Int64) -> Bool { now < renewed }
    }
}
