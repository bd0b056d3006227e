// Cuts a predicate's format into tokens.
//
// Called by the parser, once per format. Takes time in proportion to the format's length, and
// refuses what is no token with a sentence and its place.

package struct PredicateLexer: Sendable {
    private let source: PredicateSource
    private var position = 0
    private var placeholders = 0

    private init(_ source: PredicateSource) {
        self.source = source
    }

    /// All tokens of a format; the last one, and no other, is the end.
    package static func tokens(
        of source: PredicateSource
    ) throws(ServiceError) -> [PredicateToken] {
        var lexer = PredicateLexer(source)
        var tokens: [PredicateToken] = []
        repeat { tokens.append(try lexer.next()) } while tokens.last?.kind != .end
        return tokens
    }

    private mutating func next() throws(ServiceError) -> PredicateToken {
        skip { $0 == 0x20 || (0x09...0x0D).contains($0) }
        let start = position
        let kind = try kind()
        return PredicateToken(kind: kind, range: start..<position)
    }

    private mutating func kind() throws(ServiceError) -> PredicateToken.Kind {
        guard let byte = current else { return .end }
        switch byte {
        case UInt8(ascii: "'"), UInt8(ascii: "\""): return .string(try quoted(by: byte))
        case UInt8(ascii: "%"): return try placeholder()
        case UInt8(ascii: "#"): return try escaped()
        case UInt8(ascii: "$"):
            throw refusal(
                """
                variables such as $NAME aren't supported, nor is SUBQUERY; use %@ and an argument, \
                or query the other type first
                """
            )
        case _ where byte.isASCIIDigit: return try number()
        case _ where Self.isWordByte(byte): return word()
        default: return try symbol()
        }
    }

    // MARK: - Words and signs

    private mutating func word() -> PredicateToken.Kind {
        let text = letters()
        return PredicateToken.Keyword(word: text).map { .keyword($0) } ?? .word(text)
    }

    private mutating func escaped() throws(ServiceError) -> PredicateToken.Kind {
        let start = position
        position += 1
        let text = letters()
        guard !text.isEmpty else { throw refusal("a field's name must follow #", at: start) }
        return .escaped(text)
    }

    private mutating func letters() -> String {
        let start = position
        skip(Self.isWordByte)
        return String(decoding: source.bytes[start..<position], as: UTF8.self)
    }

    /// Longer symbols come before their own prefixes.
    private static let symbols: [(spelling: Bytes, kind: PredicateToken.Kind)] = {
        let signs: [(String, PredicateToken.Kind)] = [
            ("&&", .keyword(.and)), ("||", .keyword(.or)),
            ("==", .relation(.equals)), ("!=", .relation(.notEquals)),
            ("<>", .relation(.notEquals)), ("<=", .relation(.lessThanOrEquals)),
            ("=<", .relation(.lessThanOrEquals)), (">=", .relation(.greaterThanOrEquals)),
            ("=>", .relation(.greaterThanOrEquals)), ("=", .relation(.equals)),
            ("<", .relation(.lessThan)), (">", .relation(.greaterThan)), ("!", .keyword(.not)),
        ]
        let others = "(){}[],:.@+-*/".map { (String($0), PredicateToken.Kind.symbol($0)) }
        return (signs + others).map { (Bytes($0.0.utf8), $0.1) }
    }()

    private mutating func symbol() throws(ServiceError) -> PredicateToken.Kind {
        if let kind = take(oneOf: Self.symbols) { return kind }
        let rest = String(decoding: source.bytes[position...].prefix(32), as: UTF8.self)
        throw refusal("the character '\(rest.prefix(1))' means nothing outside of quotes")
    }

    private static let placeholders: [(spelling: Bytes, kind: PredicateToken.Placeholder)] = {
        let all: [(String, PredicateToken.Placeholder)] = [
            ("%@", .value), ("%K", .key), ("%d", .signed), ("%i", .signed), ("%ld", .signed),
            ("%lld", .signed), ("%u", .unsigned), ("%lu", .unsigned), ("%llu", .unsigned),
            ("%f", .decimal), ("%g", .decimal), ("%lf", .decimal),
        ]
        return all.map { (Bytes($0.0.utf8), $0.1) }
    }()

    private mutating func placeholder() throws(ServiceError) -> PredicateToken.Kind {
        guard let kind = take(oneOf: Self.placeholders) else {
            throw refusal(
                "a % must begin one of %@ %K %d %i %u %ld %lu %lld %llu %f %g %lf"
            )
        }
        defer { placeholders += 1 }
        return .placeholder(kind, placeholders)
    }

    private mutating func take<Kind>(oneOf table: [(spelling: Bytes, kind: Kind)]) -> Kind? {
        let rest = source.bytes[position...]
        guard let match = table.first(where: { rest.starts(with: $0.spelling) }) else { return nil }
        position += match.spelling.count
        return match.kind
    }

    // MARK: - Numbers

    private mutating func number() throws(ServiceError) -> PredicateToken.Kind {
        let start = position
        let isHexadecimal = current == UInt8(ascii: "0") && byte(1).map { $0 | 0x20 } == 0x78
        let kind = try isHexadecimal ? hexadecimal() : decimal()
        if let byte = current, Self.isWordByte(byte) {
            throw refusal("a number must not run into letters", at: start)
        }
        return kind
    }

    private mutating func hexadecimal() throws(ServiceError) -> PredicateToken.Kind {
        let start = position
        position += 2
        let digits = letters()
        guard let value = UInt64(digits, radix: 16) else {
            throw refusal("0x must be followed by up to 16 hexadecimal digits", at: start)
        }
        return .integer(value)
    }

    private mutating func decimal() throws(ServiceError) -> PredicateToken.Kind {
        let start = position
        skip(\.isASCIIDigit)
        let hasFraction = current == UInt8(ascii: ".") && byte(1)?.isASCIIDigit == true
        if hasFraction {
            position += 1
            skip(\.isASCIIDigit)
        }
        let hasExponent = exponent()
        let text = String(decoding: source.bytes[start..<position], as: UTF8.self)
        if hasFraction || hasExponent {
            guard let value = Double(text), value.isFinite else {
                throw refusal("the number is too large for a DOUBLE", at: start)
            }
            return .decimal(value)
        }
        guard let value = UInt64(text) else {
            throw refusal("the number is too large for an INT64", at: start)
        }
        return .integer(value)
    }

    private mutating func exponent() -> Bool {
        guard let letter = current, letter | 0x20 == UInt8(ascii: "e") else { return false }
        let isSigned = byte(1) == UInt8(ascii: "+") || byte(1) == UInt8(ascii: "-")
        let first = isSigned ? 2 : 1
        guard byte(first)?.isASCIIDigit == true else { return false }
        position += first
        skip(\.isASCIIDigit)
        return true
    }

    // MARK: - Texts

    private mutating func quoted(by quote: UInt8) throws(ServiceError) -> String {
        let start = position
        position += 1
        var text = Bytes()
        while let byte = current {
            position += 1
            switch byte {
            case quote: return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): text += try escapeSequence()
            default: text.append(byte)
            }
        }
        throw refusal("the quote is never closed", at: start)
    }

    /// The bytes that an escape sequence stands for.
    private mutating func escapeSequence() throws(ServiceError) -> Bytes {
        let start = position - 1
        let byte = current
        position += byte == nil ? 0 : 1
        switch byte {
        case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "\\"): return [byte ?? 0]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "u"): return try unicode(from: start)
        default:
            throw refusal(
                "a backslash must begin one of \\' \\\" \\\\ \\n \\t \\r \\uXXXX",
                at: start
            )
        }
    }

    /// One character, written as one code unit of UTF-16 or as a pair of them.
    private mutating func unicode(from start: Int) throws(ServiceError) -> Bytes {
        var units = [try codeUnit(from: start)]
        let rest = source.bytes[position...]
        if UTF16.isLeadSurrogate(units[0]), rest.starts(with: "\\u".utf8) {
            position += 2
            units.append(try codeUnit(from: start))
        }
        guard let text = String(validating: units, as: UTF16.self) else {
            throw refusal("half a surrogate pair is no character", at: start)
        }
        return Bytes(text.utf8)
    }

    private mutating func codeUnit(from start: Int) throws(ServiceError) -> UInt16 {
        let digits = source.bytes[position...].prefix(4)
        guard let pair = Bytes(hex: String(decoding: digits, as: UTF8.self)), pair.count == 2 else {
            throw refusal("\\u must be followed by four hexadecimal digits", at: start)
        }
        position += 4
        return UInt16(pair[0]) << 8 | UInt16(pair[1])
    }

    // MARK: - Bytes

    private var current: UInt8? { byte(0) }

    private func byte(_ distance: Int) -> UInt8? {
        let index = position + distance
        return index < source.bytes.count ? source.bytes[index] : nil
    }

    private mutating func skip(_ matches: (UInt8) -> Bool) {
        while let byte = current, matches(byte) { position += 1 }
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || byte == UInt8(ascii: "_")
    }

    private func refusal(_ sentence: String, at offset: Int? = nil) -> ServiceError {
        source.refusal(sentence, at: offset ?? position)
    }
}
