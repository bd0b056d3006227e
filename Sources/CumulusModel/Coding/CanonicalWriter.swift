// Writes protobuf's canonical form, where bytes must be equal on every node: stored bodies,
// commits, and all messages. Fields ascend, varints are shortest, default values and unknown fields
// don't occur.
//
// Called by CumulusStorage and CumulusWire, and as a `Coder` by what messages hold. hot: once per
// field of a saved or fetched record.

/// Appends protobuf fields to a buffer.
///
/// Methods without a field number write bare values.
@usableFromInline
package struct CanonicalWriter: Sendable {
    @usableFromInline package var bytes: Bytes
    /// What `slice` did not copy, with the places in `bytes` where it belongs; nil: it copies.
    @usableFromInline package private(set) var apart: [(place: Int, bytes: ArraySlice<UInt8>)]?

    @inlinable package init(reserving capacity: Int = 0) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    /// A writer that leaves slices where they are.
    package init(keepingSlicesApart capacity: Int) {
        self.init(reserving: capacity)
        apart = []
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
        let slices = apart?.count ?? 0
        try write(&self)
        let length = bytes.count - start
        if length < 0x80, slices == apart?.count ?? 0 {
            bytes[start - 1] = UInt8(length)
        } else {
            setLength(start, slices)
        }
    }

    /// Writes the length of a message that is long, or that has slices apart.
    @usableFromInline mutating func setLength(_ start: Int, _ slices: Int) {
        var length = bytes.count - start
        for index in slices..<(apart?.count ?? 0) { length += apart?[index].bytes.count ?? 0 }
        var writer = CanonicalWriter(reserving: 10)
        writer.varint(UInt64(length))
        bytes.replaceSubrange(start - 1..<start, with: writer.bytes)
        for index in slices..<(apart?.count ?? 0) { apart?[index].place += writer.bytes.count - 1 }
    }

    /// Adds bytes that are not copied; what they belong to has to have their length.
    @usableFromInline mutating func keepApart(_ slice: ArraySlice<UInt8>) {
        apart?.append((bytes.count, slice))
    }
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
