// The values that may replace the placeholders of a predicate's format, or stand on the right of
// the operators that build predicates.
//
// Part of the client's surface, which adds Foundation's types.

/// A value that a predicate can compare fields with.
///
/// Strings, numbers, booleans, moments, places, bytes, references, records and their names are such
/// values, and so are arrays of them: they stand for lists, except `[UInt8]`, which stands for
/// bytes.
public protocol QueryArgument: Sendable {
    /// The value as a field holds it.
    ///
    /// NaN for what no field can hold, such as an integer that doesn't fit in 64 bits with a sign:
    /// a predicate's format refuses it, and so does the server.
    var queryArgument: FieldValue { get }
}

extension QueryArgument where Self: BinaryInteger {
    /// An INT64; NaN if the number doesn't fit.
    public var queryArgument: FieldValue {
        guard let value = Int64(exactly: self) else { return .double(.nan) }
        return .int64(value)
    }
}

extension Int: QueryArgument {}
extension Int8: QueryArgument {}
extension Int16: QueryArgument {}
extension Int32: QueryArgument {}
extension Int64: QueryArgument {}
extension UInt: QueryArgument {}
extension UInt8: QueryArgument {}
extension UInt16: QueryArgument {}
extension UInt32: QueryArgument {}
extension UInt64: QueryArgument {}

extension Bool: QueryArgument {
    /// 1 for true, 0 for false.
    public var queryArgument: FieldValue { .int64(self ? 1 : 0) }
}

extension Double: QueryArgument {
    /// A DOUBLE.
    public var queryArgument: FieldValue { .double(self) }
}

extension Float: QueryArgument {
    /// A DOUBLE.
    public var queryArgument: FieldValue { .double(Double(self)) }
}

extension String: QueryArgument {
    /// A STRING.
    public var queryArgument: FieldValue { .string(self) }
}

extension Timestamp: QueryArgument {
    /// A TIMESTAMP.
    public var queryArgument: FieldValue { .timestamp(self) }
}

extension Location: QueryArgument {
    /// A LOCATION.
    public var queryArgument: FieldValue { .location(self) }
}

extension FieldValue: QueryArgument {
    /// The value itself.
    public var queryArgument: FieldValue { self }
}

extension Record.Reference: QueryArgument {
    /// A REFERENCE; its action doesn't matter to a comparison.
    public var queryArgument: FieldValue { .reference(self) }
}

extension Record.ID: QueryArgument {
    /// A REFERENCE to the record of that name.
    public var queryArgument: FieldValue { .reference(.init(recordName: recordName)) }
}

extension Record: QueryArgument {
    /// A REFERENCE to the record.
    public var queryArgument: FieldValue { recordID.queryArgument }
}

extension Array: QueryArgument where Element: QueryArgument {
    /// The bytes of a `[UInt8]`, the list of the elements otherwise.
    public var queryArgument: FieldValue {
        // Asked of the type, since an empty array of anything casts to an array of bytes.
        if Element.self == UInt8.self, let bytes = self as? [UInt8] { return .bytes(bytes) }
        return .list(map(\.queryArgument))
    }
}

/// nil as an argument: `%@` then means the same as the word `nil`.
package struct NilArgument: QueryArgument {
    package init() {}

    package var queryArgument: FieldValue { .double(.nan) }
}
