// Base64 with padding, as web services write bytes and tokens (RFC 4648, 4).
//
// The bytes are read by `Base64URL`, which takes the one text that stands for some bytes and no
// other.

import CumulusModel

package enum Base64 {
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text = Base64URL.encode(bytes).utf8.map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes of a text; nil if it is not what `encode` makes of them, but for missing padding.
    package static func decode(_ text: String) -> [UInt8]? {
        var digits: [UInt8] = []
        digits.reserveCapacity(text.utf8.count)
        var padding = 0
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "="): padding += 1
            case _ where padding > 0: return nil
            case UInt8(ascii: "+"): digits.append(UInt8(ascii: "-"))
            case UInt8(ascii: "/"): digits.append(UInt8(ascii: "_"))
            case UInt8(ascii: "-"), UInt8(ascii: "_"): return nil
            default: digits.append(byte)
            }
        }
        guard padding == 0 || padding == (4 - digits.count % 4) % 4 else { return nil }
        return Base64URL.decode(digits[...])
    }
}
