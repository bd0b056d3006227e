// Reading and writing JSON: exact values, and refused texts.

import CumulusModel
import Testing

@Suite struct JSONTests {
    private func read(_ text: String) throws -> JSON { try JSONReader.read(text.utf8) }

    @Test(arguments: [
        ("0", JSON.integer(0)), ("-0", .integer(0)), ("35", .integer(35)),
        ("9007199254740993", .integer(9_007_199_254_740_993)),
        ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
        ("35.0", .decimal(35)), ("1e3", .decimal(1_000)), ("-2.5E-1", .decimal(-0.25)),
        ("0.1", .decimal(0.1)),
    ])
    func tellsIntegersFromDecimals(text: String, expected: JSON) throws {
        #expect(try read(text) == expected)
    }

    /// Web services take numbers that browsers write, and judge each where it is read.
    @Test(arguments: [
        ("9223372036854775807", JSON.integer(.max)), ("9223372036854775808", .decimal(0x1p63)),
        ("-9223372036854775809", .decimal(-0x1p63)), ("100000000000000000000", .decimal(1e20)),
        ("35.0", .decimal(35)), ("1e309", .decimal(.infinity)), ("-1e309", .decimal(-.infinity)),
    ])
    func takesTheNearestDoubleWhereThatIsWanted(text: String, expected: JSON) throws {
        #expect(try JSONReader.read(text.utf8, numbers: .nearest) == expected)
    }

    @Test func keepsTheSignOfZero() throws {
        #expect(try read("-0.0").text == "-0.0")
        #expect(try read("0.0").text == "0.0")
    }

    @Test(arguments: [
        35.0, -35, 0.1, 1e21, 1e300, -1e-300, .leastNonzeroMagnitude, .greatestFiniteMagnitude,
    ])
    func writesDecimalsThatAreReadAsTheSameDecimal(number: Double) throws {
        #expect(try read(JSON.decimal(number).text) == .decimal(number))
    }

    @Test func readsStructure() throws {
        let json = try read(
            " {\"a\" : [1, \"x\", null, true, false, {}, []],\t\"b\":{\"c\":2.5}} \r\n"
        )
        #expect(
            json == [
                "a": .array([
                    .integer(1), "x", .null, .bool(true), .bool(false), .object([]), .array([]),
                ]),
                "b": ["c": .decimal(2.5)],
            ]
        )
    }

    @Test func readsEscapes() throws {
        let json = try read(#""\"\\\/\b\f\n\r\t\u0041\u00e9\ud83c\udfdd\u0000""#)
        #expect(json == .string("\"\\/\u{8}\u{C}\n\r\tA\u{E9}\u{1F3DD}\u{0}"))
    }

    @Test func doesNotNormaliseText() throws {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        #expect(try read("\"\(decomposed)\"") == .string(decomposed))
        #expect(try read("\"\(decomposed)\"") != .string(composed))
        #expect(try read("{\"\(composed)\": 1, \"\(decomposed)\": 2}").text.utf8.count == 19)
    }

    @Test func writesTextThatIsReadAsTheSame() throws {
        for value: UInt32 in [0, 7, 0x1F, 0x22, 0x5C, 0x7F, 0x85, 0xA0, 0x2028, 0xFFFF, 0x10FFFF] {
            let scalar = try #require(Unicode.Scalar(value))
            let json = JSON.string("a\(Character(scalar))b")
            #expect(try read(json.text) == json)
        }
        #expect(JSON.string("\u{1B}[2J\u{9B}").text == "\"\\u001b[2J\\u009b\"")
    }

    @Test(arguments: [
        "", "  ", "{", "[", "[1", "[1,", "[1,]", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,}",
        "{a:1}", "'a'", "\"a", "\"\\", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\ud83c\"",
        "\"\\ud83c\\u0041\"", "\"\\udfdd\"", "\"a\nb\"", "01", "+1", "-", "1.", ".5", "1e", "1e+",
        "tru", "nul", "NaN", "Infinity", "1 2", "{} x", "9223372036854775808",
        "-9223372036854775809", "1e309", "{\"a\": 1, \"a\": 2}", "\u{FEFF}1",
    ])
    func refuses(text: String) {
        #expect(throws: JSONReader.Problem.self) { try read(text) }
    }

    @Test func refusesBrokenUTF8() {
        for bytes: [UInt8] in [[0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80]] {
            #expect(throws: JSONReader.Problem.self) {
                try JSONReader.read([0x22] + bytes + [0x22])
            }
        }
    }

    @Test func refusesDeepNesting() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(throws: Never.self) { try read(nested(32)) }
        #expect(throws: JSONReader.Problem.self) { try read(nested(33)) }
        #expect(throws: JSONReader.Problem.self) { try read(nested(1_000_000)) }
    }

    @Test func aProblemNamesItsPlace() {
        #expect(throws: JSONReader.Problem(message: "a value is expected at byte 7")) {
            try read("{\"a\": x}")
        }
    }
}
