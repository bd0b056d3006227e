// Tokens that callers carry, sealed, so that they tell nothing and can't be made up.
//
//   token  = version (1) · kind (1) · run that sealed it (8) · number (8) · sealed content
//            · tag (16)
//
// Sealed with ChaCha20-Poly1305. Each run of a node has a key of its own, derived from the
// cluster's, and numbers its tokens: no nonce is used twice, and every node of the cluster can open
// them. A token's first 18 bytes are authenticated with it. Called by the node for its sessions.
//
// Folder: what callers and peers carry as proof: sealed tokens and proofs of membership. Read
// `TokenSeal`, then `CausalToken` and `PeerProof`.

import Crypto
package import CumulusModel

package struct TokenSeal: Sendable {
    private let key: SymmetricKey
    private let run: Incarnation
    private let ownKey: SymmetricKey
    private let nameKey: SymmetricKey

    /// The purpose of a token; a token of one kind is never accepted as another.
    package enum Kind: UInt8, Sendable {
        /// Proves what a caller has seen: later answers must not be older.
        case causal = 1
        /// How far a caller has fetched the changes of a zone, or of a database's zones.
        case changes = 2
        /// The place where a query goes on.
        case cursor = 3
        /// How far a device has been told what its user's subscriptions ask for.
        case feed = 4
        /// The HTTP gateway's tokens: users' sessions in browsers.
        case web = 5
    }

    private static let version: UInt8 = 1
    private static let headBytes = 18
    private static let tagBytes = 16
    /// Tokens beyond that size are not looked at.
    private static let longest = 256 << 10

    /// - Parameters:
    ///   - key: The cluster's, 32 bytes.
    ///   - run: This run of the node.
    package init(key: Bytes, run: Incarnation) {
        self.key = SymmetricKey(data: key)
        self.run = run
        ownKey = TokenSeal.key(of: run, self.key)
        nameKey = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: self.key,
            info: Bytes("cumulus names".utf8),
            outputByteCount: 32
        )
    }

    /// - Parameter number: Another one for each token of this run.
    package func seal(_ kind: Kind, _ content: Bytes, number: UInt64) -> Bytes {
        var head = CanonicalWriter(reserving: TokenSeal.headBytes)
        head.raw([TokenSeal.version, kind.rawValue])
        head.bigEndian(run.value)
        head.bigEndian(number)
        let sealed = try? ChaChaPoly.seal(
            content,
            using: ownKey,
            nonce: TokenSeal.nonce(number),
            authenticating: head.bytes
        )
        guard let sealed else { preconditionFailure("a short text can always be sealed") }
        return head.bytes + sealed.ciphertext + sealed.tag
    }

    /// The content of a token; nil if it is of another kind, not sealed by this cluster, or
    /// damaged.
    package func open(_ kind: Kind, _ bytes: Bytes) -> Bytes? {
        let shortest = TokenSeal.headBytes + TokenSeal.tagBytes
        guard (shortest...TokenSeal.longest).contains(bytes.count),
            bytes.starts(with: [TokenSeal.version, kind.rawValue])
        else { return nil }
        let head = bytes.prefix(TokenSeal.headBytes)
        let (run, number) = (TokenSeal.number(bytes[2..<10]), TokenSeal.number(bytes[10..<18]))
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
        return Bytes(content)
    }

    /// 16 bytes that name some content, the same on every node of the cluster; nobody else can make
    /// them.
    package func name(of content: Bytes) -> Bytes {
        Bytes(HMAC<SHA256>.authenticationCode(for: content, using: nameKey).prefix(16))
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
