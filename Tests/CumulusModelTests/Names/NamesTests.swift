// What may be a name, and that a refusal says what was wrong.

import CumulusModel
import Testing

@Suite struct NamesTests {
    private static func identifier(_ bytes: Bytes) throws(ServiceError) -> String {
        try Names.checkIdentifier(bytes[...], "record name")
    }

    private static func schemaName(_ text: String) throws(ServiceError) -> String {
        try Names.checkSchemaName(Bytes(text.utf8)[...], "field name")
    }

    @Test(arguments: ["a", "A b~c!", " ", "x_", "0", String(repeating: "n", count: 255)])
    func identifiersArePrintableASCII(name: String) throws {
        #expect(try Self.identifier(Bytes(name.utf8)) == name)
    }

    @Test(arguments: [
        ("ann", "ann"), (" ann", "ann"), ("ann  ", "ann"), ("  ann lee ", "ann lee"), ("A", "A"),
    ])
    func newUsersNamesLoseOuterSpaces(given: String, name: String) throws {
        #expect(Names.trimmed(given) == name)
        #expect(try Names.checkNewUserName(Bytes(given.utf8)) == name)
    }

    @Test(arguments: ["", " ", "   ", "_ann", " _ann", "ann\t", "ann\u{A0}", "ann\u{200B}", "änn"])
    func otherNamesOfUsersAreRefused(given: String) {
        #expect(throws: ServiceError.self) { try Names.checkNewUserName(Bytes(given.utf8)) }
    }

    @Test func usersNamesAreRecordNames() throws {
        let name = "_" + String(repeating: "0f", count: 16)
        #expect(Names.isUserRecordName(name))
        #expect(try Names.checkRecordName(Bytes(name.utf8)[...], "record name") == name)
        #expect(throws: ServiceError.self) { try Self.identifier(Bytes(name.utf8)) }
        for other in ["_" + name, "x" + name, String(name.dropLast()), name.uppercased(), "_"] {
            #expect(!Names.isUserRecordName(other))
        }
        #expect(throws: ServiceError.self) {
            try Names.checkRecordName(Bytes(name.uppercased().utf8)[...], "record name")
        }
    }

    static let refusals: [(Bytes, String)] = [
        ([], "must not be empty"),
        (Bytes(repeating: 0x61, count: 256), "256 bytes long; the limit is 255"),
        ([0x5F, 0x61], "must not begin with an underscore"),
        ([0x61, 0], "must not contain NUL"),
        ([0x61, 0x1F], "printable ASCII"),
        ([0x61, 0x7F], "printable ASCII"),
        (Bytes("é".utf8), "printable ASCII"),
        ([0x61, 0xFF], "not valid UTF-8"),
        ([0xC0, 0x80], "not valid UTF-8"),
    ]

    @Test(arguments: refusals)
    func otherIdentifiersAreRefusedWithTheReason(bytes: Bytes, reason: String) throws {
        let error = try #require(throws: ServiceError.self) { try Self.identifier(bytes) }
        #expect(error.code == .invalidArguments)
        #expect(error.reason == .invalidName)
        #expect(error.message.contains(reason))
        #expect(error.message.hasPrefix("record name"))
    }

    @Test(arguments: ["a", "Z9", "snake_case", "a_"])
    func schemaNamesAreALetterAndMore(name: String) throws {
        #expect(try Self.schemaName(name) == name)
    }

    @Test(arguments: ["", "_a", "9a", "a b", "a.b", "a-b", "é", "a\u{0}", "@", "[", "`", "{"])
    func otherSchemaNamesAreRefused(name: String) {
        #expect(throws: ServiceError.self) { try Self.schemaName(name) }
        #expect(throws: ServiceError.self) { try Self.schemaName("a" + name + "\u{7F}") }
    }

    @Test func textMayBeAnyUTF8() throws {
        #expect(try Names.checkText(Bytes("_é 漢".utf8)[...], "user") == "_é 漢")
        #expect(throws: ServiceError.self) { try Names.checkText([0x61, 0], "user") }
    }
}
