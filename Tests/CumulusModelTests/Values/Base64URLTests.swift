// Base64 of the web: each text stands for one sequence of bytes, and each sequence for one text.

import CumulusModel
import CumulusTesting
import Testing

@Suite struct Base64URLTests {
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"),
        ("fooba", "Zm9vYmE"), ("foobar", "Zm9vYmFy"), ("\u{3FB}\u{3FF}>?", "z7vPvz4_"),
    ])
    func isThatOfTheStandard(text: String, encoded: String) {
        #expect(Base64URL.encode(text.utf8) == encoded)
        #expect(Base64URL.decode(Bytes(encoded.utf8)[...]) == Bytes(text.utf8))
    }

    @Test func whatIsEncodedIsDecoded() {
        var dice = SeededGenerator(seed: 1)
        for count in 0..<100 {
            let bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &dice) }
            #expect(Base64URL.decode(Bytes(Base64URL.encode(bytes).utf8)[...]) == bytes)
        }
    }

    /// Padding, the other alphabet, spaces, a lone digit, and bits that stand for nothing.
    @Test(arguments: ["Zg==", "Zm8=", "a+b/", "Zm 9v", "Z", "Zm9vY", "Zh", "Zm9", "\u{E9}a"])
    func anythingElseIsRefused(text: String) {
        #expect(Base64URL.decode(Bytes(text.utf8)[...]) == nil)
    }
}
