// The encryption of pushes to browsers, held to the examples of RFC 8291 and RFC 8188.

import Crypto
import CumulusGateway
import CumulusModel
import Testing

@Suite struct WebPushCipherTests {
    private static func bytes(_ text: String) throws -> Bytes {
        try #require(Base64URL.decode(text.utf8))
    }

    /// RFC 8291, appendix A.
    @Test func theExampleOfWebPush() throws {
        let cipher = try WebPushCipher(
            key: Self.bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"),
            salt: Self.bytes("DGv6ra1nlYgDCS1FRnbzlw")
        )
        let sealed = try cipher.seal(
            Bytes("When I grow up, I want to be a watermelon".utf8),
            for: Self.bytes(
                "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRp"
                    + "kNtoIAiw4"
            ),
            secret: Self.bytes("BTBZMqHH6r4Tts7J_aSIgg")
        )
        #expect(
            Base64URL.encode(sealed)
                == "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6"
                + "e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZ"
                + "wbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        )
    }

    /// RFC 8188, section 3.1.
    @Test func theExampleOfTheContentEncoding() throws {
        let encoded = try WebPushCipher.encode(
            Bytes("I am the walrus".utf8),
            Self.bytes("yqdlZ-tYemfogSmv7Ws5PQ"),
            salt: Self.bytes("I1BsxtFttlv3u_Oo94xnmw"),
            keyID: []
        )
        #expect(
            Base64URL.encode(encoded)
                == "I1BsxtFttlv3u_Oo94xnmwAAEAAA-NAVub2qFgBEuQKRapoZu-IxkIva3MEB1PD-ly8Thjg"
        )
    }

    @Test func theLongestContentFillsABody() throws {
        var dice = SeededGenerator(seed: 1)
        let cipher = try WebPushCipher { dice.next() }
        let browser = P256.KeyAgreement.PrivateKey()
        let sealed = try cipher.seal(
            Bytes(repeating: 0x61, count: WebPushCipher.mostContent),
            for: Bytes(browser.publicKey.x963Representation),
            secret: Bytes(repeating: 7, count: 16)
        )
        #expect(WebPushCipher.mostContent == 3_993)
        #expect(sealed.count == 4_096)
    }

    @Test func eachPushHasAKeyAndASaltOfItsOwn() throws {
        var dice = SeededGenerator(seed: 2)
        let browser = Bytes(P256.KeyAgreement.PrivateKey().publicKey.x963Representation)
        let sealed = try (0..<20).map { _ in
            try WebPushCipher { dice.next() }.seal([1], for: browser, secret: Bytes(0..<16))
        }
        #expect(Set(sealed.map { Bytes($0.prefix(16)) }).count == 20)
        #expect(Set(sealed.map { Bytes($0[21..<86]) }).count == 20)
    }

    @Test func aKeyThatIsNoPointIsRefused() throws {
        let cipher = try WebPushCipher(
            key: Bytes(repeating: 1, count: 32),
            salt: Bytes(repeating: 0, count: 16)
        )
        #expect(throws: (any Error).self) {
            try cipher.seal([], for: Bytes(repeating: 4, count: 65), secret: Bytes(0..<16))
        }
    }
}
