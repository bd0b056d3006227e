// Cuts a text of the schema language into words, quoted names and signs. Blanks and comments are
// dropped.
//
// Called by the parser, one token at a time, so that the first error of a text is the one reported.
// A copy of a lexer looks ahead without moving the original.

extension SchemaLanguage {
    /// A word, a quoted name or a sign, and where it begins.
    struct Token {
        enum Kind: Equatable {
            case word
            case quoted
            case sign
            case end
        }

        var kind: Kind
        /// The name or the sign; of a quoted name, what is between the quotes.
        var text: String
        var offset: Int
        /// A word in upper case; empty for everything else, which is never a keyword.
        var keyword = ""

        /// How messages show it; long words are cut.
        var shown: String {
            let start = String(text.unicodeScalars.prefix(40))
            let short = text.utf8.count == start.utf8.count ? start : start + "..."
            return kind == .quoted ? "\"\(short)\"" : "'\(short)'"
        }

        var isName: Bool { kind == .word || kind == .quoted }

        func isSign(_ sign: String) -> Bool { kind == .sign && text == sign }
    }

    /// Reads one token after the other.
    struct Lexer {
        let text: Bytes
        private var position = 0

        init(_ text: Bytes) {
            // Some editors put a byte order mark in front.
            self.text = text.starts(with: [0xEF, 0xBB, 0xBF]) ? Bytes(text.dropFirst(3)) : text
        }

        mutating func next() throws(SchemaLanguageError) -> Token {
            try skipBlanks()
            guard let byte = byte(0) else {
                return Token(kind: .end, text: "", offset: position)
            }
            switch byte {
            case UInt8(ascii: "\""): return try quoted()
            case UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "<"), UInt8(ascii: ">"),
                UInt8(ascii: ","), UInt8(ascii: ";"):
                return token(.sign, position..<position + 1)
            case _ where isWordByte(byte): return try word()
            default: throw strange(at: position)
            }
        }

        func error(_ message: String, at offset: Int) -> SchemaLanguageError {
            SchemaLanguageError(message, at: offset, in: text)
        }

        private func byte(_ ahead: Int) -> UInt8? {
            position + ahead < text.count ? text[position + ahead] : nil
        }

        private mutating func token(_ kind: Token.Kind, _ range: Range<Int>) -> Token {
            position = range.upperBound
            let content = String(decoding: text[range], as: UTF8.self)
            return Token(kind: kind, text: content, offset: range.lowerBound)
        }
    }
}

extension SchemaLanguage.Lexer {
    private mutating func word() throws(SchemaLanguageError) -> SchemaLanguage.Token {
        var end = position + 1
        while end < text.count, SchemaLanguage.isWordByte(text[end]) { end += 1 }
        var word = token(.word, position..<end)
        guard text[word.offset].isASCIILetter else {
            let advice =
                text[word.offset] == UInt8(ascii: "_")
                ? "put it in double quotes" : "begin the name with a letter"
            throw error("\(word.shown) doesn't begin with a letter; \(advice)", at: word.offset)
        }
        word.keyword = word.text.uppercased()
        return word
    }

    /// A name in double quotes: it ends on its line, and no sign stands for a quote inside.
    private mutating func quoted() throws(SchemaLanguageError) -> SchemaLanguage.Token {
        let start = position
        let end = text[(start + 1)...].firstIndex { $0 < 0x20 || $0 == 0x22 || $0 == 0x7F }
        guard let end, text[end] != 0x0A, text[end] != 0x0D else {
            let message = "the quoted name doesn't end on its line; close it with a double quote"
            throw error(message, at: start)
        }
        guard text[end] == UInt8(ascii: "\"") else { throw strange(at: end) }
        var name = token(.quoted, start + 1..<end)
        name.offset = start
        position = end + 1
        return name
    }

    private mutating func skipBlanks() throws(SchemaLanguageError) {
        while let byte = byte(0) {
            switch byte {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            case UInt8(ascii: "-") where self.byte(1) == byte: try skipLine()
            case UInt8(ascii: "/") where self.byte(1) == byte: try skipLine()
            case UInt8(ascii: "/") where self.byte(1) == UInt8(ascii: "*"): try skipBlock()
            default: return
            }
        }
    }

    private mutating func skipLine() throws(SchemaLanguageError) {
        while let byte = byte(0), byte != UInt8(ascii: "\n") {
            if byte == 0 { throw strange(at: position) }
            position += 1
        }
    }

    private mutating func skipBlock() throws(SchemaLanguageError) {
        let start = position
        position += 2
        while let byte = byte(0) {
            if byte == UInt8(ascii: "*"), self.byte(1) == UInt8(ascii: "/") {
                position += 2
                return
            }
            if byte == 0 { throw strange(at: position) }
            position += 1
        }
        throw error("the comment doesn't end; close it with */", at: start)
    }

    /// A character that nothing begins with.
    private func strange(at offset: Int) -> SchemaLanguageError {
        let scalar = String(decoding: text[offset...].prefix(4), as: UTF8.self).unicodeScalars.first
        let value = scalar?.value ?? 0
        let digits = String(value, radix: 16, uppercase: true)
        let code = "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        let shown = scalar.map { 0x21..<0x7F ~= value ? "'\($0)'" : code } ?? code
        let advice =
            switch value {
            case 0x2E: "write a name with a dot in double quotes"
            case 0x2D, 0x2F: "a comment begins with //, -- or /*"
            case 0..<0x21, 0x7F: "remove it"
            default: "remove it, or put it in a comment"
            }
        return error("\(shown) can't stand here; \(advice)", at: offset)
    }
}
