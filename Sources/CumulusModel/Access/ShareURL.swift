// The address of a share: a prefix of the operator's choice and 22 characters.
//
// The node makes it, apps give it to people, and accepting reads it. It admits only people whom the
// share admits.

/// The end of a share's URL: 16 bytes as 22 characters of base64url.
public struct ShareURL: Hashable, Sendable {
    /// 16 of them.
    package let bytes: Bytes

    package static let byteCount = 16

    /// - Parameter bytes: 16 of them.
    package init?(bytes: Bytes) {
        guard bytes.count == ShareURL.byteCount else { return nil }
        self.bytes = bytes
    }

    /// The share that a URL means: the last part of its path, without what follows `#` or `?`.
    ///
    /// Case counts. nil if it can't be a share's URL.
    package init?(text: String) {
        let path = text.utf8.prefix { $0 != UInt8(ascii: "#") && $0 != UInt8(ascii: "?") }
        let last = path.split(separator: UInt8(ascii: "/")).last ?? path[...]
        guard let bytes = Base64URL.decode(last) else { return nil }
        self.init(bytes: bytes)
    }

    /// 22 characters.
    package var text: String { Base64URL.encode(bytes) }
}
