// Tokens that callers carry: how far a reader of a scope has read, sealed, so that they tell
// nothing and can't be made up.
//
//   token  = version (1) · run that sealed it (8) · its count (8) · sealed content · tag (16)
//   content = kind · container · environment · n · n times (incarnation, seq)
//
// Sealed with ChaCha20-Poly1305. Each run of a node has a key of its own, derived from the
// cluster's, and counts its tokens: no nonce is used twice, and every node of the cluster can open
// them. A token's first 17 bytes are authenticated with it. Made by the node for its sessions.

import Crypto
package import CumulusModel

/// How far a reader of a scope has read.
package struct VectorToken: Hashable, Sendable {
    /// What a token is for; one is never taken for another.
    package enum Kind: UInt8, Sendable {
        /// What a caller has seen: later answers must not be older.
        case causal = 1
    }

    package var kind: Kind
    package var scope: ScopeID
    package var vector: VersionVector

    package init(_ kind: Kind, scope: ScopeID, vector: VersionVector) {
        self.kind = kind
        self.scope = scope
        self.vector = vector
    }
}

package struct TokenSeal: Sendable {
    private let key: SymmetricKey
    private let run: Incarnation
    private let ownKey: SymmetricKey

    private static let version: UInt8 = 1
    private static let headBytes = 17
    private static let tagBytes = 16
    /// Tokens beyond that size are not looked at.
    private static let longest = 16 << 10

    /// - Parameters:
    ///   - key: The cluster's, 32 bytes.
    ///   - run: This run of the node.
    package init(key: Bytes, run: Incarnation) {
        self.key = SymmetricKey(data: key)
        self.run = run
        ownKey = TokenSeal.key(of: run, self.key)
    }

    /// - Parameter number: Another one for each token of this run.
    package func seal(_ token: VectorToken, number: UInt64) -> Bytes {
        var head = CanonicalWriter(reserving: TokenSeal.headBytes)
        head.raw([TokenSeal.version])
        head.bigEndian(run.value)
        head.bigEndian(number)
        let sealed = try? ChaChaPoly.seal(
            token.content,
            using: ownKey,
            nonce: TokenSeal.nonce(number),
            authenticating: head.bytes
        )
        guard let sealed else { preconditionFailure("a short text can always be sealed") }
        return head.bytes + sealed.ciphertext + sealed.tag
    }

    /// What a token says; nil if it wasn't sealed by a node of this cluster, or is damaged.
    package func open(_ bytes: Bytes) -> VectorToken? {
        let shortest = TokenSeal.headBytes + TokenSeal.tagBytes
        guard (shortest...TokenSeal.longest).contains(bytes.count),
            bytes[0] == TokenSeal.version
        else { return nil }
        let head = bytes.prefix(TokenSeal.headBytes)
        let (run, number) = (TokenSeal.number(bytes[1..<9]), TokenSeal.number(bytes[9..<17]))
        guard
            let box = try? ChaChaPoly.SealedBox(
                nonce: TokenSeal.nonce(number),
                ciphertext: bytes[TokenSeal.headBytes..<(bytes.count - TokenSeal.tagBytes)],
                tag: bytes.suffix(TokenSeal.tagBytes)
            ),
            let content = try? ChaChaPoly.open(
                box,
                using: TokenSeal.key(of: Incarnation(run), key),
                authenticating: head
            )
        else { return nil }
        return try? VectorToken(content: Bytes(content))
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func nonce(_ number: UInt64) -> ChaChaPoly.Nonce {
        let bytes = [0, 0, 0, 0] + withUnsafeBytes(of: number.bigEndian, Array.init)
        guard let nonce = try? ChaChaPoly.Nonce(data: bytes) else {
            preconditionFailure("a nonce has 12 bytes")
        }
        return nonce
    }

    private static func key(of run: Incarnation, _ key: SymmetricKey) -> SymmetricKey {
        let name = Bytes("cumulus tokens".utf8) + Bytes(bigEndian: run.value)
        return HKDF<SHA256>.deriveKey(inputKeyMaterial: key, info: name, outputByteCount: 32)
    }
}

extension Bytes {
    fileprivate init(bigEndian number: UInt64) {
        self = Swift.withUnsafeBytes(of: number.bigEndian, Bytes.init)
    }
}

extension VectorToken {
    fileprivate var content: Bytes {
        var writer = CanonicalWriter(reserving: 64)
        writer.varint(UInt64(kind.rawValue))
        writer.delimited(scope.container.utf8)
        writer.varint(UInt64(scope.environment.rawValue))
        writer.varint(UInt64(vector.dots.count))
        for dot in vector.dots {
            writer.bigEndian(dot.incarnation.value)
            writer.varint(dot.seq)
        }
        return writer.bytes
    }

    fileprivate init(content: Bytes) throws(MalformedBytes) {
        var reader = CanonicalReader(content)
        let kind = Kind(rawValue: UInt8(try reader.count(limit: 255)))
        let container = try reader.text()
        let environment = Environment(rawValue: UInt8(try reader.count(limit: 255)))
        guard let kind, let environment else { throw MalformedBytes("a token of another kind") }
        var vector = VersionVector()
        for _ in 0..<(try reader.count(limit: content.count)) {
            let incarnation = Incarnation(try reader.bigEndian())
            vector[incarnation] = try reader.varint()
        }
        guard reader.isAtEnd else { throw MalformedBytes("a token is longer than what it says") }
        self.init(
            kind,
            scope: ScopeID(container: container, environment: environment),
            vector: vector
        )
    }
}
