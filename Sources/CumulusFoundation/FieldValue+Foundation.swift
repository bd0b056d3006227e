// The values that apps hand over as `Any`, as values of fields.
//
// Called with the arguments of predicates, and by the CloudKit layer with what is set in records.

package import CumulusModel
package import Foundation

/// An object that can stand for `%@` in a predicate's format, such as a record ID.
///
/// Types of values, such as strings and numbers, need not conform to it.
package protocol FormatArgument {
    /// The value that a field is compared with.
    var formatArgument: FieldValue { get }
}

extension FieldValue {
    /// The value of a field for a Swift value or an object of Foundation.
    ///
    /// Arrays and sets become lists, except `[UInt8]`, which becomes bytes. `Date.distantPast`
    /// becomes the first moment that a field can hold. Nil for a value that no field can hold,
    /// such as NaN, an integer above `Int64.max`, or a URL.
    package init?(foundation value: Any) {
        guard let value = unwrapped(value), let field = Self.field(value) else { return nil }
        if case .double(let number) = field, number.isNaN { return nil }
        self = field
    }

    private static func field(_ value: Any) -> FieldValue? {
        switch value {
        case let value as any FormatArgument: value.formatArgument
        // A number object also casts to Bool and to each type of number that it fits.
        case let value as NSNumber where type(of: value as Any) is NSNumber.Type: number(value)
        case let value as Date: Timestamp(value).map { .timestamp($0) }
        case let value as Data: .bytes([UInt8](value))
        // Arguments of queries have milliseconds. An empty array of anything casts to this one.
        case let value as [Date] where !value.isEmpty: list(value)
        case let value as any QueryArgument: value.queryArgument
        case let value as CGFloat: .double(Double(value))
        case let value as String: .string(value)
        case let value as NSNumber: number(value)
        case let value as [Any]: list(value)
        case let value as Set<AnyHashable>: list(value.map(\.base))
        default: nil
        }
    }

    /// Keeps the kind of the number: INT64 for integers and booleans, DOUBLE otherwise.
    private static func number(_ number: NSNumber) -> FieldValue? {
        switch String(cString: number.objCType) {
        case "d", "f": .double(number.doubleValue)
        case "Q": Int64(exactly: number.uint64Value).map { .int64($0) }
        default: .int64(number.int64Value)
        }
    }

    private static func list(_ elements: [Any]) -> FieldValue? {
        var values: [FieldValue] = []
        for element in elements {
            guard let value = FieldValue(foundation: element) else { return nil }
            values.append(value)
        }
        return .list(values)
    }
}

extension Timestamp {
    /// The moment of a date; nil if no field can hold it.
    ///
    /// It keeps what is finer than a millisecond, and the date behind the first moment that a
    /// field can hold.
    package init?(_ date: Date) {
        let milliseconds =
            date == .distantPast
            ? Double(Timestamp.range.lowerBound) : (date.timeIntervalSince1970 * 1_000).rounded()
        guard let whole = Int64(exactly: milliseconds) else { return nil }
        self.init(millisecondsSince1970: whole)
        guard Date(self) != date else { return }
        self.init(
            millisecondsSince1970: whole,
            exactSeconds: date.timeIntervalSinceReferenceDate
        )
    }
}

extension Date {
    /// The date of a moment, as exactly as the moment is known.
    package init(_ moment: Timestamp) {
        if let seconds = moment.exactSeconds {
            self.init(timeIntervalSinceReferenceDate: seconds)
        } else {
            self.init(timeIntervalSince1970: Double(moment.millisecondsSince1970) / 1_000)
        }
    }
}

/// The value in as many optionals as there are around it; nil if one of them holds none.
func unwrapped(_ value: Any) -> Any? {
    guard let optional = value as? any OptionalValue else { return value }
    return optional.wrapped.flatMap(unwrapped)
}

private protocol OptionalValue {
    var wrapped: Any? { get }
}

extension Optional: OptionalValue {
    fileprivate var wrapped: Any? { self }
}
