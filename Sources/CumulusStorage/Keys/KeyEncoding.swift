// Order-preserving encoding: the bytes of a key compare as the tuple compares.
//
// Numbers are big-endian; text is escaped and terminated, so that no name reaches into the range of
// another. `Keyspace` uses it. Golden vectors pin it, because keys are on disks.

package import CumulusModel

/// Builds a key, element by element.
package struct KeyWriter: Sendable {
    package private(set) var bytes: Bytes
    /// Most keys fit and are built without reallocation.
    private static let usualLength = 64

    package init(_ subspace: Subspace) {
        bytes = []
        bytes.reserveCapacity(KeyWriter.usualLength)
        bytes.append(subspace.rawValue)
    }

    package mutating func add(_ value: UInt8) {
        bytes.append(value)
    }

    package mutating func add(_ value: some FixedWidthInteger & UnsignedInteger) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    /// A signed integer: the sign bit is flipped, so that negative numbers come first.
    package mutating func add(signed value: Int64) {
        add(UInt64(bitPattern: value) ^ 1 << 63)
    }

    /// A double: -0.0 counts as 0.0, negative numbers are inverted.
    ///
    /// NaN has no order and isn't stored.
    package mutating func add(_ value: Double) {
        let bits = (value == 0 ? 0 : value).bitPattern
        add(bits >> 63 == 1 ? ~bits : bits ^ 1 << 63)
    }

    /// Text or bytes of any content: 0 becomes 0 FF, the end is 0 1.
    package mutating func add(text: some Sequence<UInt8>) {
        for byte in text {
            bytes.append(byte)
            if byte == 0 { bytes.append(0xFF) }
        }
        bytes.append(0)
        bytes.append(1)
    }

    package mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            if utf8.contains(0) {
                add(text: utf8)
            } else {
                bytes.append(contentsOf: utf8)
                bytes.append(0)
                bytes.append(1)
            }
        }
    }

    /// Bytes whose length is the same in all keys of the subspace.
    package mutating func add(fixed content: Bytes) {
        bytes.append(contentsOf: content)
    }

    package mutating func add(_ dot: Dot) {
        add(dot.incarnation.value)
        add(dot.seq)
    }
}

/// Reads a key's elements in the order in which they were written.
package struct KeyReader: Sendable {
    private let bytes: Bytes
    private var position: Int

    /// Starts behind the subspace byte.
    package init(_ key: Bytes) {
        bytes = key
        position = 1
    }

    package var isAtEnd: Bool { position >= bytes.count }

    package mutating func number<Number: FixedWidthInteger & UnsignedInteger>(
        _ type: Number.Type = Number.self
    ) throws(EngineError) -> Number {
        let size = Number.bitWidth / 8
        guard bytes.count - position >= size else { throw damaged }
        var number: Number = 0
        for index in position..<position + size { number = number << 8 | Number(bytes[index]) }
        position += size
        return number
    }

    /// Skips a number of bytes.
    package mutating func skip(_ count: Int) throws(EngineError) {
        guard bytes.count - position >= count else { throw damaged }
        position += count
    }

    package mutating func bytes(_ count: Int) throws(EngineError) -> Bytes {
        guard bytes.count - position >= count else { throw damaged }
        defer { position += count }
        return Bytes(bytes[position..<position + count])
    }

    package mutating func signed() throws(EngineError) -> Int64 {
        Int64(bitPattern: try number(UInt64.self) ^ 1 << 63)
    }

    package mutating func double() throws(EngineError) -> Double {
        let bits = try number(UInt64.self)
        return Double(bitPattern: bits >> 63 == 1 ? bits ^ 1 << 63 : ~bits)
    }

    package mutating func content() throws(EngineError) -> Bytes {
        var content = Bytes()
        while let zero = bytes[position...].firstIndex(of: 0), zero + 1 < bytes.count {
            content += bytes[position..<zero]
            position = zero + 2
            switch bytes[zero + 1] {
            case 1: return content
            case 0xFF: content.append(0)
            default: throw damaged
            }
        }
        throw damaged
    }

    /// Text or bytes without a copy if nothing is escaped, which is nearly always.
    package mutating func contentSlice() throws(EngineError) -> ArraySlice<UInt8> {
        guard let zero = bytes[position...].firstIndex(of: 0), zero + 1 < bytes.count,
            bytes[zero + 1] == 1
        else { return try content()[...] }
        defer { position = zero + 2 }
        return bytes[position..<zero]
    }

    package mutating func text() throws(EngineError) -> String {
        String(decoding: try content(), as: UTF8.self)
    }

    package mutating func dot() throws(EngineError) -> Dot {
        Dot(Incarnation(try number()), try number())
    }

    private var damaged: EngineError { .corrupt("the key \(bytes.hex) is damaged") }
}

extension KeyRange {
    /// All keys that begin with `prefix`.
    ///
    /// At least one of its bytes must be below FF.
    package init(prefix: Bytes) {
        var end = prefix
        while end.last == 0xFF { end.removeLast() }
        end[end.count - 1] += 1
        self.init(start: prefix, end: end)
    }

    package init(prefix: KeyWriter) {
        self.init(prefix: prefix.bytes)
    }
}
