// Reads messages that a node wrote in canonical form: what its writer would not have written is
// damage.
//
// Run by CumulusStorage over commits and stored values. It refuses fields that stand in another
// order, that nobody knows, or that hold what is left out, and numbers that are longer than they
// have to be. hot: once per field of a commit.

@usableFromInline
package struct StrictReader: Sendable {
    private var reader: CanonicalReader
    /// The number of the field that comes next; `Int.max` at the end of the message.
    private var next = Int.max
    /// Where its tag begins.
    private var start = 0
    private var type = WireType.varint

    package init(_ reader: CanonicalReader) throws(MalformedBytes) {
        self.reader = reader
        try advance()
    }

    /// Ends the message, which has to hold nothing more.
    @usableFromInline package func finish() throws(MalformedBytes) {
        guard next == .max else { throw MalformedBytes("a field is unknown or out of order") }
    }

    // MARK: Walking

    private mutating func advance() throws(MalformedBytes) {
        guard !reader.isAtEnd else {
            next = .max
            return
        }
        start = reader.position
        let tag = try varint()
        guard let type = WireType(rawValue: UInt8(tag & 7)), tag >> 3 > 0, tag >> 3 < 1 << 29 else {
            throw MalformedBytes("a field has an impossible number or type")
        }
        (next, self.type) = (Int(tag >> 3), type)
    }

    /// Whether a field comes next, which has to be of a type then.
    private func find(_ field: Int, _ type: WireType) throws(MalformedBytes) -> Bool {
        if next > field { return false }
        guard next == field else { throw MalformedBytes("a field is unknown or out of order") }
        guard self.type == type else { throw MalformedBytes("a field has another type") }
        return true
    }

    private func require(_ isThere: Bool) throws(MalformedBytes) {
        guard isThere else { throw MalformedBytes("a field is missing, or holds what is left out") }
    }

    // MARK: Values, each of the field that `find` found

    private mutating func varint() throws(MalformedBytes) -> UInt64 {
        try StrictReader.varint(&reader)
    }

    private static func varint(
        _ reader: inout CanonicalReader
    ) throws(MalformedBytes) -> UInt64 {
        let start = reader.position
        let value = try reader.varint()
        guard reader.position == start + 1 || reader.bytes[reader.position - 1] != 0 else {
            throw MalformedBytes("a number is longer than it has to be")
        }
        return value
    }

    private mutating func number() throws(MalformedBytes) -> UInt64 {
        let value = try varint()
        try advance()
        return value
    }

    private mutating func fixed64() throws(MalformedBytes) -> UInt64 {
        let value = try reader.fixed64()
        try advance()
        return value
    }

    private mutating func delimited() throws(MalformedBytes) -> Range<Int> {
        let length = try varint()
        let rest = UInt64(reader.end - reader.position)
        guard length <= rest else { throw MalformedBytes("a value is cut off") }
        return try reader.take(Int(length))
    }

    private mutating func content() throws(MalformedBytes) -> ArraySlice<UInt8> {
        let content = reader.bytes[try delimited()]
        try advance()
        return content
    }

    private mutating func text() throws(MalformedBytes) -> String {
        guard let text = String(utf8: try content()) else {
            throw MalformedBytes("a text is not UTF-8")
        }
        return text
    }

    /// A reader of the message that comes next, if it is there.
    @usableFromInline mutating func nested(_ field: Int) throws(MalformedBytes) -> StrictReader? {
        guard try find(field, .delimited) else { return nil }
        let nested = try StrictReader(CanonicalReader(reader.bytes, try delimited()))
        try advance()
        return nested
    }

    @usableFromInline mutating func requireNested(
        _ field: Int
    ) throws(MalformedBytes) -> StrictReader {
        guard let nested = try nested(field) else { throw MalformedBytes("a message is missing") }
        return nested
    }
}

// MARK: - Fields

extension StrictReader: Coder {
    @inlinable package static var reads: Bool { true }
    @inlinable package static var isStrict: Bool { true }

    @usableFromInline package mutating func number(_ field: Int, _ value: inout UInt64)
        throws(MalformedBytes)
    {
        value = 0
        guard try find(field, .varint) else { return }
        value = try number()
        try require(value != 0)
    }

    @usableFromInline package mutating func signed(_ field: Int, _ value: inout Int64)
        throws(MalformedBytes)
    {
        var number: UInt64 = 0
        try self.number(field, &number)
        value = unzigzag(number)
    }

    @usableFromInline package mutating func flag(_ field: Int, _ value: inout Bool)
        throws(MalformedBytes)
    {
        var number: UInt64 = 0
        try self.number(field, &number)
        try require(number <= 1)
        value = number == 1
    }

    @usableFromInline package mutating func fixed64(_ field: Int, _ value: inout UInt64)
        throws(MalformedBytes)
    {
        value = 0
        guard try find(field, .fixed64) else { return }
        value = try fixed64()
        try require(value != 0)
    }

    @usableFromInline package mutating func double(_ field: Int, _ value: inout Double)
        throws(MalformedBytes)
    {
        value = 0
        guard try find(field, .fixed64) else { return }
        value = Double(bitPattern: try fixed64())
        try require(value != 0)
    }

    @usableFromInline package mutating func bytes(_ field: Int, _ value: inout Bytes)
        throws(MalformedBytes)
    {
        guard try find(field, .delimited) else { return }
        value = Bytes(try content())
        try require(!value.isEmpty)
    }

    @usableFromInline package mutating func slice(
        _ field: Int,
        _ value: inout ArraySlice<UInt8>
    ) throws(MalformedBytes) {
        guard try find(field, .delimited) else { return }
        value = try content()
        try require(!value.isEmpty)
    }

    @usableFromInline package mutating func text(_ field: Int, _ value: inout String)
        throws(MalformedBytes)
    {
        guard try find(field, .delimited) else { return }
        value = try text()
        try require(!value.isEmpty)
    }

    @usableFromInline package mutating func checkedText(_ field: Int, _ value: inout String)
        throws(MalformedBytes)
    {
        try text(field, &value)
    }

    // MARK: Lists

    @usableFromInline package mutating func list(_ field: Int, _ values: inout [Bytes])
        throws(MalformedBytes)
    {
        while try find(field, .delimited) { values.append(Bytes(try content())) }
    }

    @usableFromInline package mutating func list(_ field: Int, _ values: inout [String])
        throws(MalformedBytes)
    {
        while try find(field, .delimited) { values.append(try text()) }
    }

    @usableFromInline package mutating func checkedList(
        _ field: Int,
        _ values: inout [String]
    ) throws(MalformedBytes) {
        try list(field, &values)
    }

    @inlinable package mutating func list<Message: Coded>(
        _ field: Int,
        _ messages: inout [Message]
    ) throws(MalformedBytes) {
        while var nested = try nested(field) {
            var message = Message()
            try message.read(from: &nested)
            try nested.finish()
            messages.append(message)
        }
    }

    @usableFromInline package mutating func packed(_ field: Int, _ values: inout [UInt64])
        throws(MalformedBytes)
    {
        guard try find(field, .delimited) else { return }
        var run = CanonicalReader(reader.bytes, try delimited())
        try require(!run.isAtEnd)
        while !run.isAtEnd { values.append(try StrictReader.varint(&run)) }
        try advance()
    }

    @usableFromInline package mutating func packedFixed64(
        _ field: Int,
        _ values: inout [UInt64]
    ) throws(MalformedBytes) {
        guard try find(field, .delimited) else { return }
        var run = CanonicalReader(reader.bytes, try delimited())
        try require(!run.isAtEnd)
        while !run.isAtEnd { values.append(try run.fixed64()) }
        try advance()
    }

    @usableFromInline package mutating func run(
        _ field: Int,
        _ fields: inout Bytes
    ) throws(MalformedBytes) {
        while try find(field, .delimited) {
            fields += reader.bytes[start..<(try delimited().upperBound)]
            try advance()
        }
    }

    // MARK: Messages

    @inlinable package mutating func message<Message: Coded>(
        _ field: Int,
        _ message: inout Message
    ) throws(MalformedBytes) {
        var nested = try requireNested(field)
        try message.read(from: &nested)
        try nested.finish()
    }

    // MARK: Choices

    @usableFromInline package mutating func choice(
        _ fields: ClosedRange<Int>,
        _ current: Int?
    ) throws(MalformedBytes) -> Int? {
        guard next >= fields.lowerBound else {
            throw MalformedBytes("a field is unknown or out of order")
        }
        return next <= fields.upperBound ? next : nil
    }

    @usableFromInline package mutating func member(_ field: Int, _ value: inout UInt64)
        throws(MalformedBytes)
    {
        try require(find(field, .varint))
        value = try number()
    }

    @usableFromInline package mutating func member(_ field: Int, _ value: inout Int64)
        throws(MalformedBytes)
    {
        try require(find(field, .varint))
        value = unzigzag(try number())
    }

    @usableFromInline package mutating func member(_ field: Int, _ value: inout Double)
        throws(MalformedBytes)
    {
        try require(find(field, .fixed64))
        value = Double(bitPattern: try fixed64())
    }

    @usableFromInline package mutating func member(_ field: Int, _ value: inout Bytes)
        throws(MalformedBytes)
    {
        try require(find(field, .delimited))
        value = Bytes(try content())
    }

    @usableFromInline package mutating func member(_ field: Int, _ value: inout String)
        throws(MalformedBytes)
    {
        try require(find(field, .delimited))
        value = try text()
    }

    @inlinable package mutating func member<Message: Coded>(
        _ field: Int,
        _ message: inout Message
    ) throws(MalformedBytes) {
        try self.message(field, &message)
    }
}

extension Coded {
    /// Reads a message in canonical form.
    package init(strict reader: CanonicalReader) throws(MalformedBytes) {
        var reader = try StrictReader(reader)
        self.init()
        try read(from: &reader)
        try reader.finish()
    }

    /// Reads the canonical bytes of a message.
    package init(strict bytes: Bytes) throws(MalformedBytes) {
        try self.init(strict: CanonicalReader(bytes))
    }
}
