// Base64 as tokens and keys of the web have it: with - and _, and without padding (RFC 4648, 5).
//
// Read by the parts of CumulusOperations that take ID tokens and their issuers' keys.

/// How bytes and text of this form become each other.
package enum Base64URL {
    private static let digits = Bytes(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8
    )
    private static let values = {
        var values = [UInt8?](repeating: nil, count: 256)
        for (value, digit) in digits.enumerated() { values[Int(digit)] = UInt8(value) }
        return values
    }()

    /// The bytes of a text; nil if it is not the one text that `encode` makes of them.
    package static func decode(_ text: ArraySlice<UInt8>) -> Bytes? {
        guard text.count % 4 != 1 else { return nil }
        var bytes = Bytes()
        bytes.reserveCapacity(text.count * 3 / 4)
        var (pending, count): (UInt32, Int) = (0, 0)
        for digit in text {
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

    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text = Bytes()
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
        return String(decoding: text, as: UTF8.self)
    }
}
