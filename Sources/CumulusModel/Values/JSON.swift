// JSON as a value; its keys are in the order given.
//
// `JSONReader` reads it, and `JSONWriter` writes it. Every command prints it with `--json`; tokens
// and keys of identity providers consist of it. Unlike Foundation's JSON, it tells 35 from 35.0,
// keeps all 64 bits of an integer, and leaves text as it is, code point by code point.

package enum JSON: Equatable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// A decimal; written with a point or an exponent, so that it is read as a decimal again.
    ///
    /// It is finite, unless it was read with `JSONReader.Numbers.nearest`.
    case decimal(Double)
    case string(String)
    case array([JSON])
    case object([Member])

    package struct Member: Equatable, Sendable {
        package var key: String
        package var value: JSON

        package init(_ key: String, _ value: JSON) {
            self.key = key
            self.value = value
        }
    }

    /// The value of an object's first member with that name; nil for everything else.
    package subscript(key: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key == key }?.value
    }

    package static func == (left: JSON, right: JSON) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.decimal(let left), .decimal(let right)): left == right
        // `String` would treat two spellings of one letter as equal.
        case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByDictionaryLiteral {
    package init(stringLiteral value: String) { self = .string(value) }

    package init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(elements.map { Member($0, $1) })
    }
}
