// The words of the schema language (.ckdb), and how an error in a text is told.
//
// Lexer, parser and printer share them, so that what is printed can be read.

/// The schema language: `Schema(ckdb:)` reads it, `Schema.ckdb` prints it.
package enum SchemaLanguage {
    static let indexes: [(name: String, index: Schema.Indexes)] = [
        ("QUERYABLE", .queryable), ("SEARCHABLE", .searchable), ("SORTABLE", .sortable),
    ]

    static let permissions: [(name: String, permission: Schema.Permissions)] = [
        ("READ", .read), ("CREATE", .create), ("WRITE", .write),
    ]

    static let typeWords = Set(FieldKind.allCases.map(\.name) + ["LIST", "ENCRYPTED", "NUMBER"])

    /// Words that mean something, in upper case; as names they are quoted.
    static let reservedWords: Set<String> =
        typeWords
        .union(["DEFINE", "SCHEMA", "CREATE", "ROLE", "RECORD", "TYPE", "PREFERRED", "AS"])
        .union(["GRANT", "TO"])
        .union(indexes.map(\.name))
        .union(permissions.map(\.name))

    static func names(of indexes: Schema.Indexes) -> [String] {
        Self.indexes.filter { indexes.contains($0.index) }.map(\.name)
    }

    static func names(of permissions: Schema.Permissions) -> [String] {
        Self.permissions.filter { permissions.contains($0.permission) }.map(\.name)
    }

    /// `A`, `A or B`, `A, B or C`.
    static func oneOf(_ words: [String]) -> String {
        guard let last = words.last, words.count > 1 else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + " or " + last
    }

    /// Whether a byte may stand in a name without quotes.
    static func isWordByte(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || byte == UInt8(ascii: "_")
    }
}

/// Why a text is no schema, and where.
public struct SchemaLanguageError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Counted from 1.
    public let line: Int
    /// Counted from 1, in Unicode scalars.
    public let column: Int
    /// A message that says what was found, what was expected, and what to do.
    public let message: String

    /// Line, column and message, with colons between.
    public var description: String { "\(line):\(column): \(message)" }

    /// An error at a byte of a text.
    init(_ message: String, at offset: Int, in text: Bytes) {
        var place = (line: 1, column: 1)
        for byte in text[..<offset] {
            if byte == UInt8(ascii: "\n") {
                place = (place.line + 1, 1)
            } else if byte & 0xC0 != 0x80 {
                // Bytes of the form 10xxxxxx continue a scalar.
                place.column += 1
            }
        }
        (line, column) = place
        self.message = message
    }
}
