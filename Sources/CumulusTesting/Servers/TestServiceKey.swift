// A server's key for tests, and the greetings that it signs, right or wrong.

import Crypto
package import CumulusModel
import CumulusNode
package import CumulusOperations
package import CumulusWire

package struct TestServiceKey: Sendable {
    private let key: P256.Signing.PrivateKey
    package var scope: ScopeID

    /// The same key for the same number from 1 to 255.
    package init(
        _ number: UInt8 = 1,
        scope: ScopeID = ScopeID(container: TestServer.container, environment: .development)
    ) throws {
        key = try P256.Signing.PrivateKey(rawRepresentation: Bytes(repeating: number, count: 32))
        self.scope = scope
    }

    package var publicKey: Bytes { Bytes(key.publicKey.x963Representation) }
    package var pem: String { key.pemRepresentation }
    package var publicPEM: String { key.publicKey.pemRepresentation }

    /// The key as a node keeps it.
    package var registered: ServiceKeys.Key {
        ServiceKeys.Key(publicKey: publicKey, scope: scope, label: "test")
    }

    /// A signature over bytes; DER.
    package func sign(_ content: Bytes) throws -> Bytes {
        Bytes(try key.signature(for: content).derRepresentation)
    }

    /// The challenge that a greeting signs.
    package struct Challenge: Sendable {
        package var serverNonce: Bytes
        package var clusterID: Bytes
        package var nonce = Bytes(repeating: 7, count: ServiceKeyProof.nonceBytes)
        package var certificate: Bytes = []

        package init(serverNonce: Bytes, clusterID: Bytes) {
            self.serverNonce = serverNonce
            self.clusterID = clusterID
        }
    }

    package func hello(answering challenge: Challenge) throws -> Hello {
        let content = ServiceKeyProof.content(
            serverNonce: challenge.serverNonce,
            clientNonce: challenge.nonce,
            clusterID: challenge.clusterID,
            scope: scope,
            certificate: challenge.certificate
        )
        var hello = Hello()
        hello.container = Bytes(scope.container.utf8)
        hello.environment = UInt32(scope.environment.rawValue)
        hello.keyID = registered.id
        hello.nonce = challenge.nonce
        hello.signature = Bytes(try key.signature(for: content).derRepresentation)
        return hello
    }
}

extension RawClient {
    /// Connects, and reads what a greeting with a key is to sign.
    package static func challenged(
        by server: TestServer
    ) throws -> (client: RawClient, challenge: TestServiceKey.Challenge) {
        let client = try RawClient(server.endpoint)
        try client.send(Frame.preface)
        var frame = try client.nextFrame()
        while frame.kind != .nonce { frame = try client.nextFrame() }
        let clusterID = server.node.clusterID
        return (client, .init(serverNonce: frame.payload, clusterID: clusterID))
    }

    /// Greets with what a test made of the challenge; throws the server's refusal.
    @discardableResult
    package func greet(_ hello: Hello) throws -> ServerHello {
        try send(Frame(.hello, payload: hello.encoded()))
        return try readHello()
    }

    /// Connects and greets with a key.
    package static func greeting(
        _ server: TestServer,
        with key: TestServiceKey
    ) throws -> RawClient {
        let (client, challenge) = try challenged(by: server)
        try client.greet(try key.hello(answering: challenge))
        return client
    }
}
