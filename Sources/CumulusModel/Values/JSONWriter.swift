// Writes JSON as bytes, in one line: values one after another, with no tree of them in between.
// hot: once per value of an answer of web services.
//
// The gateway writes records with it, and `JSON` its values. It puts the commas; what opens an
// object or a list closes it, and each key of an object has one value behind it.

package struct JSONWriter: Sendable {
    package private(set) var bytes: Bytes = []
    /// Whether something stands before the next value that a comma divides it from.
    private var isBehindValue = false

    private static let firstCapacity = 1_024

    package init() { bytes.reserveCapacity(JSONWriter.firstCapacity) }

    // MARK: Structure

    /// Writes an object, whose members `write` writes.
    package mutating func object(_ write: (inout JSONWriter) throws -> Void) rethrows {
        open("{")
        try write(&self)
        close("}")
    }

    /// Writes a list, whose elements `write` writes.
    package mutating func array(_ write: (inout JSONWriter) throws -> Void) rethrows {
        open("[")
        try write(&self)
        close("]")
    }

    /// Writes a list with an element for each of some things.
    package mutating func array<Element>(
        of elements: some Sequence<Element>,
        _ write: (Element, inout JSONWriter) throws -> Void
    ) rethrows {
        try array { writer in
            for element in elements { try write(element, &writer) }
        }
    }

    /// Writes the key of the member whose value is written next.
    package mutating func key(_ key: String) {
        divide()
        quote(key)
        bytes.append(UInt8(ascii: ":"))
        bytes.append(UInt8(ascii: " "))
        isBehindValue = false
    }

    package mutating func member(_ key: String, _ value: JSON) {
        self.key(key)
        self.value(value)
    }

    private mutating func open(_ bracket: Unicode.Scalar) {
        divide()
        bytes.append(UInt8(ascii: bracket))
        isBehindValue = false
    }

    private mutating func close(_ bracket: Unicode.Scalar) {
        bytes.append(UInt8(ascii: bracket))
        isBehindValue = true
    }

    private mutating func divide() {
        guard isBehindValue else { return }
        bytes.append(UInt8(ascii: ","))
        bytes.append(UInt8(ascii: " "))
    }

    // MARK: Values

    package mutating func value(_ json: JSON) {
        switch json {
        case .array(let elements): array(of: elements) { $1.value($0) }
        case .object(let members):
            object { writer in
                for member in members { writer.member(member.key, member.value) }
            }
        case .null: plain("null")
        case .bool(let flag): plain(flag ? "true" : "false")
        case .integer(let number): integer(number)
        case .decimal(let number): plain("\(number)")
        case .string(let string):
            divide()
            quote(string)
            isBehindValue = true
        }
    }

    /// Writes a text as it is.
    private mutating func plain(_ text: String) {
        divide()
        bytes += text.utf8
        isBehindValue = true
    }

    private mutating func integer(_ number: Int64) {
        divide()
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        let start = bytes.count
        var rest = number.magnitude
        repeat {
            let digit: UInt64
            (rest, digit) = rest.quotientAndRemainder(dividingBy: 10)
            bytes.append(UInt8(ascii: "0") + UInt8(digit))
        } while rest > 0
        bytes[start...].reverse()
        isBehindValue = true
    }

    // MARK: Strings

    /// Writes a string in quotes.
    ///
    /// Control characters are escaped, also those that only terminals act on.
    private mutating func quote(_ string: String) {
        bytes.append(UInt8(ascii: "\""))
        var string = string
        string.withUTF8 { utf8 in
            if utf8.allSatisfy(JSONWriter.isPlain) {
                bytes.append(contentsOf: utf8)
            } else {
                escape(utf8)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Whether a byte belongs to a character that is not escaped.
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\") && byte != 0x7F
            && byte != JSONWriter.latin
    }

    /// The first byte of U+0080 to U+00BF; characters up to U+009F are control characters.
    private static let latin: UInt8 = 0xC2

    private mutating func escape(_ utf8: UnsafeBufferPointer<UInt8>) {
        var rest = utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): bytes += #"\""#.utf8
            case UInt8(ascii: "\\"): bytes += #"\\"#.utf8
            case UInt8(ascii: "\n"): bytes += #"\n"#.utf8
            case UInt8(ascii: "\r"): bytes += #"\r"#.utf8
            case UInt8(ascii: "\t"): bytes += #"\t"#.utf8
            case 0..<0x20, 0x7F: escape(byte)
            case JSONWriter.latin:
                if let next = rest.first, next < 0xA0 {
                    escape(next)
                    rest.removeFirst()
                } else {
                    bytes.append(byte)
                }
            default: bytes.append(byte)
            }
        }
    }

    /// Writes a code point by its number.
    private mutating func escape(_ number: UInt8) {
        bytes += #"\u00"#.utf8
        for digit in [number >> 4, number & 15] {
            bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }
}

extension JSON {
    /// The JSON text as bytes, in one line.
    package var bytes: Bytes {
        var writer = JSONWriter()
        writer.value(self)
        return writer.bytes
    }

    /// The JSON text, in one line.
    package var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The value that `write` writes, for code that needs parts of what is written elsewhere.
    ///
    /// null if that is no JSON, such as a number that is not finite.
    package init(writing write: (inout JSONWriter) throws -> Void) rethrows {
        var writer = JSONWriter()
        try write(&writer)
        self = (try? JSONReader.read(writer.bytes)) ?? .null
    }
}
