// Reads one JSON text, as RFC 8259 has it. hot: once per line of an import.
//
// Strict where a mistake would lose data: half a surrogate pair, broken UTF-8 and a key that occurs
// twice are refused, and, unless the caller takes them, numbers that are not exact.

package struct JSONReader {
    package struct Problem: Error, Equatable {
        package var message: String

        package init(message: String) {
            self.message = message
        }
    }

    /// The deepest nesting that is read; field values need 3 levels.
    private static let deepest = 32

    /// How an integer beyond 64 bits, and a decimal beyond the range of `Double`, are read.
    package enum Numbers: Sendable {
        /// The whole text is refused.
        case exact
        /// The number becomes the nearest double, which may be infinite.
        case nearest
    }

    private let bytes: UnsafeBufferPointer<UInt8>
    private let numbers: Numbers
    private var position = 0

    package static func read(
        _ bytes: some Sequence<UInt8>,
        numbers: Numbers = .exact
    ) throws(Problem) -> JSON {
        func read(_ bytes: UnsafeBufferPointer<UInt8>) -> Result<JSON, Problem> {
            Result { () throws(Problem) in
                var reader = JSONReader(bytes: bytes, numbers: numbers)
                return try reader.whole()
            }
        }
        let result =
            bytes.withContiguousStorageIfAvailable(read)
            ?? ContiguousArray(bytes).withUnsafeBufferPointer(read)
        return try result.get()
    }

    private init(bytes: UnsafeBufferPointer<UInt8>, numbers: Numbers) {
        self.bytes = bytes
        self.numbers = numbers
    }

    private mutating func whole() throws(Problem) -> JSON {
        let value = try value(depth: 0)
        skipSpace()
        guard position == bytes.count else { throw problem("something follows the value") }
        return value
    }

    private mutating func value(depth: Int) throws(Problem) -> JSON {
        guard depth < JSONReader.deepest else { throw problem("nested too deeply") }
        skipSpace()
        guard let first = peek else { throw problem("the text ends too early") }
        switch first {
        case UInt8(ascii: "{"): return try object(depth)
        case UInt8(ascii: "["): return try array(depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        default: throw problem("a value is expected")
        }
    }

    // MARK: Objects and arrays

    private mutating func object(_ depth: Int) throws(Problem) -> JSON {
        position += 1
        var members: [JSON.Member] = []
        var keys = KnownKeys()
        skipSpace()
        if take("}") { return .object([]) }
        while true {
            skipSpace()
            guard peek == UInt8(ascii: "\"") else { throw problem("a key in quotes is expected") }
            let key = try string()
            guard keys.insert(key, among: members) else {
                throw problem("the key \(JSON.string(key).text) occurs twice")
            }
            skipSpace()
            guard take(":") else { throw problem("':' is expected") }
            members.append(JSON.Member(key, try value(depth: depth + 1)))
            skipSpace()
            if take("}") { return .object(members) }
            guard take(",") else { throw problem("',' or '}' is expected") }
        }
    }

    /// The keys of an object, which are compared one by one as long as they are few.
    private struct KnownKeys {
        private static let few = 12
        private var all: Set<[UInt8]> = []

        /// Returns false if the key is one of the members'.
        mutating func insert(_ key: String, among members: [JSON.Member]) -> Bool {
            guard members.count >= KnownKeys.few else {
                // `String` would treat two spellings of one letter as equal.
                return !members.contains { $0.key.utf8.elementsEqual(key.utf8) }
            }
            if all.isEmpty { all = Set(members.map { Array($0.key.utf8) }) }
            return all.insert(Array(key.utf8)).inserted
        }
    }

    private mutating func array(_ depth: Int) throws(Problem) -> JSON {
        position += 1
        var elements: [JSON] = []
        skipSpace()
        if take("]") { return .array([]) }
        while true {
            elements.append(try value(depth: depth + 1))
            skipSpace()
            if take("]") { return .array(elements) }
            guard take(",") else { throw problem("',' or ']' is expected") }
        }
    }

    // MARK: Numbers

    private mutating func number() throws(Problem) -> JSON {
        let start = position
        _ = take("-")
        if !take("0") { try digits() }
        var isInteger = true
        if take(".") {
            isInteger = false
            try digits()
        }
        if take("e") || take("E") {
            isInteger = false
            if !take("+") { _ = take("-") }
            try digits()
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if isInteger {
            if let number = Int64(text) { return .integer(number) }
            guard numbers == .nearest else {
                throw problem("the integer \(text.prefix(40)) needs more than 64 bits")
            }
        }
        guard let number = Double(text), number.isFinite || numbers == .nearest else {
            throw problem("the decimal \(text.prefix(40)) is out of range")
        }
        return .decimal(number)
    }

    private mutating func digits() throws(Problem) {
        let start = position
        while let byte = peek, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") {
            position += 1
        }
        guard position > start else { throw problem("a digit is expected") }
    }

    // MARK: Strings

    private mutating func string() throws(Problem) -> String {
        position += 1
        let start = position
        // Most strings have no escape and are taken in one piece.
        while let byte = peek, byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\")
        {
            position += 1
        }
        if peek == UInt8(ascii: "\"") {
            defer { position += 1 }
            return try text(bytes[start..<position])
        }
        var unescaped = Array(bytes[start..<position])
        while let byte = peek {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return try text(unescaped)
            case UInt8(ascii: "\\"): try escape(into: &unescaped)
            case 0..<0x20: throw problem("a control character in a string must be escaped")
            default: unescaped.append(byte)
            }
        }
        throw problem("a string has no end")
    }

    private func text(_ bytes: some Collection<UInt8>) throws(Problem) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw problem("a string is not valid UTF-8")
        }
        return text
    }

    private mutating func escape(into text: inout [UInt8]) throws(Problem) {
        guard let byte = peek else { throw problem("a string has no end") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text += String(try scalar()).utf8
        default: throw problem("an unknown escape in a string")
        }
    }

    /// Reads what follows `\u`: one code point, from one unit or a surrogate pair.
    private mutating func scalar() throws(Problem) -> Character {
        var value = UInt32(try unit())
        if (0xD800..<0xDC00).contains(value) {
            guard take("\\"), take("u") else { throw problem("half a surrogate pair") }
            let low = UInt32(try unit())
            guard (0xDC00..<0xE000).contains(low) else { throw problem("half a surrogate pair") }
            value = 0x1_0000 + (value - 0xD800) << 10 + (low - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(value) else { throw problem("half a surrogate pair") }
        return Character(scalar)
    }

    private mutating func unit() throws(Problem) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = peek.flatMap({ Character(Unicode.Scalar($0)).hexDigitValue }) else {
                throw problem("four hexadecimal digits are expected")
            }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }

    // MARK: Bytes

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
            position += 1
        }
    }

    private mutating func word(_ word: StaticString, _ value: JSON) throws(Problem) -> JSON {
        let end = position + word.utf8CodeUnitCount
        guard end <= bytes.count,
            bytes[position..<end].elementsEqual("\(word)".utf8)
        else { throw problem("a value is expected") }
        position = end
        return value
    }

    private func problem(_ message: String) -> Problem {
        Problem(message: "\(message) at byte \(position + 1)")
    }
}
