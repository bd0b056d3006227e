// The coder that writes a message's `code` in canonical form.
//
// Run by `Coded.encoded`. It refuses nothing, and leaves all values as they are. hot: once per
// field of a message.

extension CanonicalWriter: Coder {
    @inlinable package static var reads: Bool { false }
    @inlinable package static var isStrict: Bool { false }

    @inlinable package mutating func number(_ field: Int, _ value: inout UInt64) {
        self.field(field, varint: value)
    }

    @inlinable package mutating func signed(_ field: Int, _ value: inout Int64) {
        self.field(field, signed: value)
    }

    @inlinable package mutating func flag(_ field: Int, _ value: inout Bool) {
        self.field(field, varint: value ? 1 : 0)
    }

    @inlinable package mutating func fixed64(_ field: Int, _ value: inout UInt64) {
        self.field(field, fixed64: value)
    }

    @inlinable package mutating func double(_ field: Int, _ value: inout Double) {
        if value != 0 { present(field, double: value) }
    }

    @inlinable package mutating func bytes(_ field: Int, _ value: inout Bytes) {
        self.field(field, bytes: value)
    }

    @inlinable package mutating func slice(_ field: Int, _ value: inout ArraySlice<UInt8>) {
        guard apart != nil, !value.isEmpty else { return self.field(field, bytes: value) }
        tag(field, .delimited)
        varint(UInt64(value.count))
        keepApart(value)
    }

    @inlinable package mutating func text(_ field: Int, _ value: inout String) {
        self.field(field, text: value)
    }

    @inlinable package mutating func checkedText(_ field: Int, _ value: inout String) {
        self.field(field, text: value)
    }

    // MARK: Lists

    @inlinable package mutating func list(_ field: Int, _ values: inout [Bytes]) {
        for value in values { present(field, bytes: value) }
    }

    @inlinable package mutating func list(_ field: Int, _ values: inout [String]) {
        for value in values { present(field, bytes: value.utf8) }
    }

    @inlinable package mutating func checkedList(_ field: Int, _ values: inout [String]) {
        list(field, &values)
    }

    @inlinable package mutating func list<Message: Coded>(
        _ field: Int,
        _ messages: inout [Message]
    ) {
        for message in messages { present(field, message) }
    }

    @inlinable package mutating func packed(_ field: Int, _ values: inout [UInt64]) {
        guard !values.isEmpty else { return }
        var run = CanonicalWriter(reserving: 2 * values.count)
        for value in values { run.varint(value) }
        present(field, bytes: run.bytes)
    }

    @inlinable package mutating func packedFixed64(_ field: Int, _ values: inout [UInt64]) {
        guard !values.isEmpty else { return }
        tag(field, .delimited)
        varint(UInt64(8 * values.count))
        for value in values { fixed64(value) }
    }

    @inlinable package mutating func run(_ field: Int, _ fields: inout Bytes) { raw(fields) }

    // MARK: Messages

    @inlinable package mutating func message<Message: Coded>(
        _ field: Int,
        _ message: inout Message
    ) {
        present(field, message)
    }

    /// A nested message, also an empty one.
    @inlinable package mutating func present<Message: Coded>(_ field: Int, _ message: Message) {
        if let count = message.exactCount {
            tag(field, .delimited)
            varint(UInt64(count))
            message.write(to: &self)
        } else {
            self.message(field) { message.write(to: &$0) }
        }
    }

    // MARK: Choices

    @inlinable package mutating func choice(_ fields: ClosedRange<Int>, _ current: Int?) -> Int? {
        current
    }

    @inlinable package mutating func member(_ field: Int, _ value: inout UInt64) {
        present(field, varint: value)
    }

    @inlinable package mutating func member(_ field: Int, _ value: inout Int64) {
        present(field, signed: value)
    }

    @inlinable package mutating func member(_ field: Int, _ value: inout Double) {
        present(field, double: value)
    }

    @inlinable package mutating func member(_ field: Int, _ value: inout Bytes) {
        present(field, bytes: value)
    }

    @inlinable package mutating func member(_ field: Int, _ value: inout String) {
        present(field, bytes: value.utf8)
    }

    @inlinable package mutating func member<Message: Coded>(
        _ field: Int,
        _ message: inout Message
    ) {
        present(field, message)
    }
}
