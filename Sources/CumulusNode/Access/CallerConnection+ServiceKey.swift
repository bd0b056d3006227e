// A greeting with a service key: the server that calls has signed both nonces, the cluster, the
// scope and, over TLS, the certificate.
//
// `CallerConnection+Greeting` calls it. An unknown key costs the same work and gets the same answer
// as a wrong signature, so that strangers can't find out which ids exist.

import Crypto
import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

extension CallerConnection {
    /// Checks what needs no look-up of the key.
    func checkKey(of hello: Hello) throws(ServiceError) {
        if hello.keyID.isEmpty { return }
        guard hello.role == WireRole.client.rawValue, hello.token.isEmpty else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                "a service key is shown by a client without a token: leave one of them out"
            )
        }
        guard hello.keyID.count == ServiceKeys.idBytes,
            hello.nonce.count == ServiceKeyProof.nonceBytes
        else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                """
                a service key's id has \(ServiceKeys.idBytes) bytes and the nonce beside it \
                \(ServiceKeyProof.nonceBytes), not \(hello.keyID.count) and \(hello.nonce.count)
                """
            )
        }
    }

    /// Takes the caller for the server whose key signed the greeting.
    func enter(
        _ identity: inout Identity,
        by hello: Hello,
        _ scope: ScopeID,
        _ reader: ReadTransaction,
        _ epoch: UInt64
    ) throws {
        try enter(&identity, by: hello.keyID, of: scope, reader, epoch) { publicKey in
            isSigned(hello, scope, by: publicKey)
        }
    }

    /// Takes the caller for the server with that key, if it has the private half.
    func enter(
        _ identity: inout Identity,
        by keyID: Bytes,
        of scope: ScopeID,
        _ reader: ReadTransaction,
        _ epoch: UInt64,
        _ isRight: (_ publicKey: Bytes) -> Bool
    ) throws {
        let now = node.environment.wallClock()
        let key = try ServiceKeys.find(keyID, of: scope, now: now, in: reader)
        let isSigned = isRight(key?.publicKey ?? ServiceKeys.ofNobody)
        guard let key, isSigned else { throw ServiceKeys.refusal }
        identity.caller.role = .server(key.recordName)
        identity.caller.registered = key.created
        identity.account = key.id
        identity.credential = Credential(key, epoch: epoch)
    }

    private func isSigned(_ hello: Hello, _ scope: ScopeID, by publicKey: Bytes) -> Bool {
        let content = ServiceKeyProof.content(
            serverNonce: nonce,
            clientNonce: hello.nonce,
            clusterID: node.clusterID,
            scope: scope,
            certificate: link.certificate
        )
        guard let key = try? P256.Signing.PublicKey(x963Representation: publicKey),
            let signature = try? P256.Signing.ECDSASignature(derRepresentation: hello.signature)
        else { return false }
        return key.isValidSignature(signature, for: content)
    }
}

extension ServiceKeys {
    /// A key for checking a signature if the named key does not exist, so that it takes as long.
    fileprivate static let ofNobody: Bytes = {
        let secret = Bytes(repeating: 1, count: 32)
        let key = try? P256.Signing.PrivateKey(rawRepresentation: secret)
        return key.map { Bytes($0.publicKey.x963Representation) } ?? []
    }()
}
