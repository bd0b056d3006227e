// The public keys of an identity provider, as it publishes them: a JSON Web Key Set (RFC 7517).
//
// `cumulusd` makes it from the file that the operator names, and `TrustedIssuer` asks it. Keys of
// other kinds are skipped, symmetric ones among them, since a set may hold keys for other purposes.

package import CumulusModel

/// The algorithms that may sign a token; no others are accepted.
package enum TokenAlgorithm: String, CaseIterable, Sendable {
    /// RSA with PKCS #1 v1.5 and SHA-256.
    case rs256 = "RS256"
    /// ECDSA on P-256 with SHA-256.
    case es256 = "ES256"
    /// Ed25519.
    case edDSA = "EdDSA"
}

/// A key that checks signatures of one algorithm.
package struct TokenKey: Hashable, Sendable {
    /// The numbers of a key, big-endian and unsigned.
    package enum Material: Hashable, Sendable {
        /// Both numbers are without leading zeros.
        case rsa(modulus: Bytes, exponent: Bytes)
        /// Both coordinates have 32 bytes.
        case p256(x: Bytes, y: Bytes)
        /// The key has 32 bytes.
        case ed25519(Bytes)
    }

    /// The key's id; nil if the set doesn't name one.
    package let id: String?
    package let material: Material

    package init(id: String?, _ material: Material) {
        self.id = id
        self.material = material
    }

    /// The only algorithm for which the key is used.
    package var algorithm: TokenAlgorithm {
        switch material {
        case .rsa: .rs256
        case .p256: .es256
        case .ed25519: .edDSA
        }
    }
}

/// Checks signatures, with a library that this module does not know.
package protocol TokenVerifier: Sendable {
    /// Whether the key's owner signed the content with the algorithm of the key.
    func isSigned(_ content: Bytes, with signature: Bytes, by key: TokenKey) async -> Bool
}

package struct TokenKeys: Hashable, Sendable {
    package struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String

        init(_ description: String) {
            self.description = description
        }
    }

    /// The most bytes in the text of a set.
    package static let mostBytes = 256 << 10
    private static let most = 100

    package let keys: [TokenKey]

    /// Reads a key set.
    package init(_ text: Bytes) throws(Problem) {
        guard text.count <= TokenKeys.mostBytes else {
            throw Problem("it has more than \(TokenKeys.mostBytes >> 10) KiB")
        }
        let json: JSON
        do throws(JSONReader.Problem) {
            json = try JSONReader.read(text)
        } catch {
            throw Problem("it is not JSON: \(error.message)")
        }
        guard case .array(let elements)? = json["keys"] else {
            throw Problem("it is no JSON object with a list 'keys', as a JWKS has")
        }
        guard elements.count <= TokenKeys.most else {
            throw Problem("it holds more than \(TokenKeys.most) keys")
        }
        keys = elements.compactMap(TokenKey.init)
        guard !keys.isEmpty else {
            throw Problem("it holds no public key for RS256 (2048 bits or more), ES256 or EdDSA")
        }
        let names = keys.map { [$0.id ?? "", $0.algorithm.rawValue] }
        guard Set(names).count == names.count else {
            throw Problem("two of its keys have the same 'kid' and algorithm")
        }
    }

    /// The key that must have signed a token: the one that it names, or the only one that fits.
    func key(for token: IDToken) -> TokenKey? {
        let fitting = keys.filter { $0.algorithm == token.algorithm }
        guard let id = token.keyID else { return fitting.count == 1 ? fitting.first : nil }
        return fitting.first { $0.id?.utf8.elementsEqual(id.utf8) ?? false }
    }
}

extension TokenKey {
    /// Returns nil for a key that checks no signatures of an accepted algorithm.
    fileprivate init?(_ json: JSON) {
        func number(_ name: String) -> Bytes? {
            let digits = json[name]?.asText.flatMap { Base64URL.decode($0.utf8) }
            // Some providers write leading zeros.
            return digits.map { Bytes($0.drop { $0 == 0 }) }
        }
        /// A number in 32 bytes.
        func coordinate(_ name: String) -> Bytes? {
            guard let digits = number(name), digits.count <= 32 else { return nil }
            return Bytes(repeating: 0, count: 32 - digits.count) + digits
        }
        switch (json["kty"]?.asText, json["crv"]?.asText) {
        case ("RSA", _):
            // A modulus has 2048 to 8192 bits: a longer one would cost the node too much.
            guard let modulus = number("n"), let exponent = number("e"),
                (256...1_024).contains(modulus.count), (1...4).contains(exponent.count)
            else { return nil }
            material = .rsa(modulus: modulus, exponent: exponent)
        case ("EC", "P-256"):
            guard let x = coordinate("x"), let y = coordinate("y") else { return nil }
            material = .p256(x: x, y: y)
        case ("OKP", "Ed25519"):
            guard let text = json["x"]?.asText, let x = Base64URL.decode(text.utf8),
                x.count == 32
            else { return nil }
            material = .ed25519(x)
        default: return nil
        }
        id = json["kid"]?.asText
        if let use = json["use"], use != "sig" { return nil }
        if let name = json["alg"], name != .string(algorithm.rawValue) { return nil }
    }
}
