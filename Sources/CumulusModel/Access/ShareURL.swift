// The address of a share: a prefix of the operator's choice and 22 characters.
//
// Made by the node, given to people by apps, read where somebody accepts. It lets in only whom the
// share lets in.

/// What the URL of a share ends with: 16 bytes as 22 characters of base64url.
public struct ShareURL: Hashable, Sendable {
    /// 16 of them.
    package let bytes: Bytes

    package static let byteCount = 16
    private static let characterCount = 22
    private static let alphabet = Bytes(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8
    )

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
        guard last.count == ShareURL.characterCount else { return nil }
        var bytes: Bytes = []
        var (bits, count) = (UInt32(0), 0)
        for character in last {
            guard let value = ShareURL.alphabet.firstIndex(of: character) else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            bits &= 1 << UInt32(count) - 1
        }
        // Four bits are left over: other characters there would name the same share twice.
        guard bytes.count == ShareURL.byteCount, bits == 0 else { return nil }
        self.bytes = bytes
    }

    /// 22 characters.
    package var text: String {
        var text: Bytes = []
        var (bits, count) = (UInt32(0), 0)
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(ShareURL.alphabet[Int(bits >> UInt32(count) & 63)])
            }
            bits &= 1 << UInt32(count) - 1
        }
        text.append(ShareURL.alphabet[Int(bits << UInt32(6 - count) & 63)])
        return String(decoding: text, as: UTF8.self)
    }
}
