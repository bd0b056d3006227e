// What a message holds, and in which fields, said once: its `code` shows each field to a coder,
// which writes it or reads it.
//
// The messages are structs of CumulusWire and CumulusStorage. Three coders run their `code`:
// `CanonicalWriter`, `StrictReader` for what nodes wrote in canonical form, and `TolerantReader`
// for what comes over a connection. A `code` names the fields in the order of their numbers. hot:
// once per field of a message.
//
// Folder: protobuf messages and the rows of stores as bytes. Read `Coder`, then `CanonicalWriter`,
// `StrictReader` and `TolerantReader`.

/// A message whose format is its `code`.
@usableFromInline
package protocol Coded: Sendable {
    /// A message of which nothing is set.
    init()

    /// Shows a coder each field, in the order of the numbers.
    ///
    /// A writer leaves the message as it is. A reader sets what it finds: a number that is not
    /// there becomes 0, everything else stays.
    mutating func code(_ coder: inout some Coder) throws(MalformedBytes)

    /// About how many bytes it takes: room that a writer makes at once.
    var roughCount: Int { get }

    /// How many bytes it takes, where that is known before it is written; else nil.
    var exactCount: Int? { get }

    // `code` for each coder. These are requirements, and not only in the extension below, so that
    // each message has its own copies, which are optimised together with its `code`.

    func write(to writer: inout CanonicalWriter)
    mutating func read(from reader: inout StrictReader) throws(MalformedBytes)
    mutating func read(from reader: inout TolerantReader) throws(MalformedBytes)
}

extension Coded {
    @inlinable package var roughCount: Int { 64 }
    @inlinable package var exactCount: Int? { nil }

    @inlinable package func write(to writer: inout CanonicalWriter) {
        var message = self
        do {
            try message.code(&writer)
        } catch {
            preconditionFailure("a message refuses to be written: \(error.reason)")
        }
    }

    @inlinable package mutating func read(
        from reader: inout StrictReader
    ) throws(MalformedBytes) {
        try code(&reader)
    }

    @inlinable package mutating func read(
        from reader: inout TolerantReader
    ) throws(MalformedBytes) {
        try code(&reader)
    }

    /// The bytes of the message.
    package func encoded() -> Bytes {
        var writer = CanonicalWriter(reserving: exactCount ?? roughCount)
        write(to: &writer)
        return writer.bytes
    }
}

/// Writes or reads the fields of a message.
@usableFromInline
package protocol Coder {
    /// Whether values come from bytes, and not from the message.
    static var reads: Bool { get }
    /// Whether it refuses what a writer would not have written.
    static var isStrict: Bool { get }

    // Fields that are left out when they hold the default value, as proto3 wants it.

    mutating func number(_ field: Int, _ value: inout UInt64) throws(MalformedBytes)
    /// A number of either sign: `sint64`.
    mutating func signed(_ field: Int, _ value: inout Int64) throws(MalformedBytes)
    mutating func flag(_ field: Int, _ value: inout Bool) throws(MalformedBytes)
    mutating func fixed64(_ field: Int, _ value: inout UInt64) throws(MalformedBytes)
    mutating func double(_ field: Int, _ value: inout Double) throws(MalformedBytes)
    mutating func bytes(_ field: Int, _ value: inout Bytes) throws(MalformedBytes)
    /// Bytes that are not copied: they stay part of the message that is read, and of the writer's
    /// pieces.
    mutating func slice(_ field: Int, _ value: inout ArraySlice<UInt8>) throws(MalformedBytes)
    /// Text for people: a tolerant reader mends what is not UTF-8.
    mutating func text(_ field: Int, _ value: inout String) throws(MalformedBytes)
    /// Text that every reader refuses if it is not UTF-8.
    mutating func checkedText(_ field: Int, _ value: inout String) throws(MalformedBytes)

    // Lists. What is read is added to what is there.

    mutating func list(_ field: Int, _ values: inout [Bytes]) throws(MalformedBytes)
    mutating func list(_ field: Int, _ values: inout [String]) throws(MalformedBytes)
    mutating func checkedList(_ field: Int, _ values: inout [String]) throws(MalformedBytes)
    mutating func list<Message: Coded>(
        _ field: Int,
        _ messages: inout [Message]
    ) throws(MalformedBytes)
    /// Numbers in one run; a tolerant reader takes single ones, too.
    mutating func packed(_ field: Int, _ values: inout [UInt64]) throws(MalformedBytes)
    /// The same of numbers with eight bytes each.
    mutating func packedFixed64(_ field: Int, _ values: inout [UInt64]) throws(MalformedBytes)

    /// A message that is always written, also an empty one.
    ///
    /// A message that comes twice is read into the same value twice.
    mutating func message<Message: Coded>(
        _ field: Int,
        _ message: inout Message
    ) throws(MalformedBytes)

    /// All fields of a number, which hold bytes, as they stand: each with its tag.
    mutating func run(_ field: Int, _ fields: inout Bytes) throws(MalformedBytes)

    /// Which of some fields is there, of which at most one may be; nil: none is.
    ///
    /// - Parameter current: What a writer returns.
    mutating func choice(
        _ fields: ClosedRange<Int>,
        _ current: Int?
    ) throws(MalformedBytes) -> Int?

    // Members of a `oneof`, once `choice` has named them: written whatever they hold. If several
    // are read, the last one counts, as a whole.

    mutating func member(_ field: Int, _ value: inout UInt64) throws(MalformedBytes)
    mutating func member(_ field: Int, _ value: inout Int64) throws(MalformedBytes)
    mutating func member(_ field: Int, _ value: inout Double) throws(MalformedBytes)
    mutating func member(_ field: Int, _ value: inout Bytes) throws(MalformedBytes)
    mutating func member(_ field: Int, _ value: inout String) throws(MalformedBytes)
    mutating func member<Message: Coded>(
        _ field: Int,
        _ message: inout Message
    ) throws(MalformedBytes)
}

// MARK: - Fields in other Swift types

extension Coder {
    @inlinable @inline(__always)
    package var reads: Bool { Self.reads }

    @inlinable package mutating func number(_ field: Int, _ value: inout UInt32)
        throws(MalformedBytes)
    {
        var number = UInt64(value)
        try self.number(field, &number)
        value = try Self.short(number)
    }

    /// An enum's number; what this release doesn't know becomes `unknown`.
    @inlinable package mutating func kind<Kind: RawRepresentable>(
        _ field: Int,
        _ value: inout Kind,
        unknown: Kind
    ) throws(MalformedBytes) where Kind.RawValue: FixedWidthInteger & UnsignedInteger {
        var number = UInt32(value.rawValue)
        try self.number(field, &number)
        let known = Kind.RawValue(exactly: number).flatMap { Kind(rawValue: $0) }
        if Self.isStrict, known == nil { throw MalformedBytes("a number names nothing known") }
        value = known ?? unknown
    }

    @inlinable package mutating func list(
        _ field: Int,
        packed values: inout [UInt32]
    ) throws(MalformedBytes) {
        var numbers = values.map { UInt64($0) }
        try packed(field, &numbers)
        guard Self.reads else { return }
        values = try numbers.map { (number) throws(MalformedBytes) in try Self.short(number) }
    }

    @inlinable package mutating func member(
        _ field: Int,
        _ value: inout Bool
    ) throws(MalformedBytes) {
        var number: UInt64 = value ? 1 : 0
        try member(field, &number)
        if Self.isStrict, number > 1 { throw MalformedBytes("a flag is 0 or 1") }
        value = number != 0
    }

    @inlinable package mutating func member(
        _ field: Int,
        _ value: inout UInt32
    ) throws(MalformedBytes) {
        var number = UInt64(value)
        try member(field, &number)
        value = try Self.short(number)
    }

    /// A number of 32 bits; a tolerant reader cuts off the rest.
    @inlinable static func short(_ number: UInt64) throws(MalformedBytes) -> UInt32 {
        if isStrict, number > UInt64(UInt32.max) { throw MalformedBytes("a number is too large") }
        return UInt32(truncatingIfNeeded: number)
    }
}

// MARK: - Fields that may be absent

extension Coder {
    /// Whether a field is there.
    ///
    /// - Parameter isWritten: What a writer returns.
    @inlinable package mutating func has(_ field: Int, _ isWritten: Bool) throws(MalformedBytes)
        -> Bool
    {
        try choice(field...field, isWritten ? field : nil) != nil
    }

    @inlinable package mutating func message<Message: Coded>(
        _ field: Int,
        _ message: inout Message?
    ) throws(MalformedBytes) {
        guard try has(field, message != nil) else { return }
        var present = message ?? Message()
        try self.message(field, &present)
        if Self.reads { message = present }
    }

    @inlinable package mutating func optional(
        _ field: Int,
        _ value: inout UInt32?
    ) throws(MalformedBytes) {
        guard try has(field, value != nil) else { return }
        var present = value ?? 0
        try member(field, &present)
        value = present
    }

    @inlinable package mutating func optional(
        _ field: Int,
        _ value: inout Int64?
    ) throws(MalformedBytes) {
        guard try has(field, value != nil) else { return }
        var present = value ?? 0
        try member(field, &present)
        value = present
    }

    @inlinable package mutating func optional(
        _ field: Int,
        _ value: inout Double?
    ) throws(MalformedBytes) {
        guard try has(field, value != nil) else { return }
        var present = value ?? 0
        try member(field, &present)
        value = present
    }

    @inlinable package mutating func optional(
        _ field: Int,
        _ value: inout Bytes?
    ) throws(MalformedBytes) {
        guard try has(field, value != nil) else { return }
        var present = value ?? []
        try member(field, &present)
        if Self.reads { value = present }
    }

    @inlinable package mutating func optional(
        _ field: Int,
        _ value: inout String?
    ) throws(MalformedBytes) {
        guard try has(field, value != nil) else { return }
        var present = value ?? ""
        try member(field, &present)
        if Self.reads { value = present }
    }
}
