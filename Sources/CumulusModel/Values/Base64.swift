// Base64 in its two forms (RFC 4648, 4 and 5).
//
// Used for the URLs of shares, for ID tokens and their issuers' keys, and by the gateway for bytes
// and tokens. Decoding is strict: apart from missing padding, each byte sequence has exactly one
// text. The code is written by hand: this target may use only the standard library, and Foundation
// accepts `QR==` as another spelling of `QQ==`.

/// The form of JSON and headers: with + and /, and padded with =.
package enum Base64 {
    private static let form = Base64Form(last: "+/", isPadded: true)

    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        form.encode(Bytes(bytes))
    }

    /// Decodes a text; returns nil unless it is what `encode` returns, with or without its padding.
    package static func decode(_ text: String) -> Bytes? { form.decode(Bytes(text.utf8)) }
}

/// The form of URLs, tokens and keys: with - and _, and without padding.
package enum Base64URL {
    private static let form = Base64Form(last: "-_", isPadded: false)

    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        form.encode(Bytes(bytes))
    }

    /// Decodes a text; returns nil unless it is exactly what `encode` returns for these bytes.
    package static func decode(_ text: some Sequence<UInt8>) -> Bytes? {
        form.decode(Bytes(text))
    }
}

private struct Base64Form {
    private let digits: Bytes
    private let values: [UInt8?]
    private let isPadded: Bool
    private static let padding = UInt8(ascii: "=")

    /// - Parameter last: The last two of the 64 digits.
    init(last: String, isPadded: Bool) {
        digits = Bytes(
            ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + last).utf8
        )
        var values = [UInt8?](repeating: nil, count: 256)
        for (value, digit) in digits.enumerated() { values[Int(digit)] = UInt8(value) }
        self.values = values
        self.isPadded = isPadded
    }

    func encode(_ bytes: Bytes) -> String {
        var text = Bytes()
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var (pending, count): (UInt32, Int) = (0, 0)
        for byte in bytes {
            pending = pending << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(digits[Int(pending >> UInt32(count)) & 63])
            }
            pending &= 1 << UInt32(count) - 1
        }
        if count > 0 { text.append(digits[Int(pending << UInt32(6 - count)) & 63]) }
        while isPadded, text.count % 4 != 0 { text.append(Base64Form.padding) }
        return String(decoding: text, as: UTF8.self)
    }

    func decode(_ text: Bytes) -> Bytes? {
        let digits = isPadded ? withoutPadding(text) : text[...]
        guard let digits, digits.count % 4 != 1 else { return nil }
        var bytes = Bytes()
        bytes.reserveCapacity(digits.count * 3 / 4)
        var (pending, count): (UInt32, Int) = (0, 0)
        for digit in digits {
            guard let value = values[Int(digit)] else { return nil }
            pending = pending << 6 | UInt32(value)
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: pending >> UInt32(count)))
            pending &= 1 << UInt32(count) - 1
        }
        return pending == 0 ? bytes : nil
    }

    /// The digits without the padding; nil if the padding is neither complete nor absent.
    private func withoutPadding(_ text: Bytes) -> ArraySlice<UInt8>? {
        let end = text.lastIndex { $0 != Base64Form.padding }.map { $0 + 1 } ?? 0
        let isWhole = end == text.count || (text.count % 4 == 0 && text.count - end < 3)
        return isWhole ? text[..<end] : nil
    }
}
