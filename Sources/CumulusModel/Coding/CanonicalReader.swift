// Walks bytes in canonical form, a field or a bare value at a time.
//
// Called by CumulusStorage for rows and stored bodies, and by `StrictReader`. Every length is
// checked before it is used. hot: once per field of a record.

/// The error for bytes that violate their format.
@usableFromInline
package struct MalformedBytes: Error, Equatable, Sendable {
    @usableFromInline package var reason: String

    @usableFromInline package init(_ reason: String) {
        self.reason = reason
    }
}

/// protobuf's wire types; the two group types don't occur.
@usableFromInline
package enum WireType: UInt8, Sendable {
    case varint = 0
    case fixed64 = 1
    case delimited = 2
    case fixed32 = 5
}

/// Reads the protobuf fields in a range of bytes.
package struct CanonicalReader: Sendable {
    package let bytes: Bytes
    package private(set) var position: Int
    package let end: Int

    package init(_ bytes: Bytes) {
        self.init(bytes, 0..<bytes.count)
    }

    package init(_ bytes: Bytes, _ range: Range<Int>) {
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
    }

    package var isAtEnd: Bool { position == end }

    /// Returns the next field's number and wire type; nil at the end.
    package mutating func nextField() throws(MalformedBytes) -> (number: Int, type: WireType)? {
        if isAtEnd { return nil }
        let tag = try varint()
        guard let type = WireType(rawValue: UInt8(tag & 7)), tag >> 3 > 0, tag >> 3 < 1 << 29 else {
            throw MalformedBytes("a field has an impossible number or type")
        }
        return (Int(tag >> 3), type)
    }

    @inline(__always)
    package mutating func varint() throws(MalformedBytes) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while position < end {
            let byte = bytes[position]
            position += 1
            if shift == 63 && byte > 1 { throw MalformedBytes("a number is longer than 64 bits") }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        throw MalformedBytes("a number is cut off")
    }

    package mutating func signed() throws(MalformedBytes) -> Int64 {
        unzigzag(try varint())
    }

    /// Reads a varint that counts or indexes something; throws if it is above `limit`.
    package mutating func count(limit: Int = .max) throws(MalformedBytes) -> Int {
        let value = try varint()
        guard value <= UInt64(limit) else { throw MalformedBytes("a count is too large") }
        return Int(value)
    }

    package mutating func fixed64() throws(MalformedBytes) -> UInt64 {
        let range = try take(8)
        return range.reversed().reduce(0) { $0 << 8 | UInt64(bytes[$1]) }
    }

    package mutating func bigEndian() throws(MalformedBytes) -> UInt64 {
        let range = try take(8)
        return range.reduce(0) { $0 << 8 | UInt64(bytes[$1]) }
    }

    package mutating func double() throws(MalformedBytes) -> Double {
        Double(bitPattern: try fixed64())
    }

    package mutating func byte() throws(MalformedBytes) -> UInt8 {
        bytes[try take(1).lowerBound]
    }

    /// Returns the range of the next `count` bytes.
    package mutating func take(_ count: Int) throws(MalformedBytes) -> Range<Int> {
        guard count <= end - position else { throw MalformedBytes("a value is cut off") }
        defer { position += count }
        return position..<position + count
    }

    /// Reads a length, and returns the range of the bytes after it.
    package mutating func delimited() throws(MalformedBytes) -> Range<Int> {
        try take(try count(limit: end - position))
    }

    package mutating func delimitedBytes() throws(MalformedBytes) -> Bytes {
        Bytes(bytes[try delimited()])
    }

    package mutating func text() throws(MalformedBytes) -> String {
        let range = try delimited()
        guard let text = String(utf8: bytes[range]) else {
            throw MalformedBytes("a text is not UTF-8")
        }
        return text
    }

    /// Reads a length, and returns a reader of the message after it.
    package mutating func message() throws(MalformedBytes) -> CanonicalReader {
        CanonicalReader(bytes, try delimited())
    }

    package mutating func skip(_ type: WireType) throws(MalformedBytes) {
        switch type {
        case .varint: _ = try varint()
        case .fixed64: _ = try take(8)
        case .delimited: _ = try delimited()
        case .fixed32: _ = try take(4)
        }
    }
}

@inlinable @inline(__always)
package func zigzag(_ value: Int64) -> UInt64 {
    UInt64(bitPattern: value << 1 ^ value >> 63)
}

@inline(__always)
package func unzigzag(_ value: UInt64) -> Int64 {
    Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
}

// MARK: - Scopes and databases

extension CanonicalReader {
    package mutating func scope() throws(MalformedBytes) -> ScopeID {
        let container = try text()
        guard let environment = Environment(rawValue: UInt8(try count(limit: 255))) else {
            throw MalformedBytes("an environment of another kind")
        }
        return ScopeID(container: container, environment: environment)
    }

    package mutating func database() throws(MalformedBytes) -> DatabaseID {
        guard let kind = DatabaseScope(rawValue: UInt8(try count(limit: 255))) else {
            throw MalformedBytes("a database of another kind")
        }
        return DatabaseID(kind: kind, owner: try text())
    }
}
