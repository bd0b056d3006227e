// A link that signs an operator in to a node's console: what it holds, and which bytes its code is
// made of.
//
// Made by the client of an operator, who has the token; judged by the node. It is good once, for a
// minute, at one run of a node. proto/operators.md describes it.

package import CumulusModel

package struct ConsoleLink: Hashable, Sendable {
    /// How long one is good, in milliseconds.
    package static let life: Int64 = 60_000
    package static let nonceBytes = 16
    private static let codeBytes = 32

    /// When it was made by the node's clock, in milliseconds since 1970 UTC.
    package var time: Int64
    /// Random bytes, by which the node knows links that were used.
    package var nonce: Bytes
    /// HMAC-SHA256 of `message`; its key is the operator token.
    package var code: Bytes

    package init(time: Int64, nonce: Bytes, code: Bytes) {
        (self.time, self.nonce, self.code) = (time, nonce, code)
    }

    /// The bytes of which the code is made.
    ///
    /// - Parameter incarnation: The run of the node.
    package static func message(of incarnation: UInt64, time: Int64, nonce: Bytes) -> Bytes {
        Bytes("cumulus console link".utf8) + bigEndian(incarnation)
            + bigEndian(UInt64(bitPattern: time)) + nonce
    }

    /// Hexadecimal digits, as they stand in the URL.
    package var text: String {
        (ConsoleLink.bigEndian(UInt64(bitPattern: time)) + nonce + code).hex
    }

    /// nil for what no client makes.
    package init?(text: String) {
        guard text.utf8.count == 2 * (8 + ConsoleLink.nonceBytes + ConsoleLink.codeBytes),
            let bytes = Bytes(hex: text)
        else { return nil }
        let bits = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        self.init(
            time: Int64(bitPattern: bits),
            nonce: Bytes(bytes.dropFirst(8).prefix(ConsoleLink.nonceBytes)),
            code: Bytes(bytes.suffix(ConsoleLink.codeBytes))
        )
    }

    private static func bigEndian(_ number: UInt64) -> Bytes {
        withUnsafeBytes(of: number.bigEndian, Array.init)
    }
}
