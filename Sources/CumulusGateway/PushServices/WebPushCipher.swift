// Encrypts a push for one browser: RFC 8291, in the content encoding of RFC 8188.
//
//   body = salt, 16 bytes · record size, 4 bytes · length of the key, 1 byte · the sender's key
//        · the only record: content · 2, encrypted with AES-128-GCM
//
// Called by `WebPush`. The sender's key and the salt are new for each push.

import Crypto
package import CumulusModel

package struct WebPushCipher: Sendable {
    /// The most bytes of a body; services take no more.
    package static let mostBytes = 4_096
    /// The most bytes of content: a body has a header of 86 bytes, a byte behind the content, and
    /// a tag of 16 bytes.
    package static let mostContent = mostBytes - 86 - 1 - 16
    private static let saltBytes = 16

    private let key: P256.KeyAgreement.PrivateKey
    private let salt: Bytes

    /// - Parameters:
    ///   - key: The private key, 32 bytes.
    ///   - salt: 16 bytes.
    package init(key: Bytes, salt: Bytes) throws {
        self.key = try P256.KeyAgreement.PrivateKey(rawRepresentation: key)
        self.salt = salt
    }

    /// - Parameter dice: Makes a random number.
    package init(dice: () -> UInt64) throws {
        func bytes(_ count: Int) -> Bytes {
            var writer = CanonicalWriter()
            for _ in 0..<(count / 8) { writer.bigEndian(dice()) }
            return writer.bytes
        }
        try self.init(key: bytes(32), salt: bytes(WebPushCipher.saltBytes))
    }

    /// The body for a browser.
    ///
    /// - Parameters:
    ///   - publicKey: Its `p256dh`, 65 bytes.
    ///   - secret: Its `auth`, 16 bytes.
    package func seal(_ content: Bytes, for publicKey: Bytes, secret: Bytes) throws -> Bytes {
        let theirs = try P256.KeyAgreement.PublicKey(x963Representation: publicKey)
        let own = Bytes(key.publicKey.x963Representation)
        let shared = try key.sharedSecretFromKeyAgreement(with: theirs)
        let input = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: shared.withUnsafeBytes { Bytes($0) }),
            salt: secret,
            info: Bytes("WebPush: info\0".utf8) + publicKey + own,
            outputByteCount: 32
        )
        return try WebPushCipher.encode(
            content,
            input.withUnsafeBytes { Bytes($0) },
            salt: salt,
            keyID: own
        )
    }

    /// The content in the encoding `aes128gcm`, as one record.
    ///
    /// - Parameters:
    ///   - input: What the keys are derived from.
    ///   - keyID: Tells the reader which key it is.
    package static func encode(
        _ content: Bytes,
        _ input: Bytes,
        salt: Bytes,
        keyID: Bytes
    ) throws -> Bytes {
        func derive(_ info: String, _ count: Int) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: input),
                salt: salt,
                info: Bytes("Content-Encoding: \(info)\0".utf8),
                outputByteCount: count
            )
        }
        let nonce = derive("nonce", 12).withUnsafeBytes { Bytes($0) }
        let box = try AES.GCM.seal(
            content + [2],
            using: derive("aes128gcm", 16),
            nonce: AES.GCM.Nonce(data: nonce)
        )
        let recordSize: Bytes = [0, 0, UInt8(mostBytes >> 8), UInt8(mostBytes & 0xFF)]
        let head = salt + recordSize + [UInt8(keyID.count)] + keyID
        return head + Bytes(box.ciphertext) + Bytes(box.tag)
    }

    /// The header by which a later push takes the place of an earlier one: at most 32 characters of
    /// Base64 for URLs.
    static func topic(_ collapse: String) -> String {
        Base64URL.encode(Bytes(SHA256.hash(data: Bytes(collapse.utf8))).prefix(24))
    }
}
