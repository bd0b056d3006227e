// Base64 in its two forms: each text stands for one sequence of bytes. In the form of the web each
// sequence has one text, in the other one a second without padding.

import CumulusModel
import CumulusTesting
import Testing

@Suite struct Base64Tests {
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"),
        ("fooba", "Zm9vYmE"), ("foobar", "Zm9vYmFy"), ("\u{3FB}\u{3FF}>?", "z7vPvz4_"),
    ])
    func isThatOfTheStandard(text: String, encoded: String) {
        #expect(Base64URL.encode(text.utf8) == encoded)
        #expect(Base64URL.decode(encoded.utf8) == Bytes(text.utf8))
    }

    @Test func whatIsEncodedIsDecoded() {
        var dice = SeededGenerator(seed: 1)
        for count in 0..<100 {
            let bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &dice) }
            #expect(Base64URL.decode(Base64URL.encode(bytes).utf8) == bytes)
        }
    }

    /// Padding, the other alphabet, spaces, a lone digit, and bits that stand for nothing.
    @Test(arguments: ["Zg==", "Zm8=", "a+b/", "Zm 9v", "Z", "Zm9vY", "Zh", "Zm9", "\u{E9}a"])
    func anythingElseIsRefused(text: String) {
        #expect(Base64URL.decode(text.utf8) == nil)
    }

    @Test func thePaddingMayBeMissing() {
        for count in 0..<10 {
            let bytes = Bytes((0..<count).map { UInt8(255 - 9 * $0) })
            let text = Base64.encode(bytes)
            #expect(text.utf8.count % 4 == 0)
            #expect(Base64.decode(text) == bytes)
            #expect(Base64.decode(text.replacing("=", with: "")) == bytes)
        }
        #expect(Base64.encode([0xFB, 0xFF]) == "+/8=")
        for text in ["=", "A", "AA=", "AB==", "AA==A", "-_8=", "A A=", "AA===="] {
            #expect(Base64.decode(text) == nil, "\(text)")
        }
    }
}
