// The order of bytes, and their hexadecimal form.

import CumulusModel
import CumulusTesting
import Testing

@Suite struct BytesTests {
    @Test func aPrefixComesFirstAndBytesAreUnsigned() {
        let ascending: [Bytes] = [
            [], [0], [0, 0], [0, 1], [0x7F, 0xFF], [0x80], [0xFF], [0xFF, 0],
        ]
        for (index, left) in ascending.enumerated() {
            for (other, right) in ascending.enumerated() {
                #expect(precedes(left, right) == (index < other))
            }
        }
    }

    @Test(arguments: UInt64(1)...4)
    func theOrderIsThatOfTheStandardLibrary(seed: UInt64) {
        var dice = SeededGenerator(seed: seed)
        func random() -> Bytes {
            (0..<Int.random(in: 0...4, using: &dice)).map { _ in
                [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &dice) ?? 0
            }
        }
        for _ in 0..<500 {
            let (left, right) = (random(), random())
            #expect(precedes(left, right) == left.lexicographicallyPrecedes(right))
            #expect(areEqual(left, right) == (left == right))
        }
    }

    /// Bytes that are no UTF-8 are refused, whatever decoding would make of them: three bytes may
    /// become one character of three bytes.
    @Test(arguments: UInt64(1)...4)
    func textIsWhatTheStandardLibrarySays(seed: UInt64) {
        var dice = SeededGenerator(seed: seed)
        let parts: [Bytes] = [
            Bytes("plain".utf8), Bytes("é".utf8), Bytes("€".utf8), Bytes("😀".utf8), [0xF0, 0x9F],
            [0xF0, 0x9F, 0x98], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xFF], [0], [0xEF, 0xBF, 0xBD],
        ]
        for _ in 0..<2_000 {
            let bytes = (0..<Int.random(in: 0...4, using: &dice)).flatMap { _ in
                parts.randomElement(using: &dice) ?? []
            }
            let padded = [1] + bytes + [2]
            #expect(
                String(utf8: padded[1..<padded.count - 1])
                    == String(validating: bytes, as: UTF8.self)
            )
        }
    }

    @Test func hexadecimalComesBack() {
        let bytes = Bytes(0...255)
        #expect(Bytes(hex: bytes.hex) == bytes)
        #expect(bytes.hex.hasPrefix("000102") && bytes.hex.hasSuffix("fdfeff"))
        #expect(Bytes(hex: "aB0F") == [0xAB, 0x0F])
        #expect(Bytes(hex: "") == [])
    }

    @Test(arguments: ["a", "abc", "0g", "zz", " 00", "0 0", "é0"])
    func otherTextIsNotHexadecimal(text: String) {
        #expect(Bytes(hex: text) == nil)
    }
}
