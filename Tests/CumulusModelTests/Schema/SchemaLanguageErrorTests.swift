// Errors for texts that are no schema: they say what is wrong, where, and what to do.

import CumulusModel
import Testing

@Suite struct SchemaLanguageErrorTests {
    static func refusal(of text: String) throws -> SchemaLanguageError {
        try #require(throws: SchemaLanguageError.self) { try Schema(ckdb: text) }
    }

    /// A text of the list of errors, as a file would hold it.
    static func unescaped(_ line: Substring) -> String {
        let escapes = [("\\n", "\n"), ("\\t", "\t"), ("\\0", "\0"), ("\\f", "\u{0C}")]
        let text = escapes.reduce(String(line)) { $0.replacing($1.0, with: $1.1) }
        return text.hasPrefix("@") ? "DEFINE SCHEMA\n" + text.dropFirst() : text
    }

    @Test func everyErrorIsToldWithItsPlaceAndWhatToDo() throws {
        let list = try SchemaLanguageTests.fixture("schema-errors.txt")
        let lines = list.split(separator: "\n", omittingEmptySubsequences: false)
        var count = 0
        for (text, answer) in zip(lines, lines.dropFirst()) where answer.hasPrefix("    ") {
            let error = try Self.refusal(of: Self.unescaped(text))
            #expect("    \(error)" == answer, "\(text)")
            count += 1
        }
        #expect(count == 126)
    }

    @Test func anErrorHasItsPartsApart() throws {
        let error = try Self.refusal(of: "DEFINE SCHEMA\n  é")
        #expect((error.line, error.column) == (2, 3))
        #expect(error.description == "2:3: \(error.message)")
    }

    @Test func columnsCountUnicodeScalarsAndNotBytes() throws {
        // The family is one character of five scalars, the accent one of its own.
        let family = "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}"
        let error = try Self.refusal(of: "DEFINE SCHEMA /*\(family)e\u{301}漢*/ !")
        #expect(error.description.hasPrefix("1:28: '!' can't stand here"))
        let windows = try Self.refusal(of: "DEFINE SCHEMA\r\n !")
        #expect((windows.line, windows.column) == (2, 2))
    }

    @Test func aTypeHasAtMost256FieldsBesidesSystemFields() throws {
        let system = SystemField.allCases.map { "\"\($0.rawValue)\" \($0.kind.name) QUERYABLE" }
        let fields = system + (1...256).map { "f\($0) STRING" }
        let full = "DEFINE SCHEMA\nRECORD TYPE T (\n" + fields.joined(separator: ",\n")
        #expect(try Schema(ckdb: full + ");").recordType("T")?.fields.count == 264)
        let error = try Self.refusal(of: full + ",\n  g INT64);")
        let message = "record type 'T' has more than 256 fields; remove some, or use two types"
        #expect(error.description == "267:3: \(message)")
    }

    @Test func namesHaveAtMost255Bytes() throws {
        let name = String(repeating: "n", count: 255)
        #expect(throws: Never.self) { try Schema(ckdb: "DEFINE SCHEMA CREATE ROLE \(name);") }
        let texts = [
            "RECORD TYPE \(name)n (a STRING);", "RECORD TYPE T (\(name)n STRING);",
            "CREATE ROLE \(name)n;",
            "RECORD TYPE \"cloudkit.share\" (\"cloudkit.\(name.dropLast(8))\" STRING);",
        ]
        for text in texts {
            let error = try Self.refusal(of: "DEFINE SCHEMA " + text)
            #expect(error.message.contains("is 256 bytes long; the limit is 255"))
        }
    }

    @Test func aTextLongerThanAMebibyteIsRefused() throws {
        let start = "DEFINE SCHEMA --"
        let full = start + String(repeating: "x", count: 1 << 20 - start.utf8.count)
        #expect(throws: Never.self) { try Schema(ckdb: full) }
        let error = try Self.refusal(of: full + "x")
        let message = "the schema is 1048577 bytes long; the limit is 1048576, so shorten it"
        #expect(error.description == "1:1: \(message)")
    }

    @Test func longWordsAreCutInMessages() throws {
        let word = String(repeating: "w", count: 1_000)
        let error = try Self.refusal(of: "DEFINE SCHEMA " + word)
        #expect(error.message.hasPrefix("found 'wwww"))
        #expect(error.message.contains("www...'"))
        #expect(error.message.utf8.count < 200)
    }

    @Test func largeTextsTakeLittleTime() throws {
        // Whatever was not linear would take minutes.
        let room = (1 << 20) - 100
        let starts = ["(", "<", "LIST<", "/*", "/*/", "\"", "a ", "é", "-- \n", "GRANT ", "\n"]
        for start in starts {
            let text = String(repeating: start, count: room / start.utf8.count)
            _ = try? Schema(ckdb: "DEFINE SCHEMA RECORD TYPE T (a LIST<" + text)
            _ = try? Schema(ckdb: "DEFINE SCHEMA " + text)
        }
        let types = (0..<30_000).map { "RECORD TYPE t\($0) (a STRING);" }
        #expect(try Schema(ckdb: "DEFINE SCHEMA " + types.joined()).recordTypes.count == 30_000)
        let grant = "GRANT READ TO \"_world\","
        let grants = String(repeating: grant, count: room / grant.utf8.count)
        let schema = try Schema(ckdb: "DEFINE SCHEMA RECORD TYPE T (\(grants) a STRING);")
        #expect(schema.recordTypes.first?.grants.count == 1)
    }
}
