// JSON as bytes: what is written, to the byte, and how Foundation reads it.

import CumulusModel
import Foundation
import Testing

@Suite struct JSONWriterTests {
    private func text(_ write: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        write(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// What Foundation makes of a value.
    private func parsed(_ json: JSON) throws -> Any {
        try JSONSerialization.jsonObject(with: Data(json.bytes), options: .fragmentsAllowed)
    }

    @Test func commasStandBetweenValuesOnly() {
        let written = text { json in
            json.object { json in
                json.key("none")
                json.object { _ in }
                json.key("empty")
                json.array { _ in }
                json.member("two", .array([.integer(1), .object([])]))
                json.key("lists")
                json.array(of: [1, 2]) { number, json in
                    json.array { $0.value(.integer(Int64(number))) }
                }
                json.member("last", .null)
            }
        }
        let expected =
            #"{"none": {}, "empty": [], "two": [1, {}], "lists": [[1], [2]], "last": null}"#
        #expect(written == expected)
        let tree: JSON = [
            "none": .object([]), "empty": .array([]),
            "two": .array([.integer(1), .object([])]),
            "lists": .array([.array([.integer(1)]), .array([.integer(2)])]), "last": .null,
        ]
        #expect(tree.text == expected)
        #expect(text { _ in } == "")
    }

    @Test(
        arguments: [
            0, 1, -1, 9, 10, -10, 99, 100, 1_234_567_890, 9_007_199_254_740_993, .max, .min,
            .max - 1, .min + 1, 1_000_000_000_000_000_000,
        ] as [Int64]
    )
    func integersHaveAllTheirDigits(number: Int64) throws {
        #expect(JSON.integer(number).text == String(number))
        #expect(try (parsed(.integer(number)) as? NSNumber)?.int64Value == number)
    }

    @Test(arguments: [
        0.0, -0.0, 5, -5, 0.1, 1e16, 1e21, 1e-7, 123_456.789, 1e-300,
        .greatestFiniteMagnitude, -1e300, .pi,
    ])
    func decimalsAreWrittenAsSwiftDescribesThem(number: Double) throws {
        #expect(JSON.decimal(number).text == "\(number)")
        #expect(try (parsed(.decimal(number)) as? NSNumber)?.doubleValue == number)
        #expect(try JSONReader.read(JSON.decimal(number).bytes) == .decimal(number))
    }

    @Test(
        arguments: [
            ("", #""""#), ("plain", #""plain""#), ("a\"b\\c/", #""a\"b\\c/""#),
            ("\n\r\t", #""\n\r\t""#),
            ("\u{0}\u{1}\u{8}\u{C}\u{1F}", #""\u0000\u0001\u0008\u000c\u001f""#),
            ("\u{7F}\u{80}\u{9F}\u{A0}", #""\u007f\u0080\u009f\#u{A0}""#),
            ("é\u{BF}\u{C0}\u{C2}", "\"é\u{BF}\u{C0}\u{C2}\""), ("e\u{301}", "\"e\u{301}\""),
            ("\u{2028}\u{FFFF}\u{1F9C0}", "\"\u{2028}\u{FFFF}\u{1F9C0}\""),
            ("\r\n", #""\r\n""#),
        ] as [(String, String)]
    )
    func stringsAreEscapedWhereTheyMustBe(string: String, expected: String) throws {
        let written = JSON.string(string)
        #expect(written.text.utf8.elementsEqual(expected.utf8), "\(written.text)")
        #expect(try JSONReader.read(written.bytes) == written)
        let key = text { json in json.object { $0.member(string, .null) } }
        #expect(key.utf8.elementsEqual("{\(expected): null}".utf8))
    }

    /// Every code point up to U+0800 and some beyond, alone and between others.
    @Test func foundationReadsEachCharacter() throws {
        let numbers = Array(UInt32(0)..<0x800) + [0x2028, 0x2029, 0xD7FF, 0xE000, 0xFFFD, 0x10FFFF]
        for scalar in numbers.compactMap(Unicode.Scalar.init) {
            let string = "a\(Character(scalar))\u{C2}b\(Character(scalar))"
            let read = try parsed(.string(string)) as? String
            #expect(read.map { Array($0.utf8) } == Array(string.utf8), "U+\(scalar.value)")
        }
    }

    @Test func foundationReadsTheSameTree() throws {
        let json: JSON = [
            "name": "Grüße \u{1F9C0}", "flag": .bool(true), "none": .null,
            "numbers": .array([.integer(.max), .integer(-1), .decimal(0.5)]),
            "nested": ["list": .array([.object([]), .array([])])],
        ]
        let again = try JSONSerialization.data(
            withJSONObject: parsed(json),
            options: .sortedKeys
        )
        let expected =
            #"{"flag":true,"name":"Grüße \#u{1F9C0}","nested":{"list":[{},[]]},"none":null,"#
            + #""numbers":[9223372036854775807,-1,0.5]}"#
        #expect(String(decoding: again, as: UTF8.self) == expected)
        #expect(JSON { $0.value(json) } == json)
        #expect(JSON { $0.value(.decimal(.nan)) } == .null)
    }

    /// Few keys are compared one by one, many are looked up.
    @Test(arguments: [1, 2, 11, 12, 13, 40])
    func aKeyThatOccursTwiceIsFound(count: Int) throws {
        let members = (0..<count).map { JSON.Member("key\($0)", .integer(Int64($0))) }
        #expect(try JSONReader.read(JSON.object(members).bytes) == .object(members))
        for place in [0, count - 1] {
            let twice = JSON.object(members + [JSON.Member("key\(place)", .null)])
            #expect(throws: JSONReader.Problem.self) { try JSONReader.read(twice.bytes) }
        }
    }
}
