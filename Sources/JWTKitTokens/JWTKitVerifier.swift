// Checks the signatures of ID tokens with JWTKit: the only place where that library is named.
//
// Given to the node by `cumulusd`, and by tests. The key and the algorithm were chosen before, from
// the issuer's own set: nothing that a token says leads to another one here.

package import CumulusModel
package import CumulusOperations
import JWTKit

package struct JWTKitVerifier: TokenVerifier {
    package init() {}

    package func isSigned(
        _ content: Bytes,
        with signature: Bytes,
        by key: TokenKey
    ) async -> Bool {
        do {
            let keys = JWTKeyCollection()
            try await keys.add(jwk: key.jwk)
            let algorithm = try await keys.getKey(for: TokenKey.name)
            guard algorithm.name == key.algorithm.rawValue else { return false }
            return try algorithm.verify(signature, signs: content)
        } catch {
            return false
        }
    }
}

extension TokenKey {
    /// The library knows no keys without a name.
    fileprivate static let name = JWKIdentifier(string: "key")

    fileprivate var jwk: JWK {
        switch material {
        case .rsa(let modulus, let exponent):
            .rsa(
                .rs256,
                identifier: TokenKey.name,
                modulus: Base64URL.encode(modulus),
                exponent: Base64URL.encode(exponent)
            )
        case .p256(let x, let y):
            .ecdsa(
                .es256,
                identifier: TokenKey.name,
                x: Base64URL.encode(x),
                y: Base64URL.encode(y),
                curve: .p256
            )
        case .ed25519(let x):
            .octetKeyPair(
                .eddsa,
                identifier: TokenKey.name,
                x: Base64URL.encode(x),
                y: nil,
                curve: .ed25519
            )
        }
    }
}
