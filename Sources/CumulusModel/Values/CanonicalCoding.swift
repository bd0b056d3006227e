// The canonical protobuf form, written and read by hand where bytes must be equal on every node:
// stored bodies, commits, and the replies that splice them. Fields ascend, varints are shortest,
// default values and unknown fields don't occur.
//
// Called by CumulusStorage and CumulusWire. hot: once per field of a saved or fetched record.

/// The error for bytes that violate their format.
package struct MalformedBytes: Error, Equatable, Sendable {
    package var reason: String

    package init(_ reason: String) {
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

/// Appends protobuf fields to a buffer.
///
/// Methods without a field number write bare values.
@usableFromInline
package struct CanonicalWriter: Sendable {
    @usableFromInline package var bytes: Bytes

    @inlinable package init(reserving capacity: Int = 0) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    @inlinable @inline(__always)
    package mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    @inlinable package mutating func fixed64(_ value: UInt64) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    /// Writes eight bytes, most significant first, so that `memcmp` orders them as numbers.
    @inlinable package mutating func bigEndian(_ value: UInt64) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    @inlinable package mutating func raw(_ more: some Sequence<UInt8>) {
        bytes.append(contentsOf: more)
    }

    /// Writes a length, and then that many bytes.
    @inlinable package mutating func delimited(_ content: some Collection<UInt8>) {
        varint(UInt64(content.count))
        bytes.append(contentsOf: content)
    }

    @inlinable @inline(__always)
    package mutating func tag(_ field: Int, _ type: WireType) {
        varint(UInt64(field) << 3 | UInt64(type.rawValue))
    }

    // These methods leave out a field that holds its default value, as proto3 requires.

    @inlinable package mutating func field(_ field: Int, varint value: UInt64) {
        guard value != 0 else { return }
        tag(field, .varint)
        varint(value)
    }

    @inlinable package mutating func field(_ field: Int, signed value: Int64) {
        self.field(field, varint: zigzag(value))
    }

    @inlinable package mutating func field(_ field: Int, fixed64 value: UInt64) {
        guard value != 0 else { return }
        tag(field, .fixed64)
        fixed64(value)
    }

    @inlinable package mutating func field(_ field: Int, bytes content: some Collection<UInt8>) {
        guard !content.isEmpty else { return }
        present(field, bytes: content)
    }

    @inlinable package mutating func field(_ field: Int, text: String) {
        self.field(field, bytes: text.utf8)
    }

    // These methods write a field whatever it holds: members of a oneof, elements of a list.

    @inlinable package mutating func present(_ field: Int, bytes content: some Collection<UInt8>) {
        tag(field, .delimited)
        delimited(content)
    }

    @inlinable package mutating func present(_ field: Int, varint value: UInt64) {
        tag(field, .varint)
        varint(value)
    }

    @inlinable package mutating func present(_ field: Int, signed value: Int64) {
        tag(field, .varint)
        varint(zigzag(value))
    }

    @inlinable package mutating func present(_ field: Int, double value: Double) {
        tag(field, .fixed64)
        fixed64(value.bitPattern)
    }

    /// Writes a nested message, even an empty one.
    ///
    /// If `write` throws, the bytes that it wrote stay.
    @inlinable package mutating func message<Failure>(
        _ field: Int,
        _ write: (inout CanonicalWriter) throws(Failure) -> Void
    ) throws(Failure) {
        tag(field, .delimited)
        // The message is written in place, after one byte for the length of a short message.
        bytes.append(0)
        let start = bytes.count
        try write(&self)
        let length = bytes.count - start
        if length < 0x80 {
            bytes[start - 1] = UInt8(length)
        } else {
            var writer = CanonicalWriter(reserving: 10)
            writer.varint(UInt64(length))
            bytes.replaceSubrange(start - 1..<start, with: writer.bytes)
        }
    }
}

/// Reads the protobuf fields in a range of bytes.
///
/// Every length is checked before it is used.
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

extension CanonicalWriter {
    package mutating func scope(_ scope: ScopeID) {
        delimited(scope.container.utf8)
        varint(UInt64(scope.environment.rawValue))
    }

    package mutating func database(_ database: DatabaseID) {
        varint(UInt64(database.kind.rawValue))
        delimited(database.owner.utf8)
    }
}

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
