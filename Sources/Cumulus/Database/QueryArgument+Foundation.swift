// Foundation's dates and data as arguments of predicates.
//
// Part of the client's surface.

public import CumulusModel
public import CumulusSystem

extension Date: QueryArgument {
    /// A TIMESTAMP, to the nearest millisecond; NaN for a date that none can tell.
    public var queryArgument: FieldValue {
        let milliseconds = (timeIntervalSince1970 * 1_000).rounded()
        guard let whole = Int64(exactly: milliseconds) else { return .double(.nan) }
        return .timestamp(Timestamp(millisecondsSince1970: whole))
    }
}

extension Data: QueryArgument {
    /// BYTES.
    public var queryArgument: FieldValue { .bytes([UInt8](self)) }
}
