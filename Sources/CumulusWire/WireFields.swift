// Goes through the fields of an encoded message in place, for messages whose bytes are too many to
// be copied.
//
// Used where chunks travel; all other messages are unpacked by libprotobuf-c (`CMessage`). A test
// compares the two on damaged messages: a field 0, and a tag of more than 32 bits, pass only there.
// hot: once per chunk.

import CumulusModel

struct WireFields {
    private var rest: ArraySlice<UInt8>

    enum Value {
        case number(UInt64)
        case bytes(ArraySlice<UInt8>)
        /// Eight or four bytes; no message that is read here has any.
        case fixed

        func number() throws(MalformedMessage) -> UInt64 {
            guard case .number(let number) = self else { throw WireFields.malformed }
            return number
        }

        func bytes() throws(MalformedMessage) -> ArraySlice<UInt8> {
            guard case .bytes(let bytes) = self else { throw WireFields.malformed }
            return bytes
        }
    }

    static let malformed = MalformedMessage(
        message: "the message is not what proto/ describes, or has too many small parts"
    )

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    /// The next field and its number; nil at the end.
    mutating func next() throws(MalformedMessage) -> (field: UInt64, value: Value)? {
        if rest.isEmpty { return nil }
        let tag = try varint()
        let field = tag >> 3
        guard (1..<1 << 29).contains(field) else { throw WireFields.malformed }
        switch WireType(rawValue: UInt8(tag & 7)) {
        case .varint: return (field, .number(try varint()))
        case .delimited: return (field, .bytes(try take(try varint())))
        case .fixed64:
            _ = try take(8)
            return (field, .fixed)
        case .fixed32:
            _ = try take(4)
            return (field, .fixed)
        case nil: throw WireFields.malformed
        }
    }

    private mutating func take(_ count: UInt64) throws(MalformedMessage) -> ArraySlice<UInt8> {
        guard count <= UInt64(rest.count) else { throw WireFields.malformed }
        defer { rest = rest.dropFirst(Int(count)) }
        return rest.prefix(Int(count))
    }

    private mutating func varint() throws(MalformedMessage) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 70, by: 7) {
            guard let byte = rest.popFirst() else { break }
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return number }
        }
        throw WireFields.malformed
    }
}
