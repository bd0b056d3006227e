// An identity provider for tests: keys of each kind, key sets, and ID tokens, right and wrong.
//
// It makes and signs tokens by itself, with swift-crypto: the library that checks them in a node
// has no part in it.

import Crypto
import CryptoExtras
package import CumulusModel
package import CumulusNode
package import CumulusOperations
import Synchronization

package enum TestIssuer {
    package static let url = "https://id.example.org"
    /// The client id of an app.
    package static let app = "notes-app"

    /// A pair of keys with the name that a key set gives it.
    package struct Key: Sendable {
        fileprivate enum Pair: Sendable {
            case rsa(_RSA.Signing.PrivateKey)
            case p256(P256.Signing.PrivateKey)
            case ed25519(Curve25519.Signing.PrivateKey)
        }

        package var id: String?
        fileprivate let pair: Pair

        /// Takes a fifth of a second.
        package static func rsa(_ id: String?) throws -> Key {
            Key(id: id, pair: .rsa(try _RSA.Signing.PrivateKey(keySize: .bits2048)))
        }

        /// The same key for the same number from 1 to 255.
        package static func p256(_ id: String?, _ number: UInt8 = 1) throws -> Key {
            let bytes = Bytes(repeating: number, count: 32)
            return Key(id: id, pair: .p256(try P256.Signing.PrivateKey(rawRepresentation: bytes)))
        }

        /// The same key for the same number.
        package static func ed25519(_ id: String?, _ number: UInt8 = 1) throws -> Key {
            let bytes = Bytes(repeating: number, count: 32)
            let key = try Curve25519.Signing.PrivateKey(rawRepresentation: bytes)
            return Key(id: id, pair: .ed25519(key))
        }

        package var algorithm: String {
            switch pair {
            case .rsa: "RS256"
            case .p256: "ES256"
            case .ed25519: "EdDSA"
            }
        }

        /// The public half as a member of a key set.
        package var jwk: JSON {
            get throws {
                var members = try parts
                if let id { members[member: "kid"] = .string(id) }
                return members
            }
        }

        private var parts: JSON {
            get throws {
                switch pair {
                case .rsa(let key):
                    let numbers = try key.publicKey.getKeyPrimitives()
                    return [
                        "kty": "RSA", "n": .string(Base64URL.encode(numbers.modulus)),
                        "e": .string(Base64URL.encode(numbers.publicExponent)),
                    ]
                case .p256(let key):
                    let point = key.publicKey.rawRepresentation
                    return [
                        "kty": "EC", "crv": "P-256",
                        "x": .string(Base64URL.encode(point.prefix(32))),
                        "y": .string(Base64URL.encode(point.suffix(32))),
                    ]
                case .ed25519(let key):
                    let point = key.publicKey.rawRepresentation
                    return [
                        "kty": "OKP", "crv": "Ed25519", "x": .string(Base64URL.encode(point)),
                    ]
                }
            }
        }

        /// Public bytes that a confused verifier might take for a secret.
        package var publicText: Bytes {
            get throws {
                switch pair {
                case .rsa(let key): Bytes(key.publicKey.pemRepresentation.utf8)
                case .p256(let key): Bytes(key.publicKey.pemRepresentation.utf8)
                case .ed25519(let key): Bytes(key.publicKey.rawRepresentation)
                }
            }
        }

        fileprivate func sign(_ content: Bytes) throws -> Bytes {
            switch pair {
            case .rsa(let key):
                let digest = SHA256.hash(data: content)
                let signature = try key.signature(for: digest, padding: .insecurePKCS1v1_5)
                return Bytes(signature.rawRepresentation)
            case .p256(let key): return Bytes(try key.signature(for: content).rawRepresentation)
            case .ed25519(let key): return Bytes(try key.signature(for: content))
            }
        }
    }

    // MARK: Key sets and settings

    package static func keySet(_ keys: [Key]) throws -> Bytes {
        let set: JSON = ["keys": .array(try keys.map { try $0.jwk })]
        return Bytes(set.text.utf8)
    }

    /// The operator's file, with one issuer.
    package static func file(_ changes: [String: JSON?] = [:]) -> Bytes {
        var issuer: JSON = [
            "issuer": .string(url), "audiences": .array([.string(app)]),
            "algorithms": .array(["RS256", "ES256", "EdDSA"]), "keys": "keys.json",
            "makesUsers": .bool(true), "email": .bool(true),
        ]
        for (key, value) in changes.sorted(by: { $0.key < $1.key }) {
            issuer[member: key] = value
        }
        let file: JSON = ["issuers": .array([issuer])]
        return Bytes(file.text.utf8)
    }

    // MARK: Tokens

    /// The claims of a valid token.
    ///
    /// - Parameter now: Milliseconds since 1970 UTC.
    package static func claims(
        _ subject: String,
        now: Int64,
        _ changes: [String: JSON?] = [:]
    ) -> JSON {
        var claims: JSON = [
            "iss": .string(url), "sub": .string(subject), "aud": .string(app),
            "iat": .integer(now / 1_000), "exp": .integer(now / 1_000 + 300),
        ]
        for (key, value) in changes.sorted(by: { $0.key < $1.key }) { claims[member: key] = value }
        return claims
    }

    /// A token of these claims with the header that its key asks for.
    package static func token(
        _ claims: JSON,
        by key: Key,
        header: [String: JSON?] = [:]
    ) throws -> Bytes {
        var members: JSON = ["alg": .string(key.algorithm), "typ": "JWT"]
        if let id = key.id { members[member: "kid"] = .string(id) }
        for (name, value) in header.sorted(by: { $0.key < $1.key }) {
            members[member: name] = value
        }
        return try token(header: members.text, claims: claims.text, key.sign)
    }

    /// A token of any text.
    package static func token(
        header: String,
        claims: String,
        _ sign: (Bytes) throws -> Bytes
    ) throws -> Bytes {
        let parts = [header, claims].map { Base64URL.encode($0.utf8) }
        let content = Bytes(parts.joined(separator: ".").utf8)
        return content + Bytes(".".utf8) + Bytes(Base64URL.encode(try sign(content)).utf8)
    }

    /// A signature with a secret.
    package static func hmac(_ content: Bytes, _ secret: Bytes) -> Bytes {
        let key = SymmetricKey(data: secret)
        return Bytes(HMAC<SHA256>.authenticationCode(for: content, using: key))
    }
}

extension JSON {
    /// An object's member; nil takes it away.
    package subscript(member key: String) -> JSON? {
        get { self[key] }
        set {
            guard case .object(var members) = self else { return }
            members.removeAll { $0.key == key }
            if let newValue { members.append(Member(key, newValue)) }
            self = .object(members)
        }
    }
}

/// The node's file about the test's issuer, which a test may change.
package final class TestIssuerFile: Sendable {
    private struct State {
        var issuer: TrustedIssuer?
        var keys: TokenKeys
    }

    private let state: Mutex<State>

    package init(_ file: Bytes = TestIssuer.file(), keys: [TestIssuer.Key]) throws {
        let issuer = try TrustedIssuer.all(file).first
        state = Mutex(State(issuer: issuer, keys: try TokenKeys(try TestIssuer.keySet(keys))))
    }

    /// The issuer has these keys from now on.
    package func rotate(to keys: [TestIssuer.Key]) throws {
        let keys = try TokenKeys(try TestIssuer.keySet(keys))
        state.withLock { $0.keys = keys }
    }

    /// The issuers for a node's configuration.
    package func issuers(_ verifier: any TokenVerifier) -> TokenIssuers {
        TokenIssuers(verifier: verifier) { [self] url in
            state.withLock { state in
                guard let issuer = state.issuer, issuer.url == url else { return nil }
                return (issuer, state.keys)
            }
        }
    }
}
