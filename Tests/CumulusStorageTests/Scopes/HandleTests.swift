// Each handle has one spelling: texts that read the same are the same handle, and look-alikes are
// not.

import CumulusModel
import CumulusStorage
import Testing

@Suite struct HandleTests {
    private func email(_ text: String) throws -> String {
        try Handle(.email, Bytes(text.utf8)).text
    }

    private func code(_ kind: Handle.Kind, _ raw: Bytes) -> ServiceError.Code? {
        do {
            _ = try Handle(kind, raw)
            return nil
        } catch {
            return error.code
        }
    }

    @Test(arguments: [
        ("ada@example.org", "ada@example.org"), ("ADA@Example.ORG", "ada@example.org"),
        // é as one character and as two, ß and ς, which case folding changes and NFKC doesn't.
        ("cafe\u{301}@example.org", "caf\u{E9}@example.org"),
        ("CAFÉ@example.org", "caf\u{E9}@example.org"),
        ("weiß@example.de", "weiß@example.de"), ("σας@example.gr", "σας@example.gr"),
        ("用户@例え.jp", "用户@例え.jp"), ("a+b.c_d-e@example.org", "a+b.c_d-e@example.org"),
    ]) func anAddressHasOneSpelling(typed: String, kept: String) throws {
        #expect(Bytes(try email(typed).utf8) == Bytes(kept.utf8))
    }

    /// Letters of other scripts are others, however alike they look.
    @Test(arguments: ["\u{430}da@example.org", "ada@ex\u{430}mple.org", "\u{251}da@example.org"])
    func aLookAlikeIsAnother(text: String) throws {
        #expect(try email(text) != "ada@example.org")
    }

    /// A compatibility form or an invisible character would make a second spelling: who sends it
    /// has not brought it into the form NFKC.
    @Test(arguments: [
        "\u{FF41}da@example.org", "ada@\u{24D4}xample.org", "\u{FB01}ve@example.org",
        "a\u{200B}da@example.org", "a\u{AD}da@example.org", "ada\u{FEFF}@example.org",
        "ada\u{FF20}example.org", "a da@example.org", "ada@example.org\n", "ada\u{A0}@example.org",
        "", "@", "ada", "ada@", "@example.org", "ada@b@example.org", "a\u{0}@example.org",
        String(repeating: "a", count: 250) + "@example.org",
    ]) func whatIsNotPlainIsRefused(text: String) {
        #expect(code(.email, Bytes(text.utf8)) == .invalidArguments, "\(text)")
    }

    @Test func bytesThatAreNoTextAreRefused() {
        #expect(code(.email, [0x61, 0x40, 0xFF]) == .invalidArguments)
        #expect(code(.phone, [0x2B, 0xFF]) == .invalidArguments)
    }

    @Test(arguments: ["+4930123", "+493012345678", "+123456789012345"])
    func aNumberHasTheFormE164(text: String) throws {
        #expect(try Handle(.phone, Bytes(text.utf8)).text == text)
    }

    @Test(arguments: [
        "", "+", "493012345678", "+49 30 123", "+49-30-123", "+0493012345", "+493012",
        "+1234567890123456", "+49301234٥٦",
    ]) func otherNumbersAreRefused(text: String) {
        #expect(code(.phone, Bytes(text.utf8)) == .invalidArguments)
    }

    @Test func keysComeBack() throws {
        for handle in [
            try Handle(.email, Bytes("ada@example.org".utf8)),
            try Handle(.phone, Bytes("+493012345678".utf8)),
        ] { #expect(try Handle(key: handle.key) == handle) }
        let others: [[Bytes]] = [[], [[1]], [[9], [0x61]], [[1, 1], [0x61]], [[1], [0x61], []]]
        for key in others {
            #expect(throws: MalformedBytes.self) { try Handle(key: key) }
        }
        for holder in [
            HandleHolder(number: 7, userID: Bytes(repeating: 3, count: 16), verifiedBy: "operator"),
            HandleHolder(number: .max, userID: nil),
        ] { #expect(try HandleHolder(value: holder.value) == holder) }
    }
}
