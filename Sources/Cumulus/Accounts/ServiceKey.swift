// The key with which a server comes in, in place of a user's token.
//
// Held by `Container.Configuration`; `ClientConnection` lets it sign each greeting.

import Crypto
public import CumulusModel
import CumulusWire

/// A service key: how a server calls, without a user.
///
/// It works in the public database of the container and environment for which an operator
/// registered it (`cumulus key add`), as a user of its own with the roles that the operator gave to
/// it. The private key never leaves this process: each connection is signed anew.
///
/// ```swift
/// var configuration = Container.Configuration(endpoints: ["db.example.org"])
/// configuration.serviceKey = try ServiceKey(id: id, pem: String(contentsOfFile: "server.pem"))
/// ```
public struct ServiceKey: Sendable {
    /// 64 hexadecimal digits, as `cumulus key add` shows them: they name the cluster and the key.
    public let id: String
    let clusterID: Bytes
    let keyID: Bytes
    private let key: P256.Signing.PrivateKey

    /// A key that an operator registered.
    ///
    /// - Parameters:
    ///   - id: 64 hexadecimal digits, as `cumulus key add` shows them.
    ///   - pem: The private key, on the curve P-256: `EC PRIVATE KEY` or `PRIVATE KEY`.
    /// - Throws: `invalidArguments` if one of them can't be that.
    public init(id: String, pem: String) throws(ServiceError) {
        (clusterID, keyID) = try ServiceKey.split(id)
        guard let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) else {
            throw ServiceKey.notAKey("private key")
        }
        self.id = id
        self.key = key
    }

    /// ECDSA in DER.
    fileprivate func sign(_ content: Bytes) throws -> Bytes {
        Bytes(try key.signature(for: content).derRepresentation)
    }

    // MARK: Ids and files

    /// The id as text of a key in a cluster.
    static func text(cluster: Bytes, key: Bytes) -> String { cluster.hex + key.hex }

    /// The ids of the cluster and of the key that a text names.
    static func split(_ id: String) throws(ServiceError) -> (cluster: Bytes, key: Bytes) {
        guard let bytes = Bytes(hex: id), bytes.count == 32 else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                """
                '\(id)' is no service key's id, which has 64 hexadecimal digits; \
                'cumulus key list' shows them
                """
            )
        }
        return (Bytes(bytes.prefix(16)), Bytes(bytes.suffix(16)))
    }

    /// A new private key, as PEM.
    package static func makePEM() -> String { P256.Signing.PrivateKey().pemRepresentation }

    /// The public key of a PEM text that holds it or its private key, in X9.63 form.
    package static func publicKey(ofPEM pem: String) throws(ServiceError) -> Bytes {
        if let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) {
            return Bytes(key.publicKey.x963Representation)
        }
        guard let key = try? P256.Signing.PublicKey(pemRepresentation: pem) else {
            throw notAKey("private or public key")
        }
        return Bytes(key.x963Representation)
    }

    private static func notAKey(_ what: String) -> ServiceError {
        ServiceError(
            .invalidArguments,
            .invalidValue,
            """
            this is no \(what) on the curve P-256 in PEM; 'cumulus key add FILE' makes one, or \
            'openssl ecparam -name prime256v1 -genkey -noout'
            """
        )
    }
}

/// A service key where it is used: signs the greetings of one scope.
struct GreetingSigner: Sendable {
    let key: ServiceKey
    let scope: ScopeID

    /// The greeting with the signature that a server asks for.
    ///
    /// - Parameters:
    ///   - serverNonce: The nonce that the server sent.
    ///   - nonce: 32 random bytes.
    ///   - certificate: The digest of the server's; empty over plain TCP.
    func sign(
        _ hello: Hello,
        serverNonce: Bytes,
        nonce: Bytes,
        certificate: Bytes
    ) throws -> Hello {
        let content = ServiceKeyProof.content(
            serverNonce: serverNonce,
            clientNonce: nonce,
            clusterID: key.clusterID,
            scope: scope,
            certificate: certificate
        )
        var hello = hello
        hello.keyID = key.keyID
        hello.nonce = nonce
        hello.signature = try key.sign(content)
        return hello
    }
}
