// A predicate that was made from a format, with what Cumulus's own parser read in it.
//
// Made by the initialisers of `NSPredicate`. Never changes. The parser runs once, when the
// predicate is made. If it refuses the format, its error is kept and reported when a query runs.

internal import CumulusModel
internal import Foundation

/// The class of the results of `NSPredicate(format:)`.
final class FormatPredicate: NSPredicate {
    /// The predicate for a query, or why there is no query with it.
    let result: Result<Query.Predicate, ServiceError>
    private let source: String

    convenience init(_ format: String, _ arguments: [Any?]) {
        self.init(
            format,
            Result { () throws(ServiceError) in try Self.read(format, arguments) }
        )
    }

    convenience init(_ predicate: Query.Predicate) {
        self.init(predicate.format, .success(predicate))
    }

    private init(_ source: String, _ result: Result<Query.Predicate, ServiceError>) {
        self.source = source
        self.result = result
        // Foundation's class takes a predicate with a block as equal to no other. The block
        // traps: objects on Linux have no values by name that a format could be held against.
        super.init { _, _ in
            fatalError(
                """
                NSPredicate(format:) can't be evaluated on Linux; run a query with it, or \
                filter with a closure
                """
            )
        }
    }

    private static func read(
        _ format: String,
        _ arguments: [Any?]
    ) throws(ServiceError) -> Query.Predicate {
        var values: [any QueryArgument] = []
        for (index, value) in arguments.enumerated() {
            values.append(try argument(value, index))
        }
        return try Query.Predicate(format: format, argumentArray: values)
    }

    private static func argument(
        _ value: Any?,
        _ index: Int
    ) throws(ServiceError) -> any QueryArgument {
        guard let value = value.flatMap(unwrapped), !(value is NSNull) else {
            return NilArgument()
        }
        if let field = FieldValue(foundation: value) { return field.inMilliseconds }
        throw ServiceError(
            .invalidArguments,
            .invalidValue,
            """
            predicate format: argument \(index + 1) is nothing that a field can be compared \
            with: \(type(of: value)) \(PredicateSource.shortened("\(value)")); pass a string, \
            a number, a date, data, a location, a record, a record ID, a reference, or an \
            array of them
            """
        )
    }

    /// The text with its values as literals; the format as it was given if it is not supported.
    override var predicateFormat: String {
        (try? result.get())?.format ?? source
    }

    override var description: String { predicateFormat }

    override func copy(with zone: NSZone? = nil) -> Any { self }

    override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? FormatPredicate else { return false }
        return predicateFormat == other.predicateFormat
    }

    override var hash: Int { predicateFormat.hashValue }
}

extension FieldValue {
    /// The value with moments as queries compare them.
    fileprivate var inMilliseconds: FieldValue {
        switch self {
        case .timestamp(let moment): return .timestamp(moment.inMilliseconds)
        case .location(var place):
            place.timestamp = place.timestamp?.inMilliseconds
            return .location(place)
        case .list(let elements): return .list(elements.map(\.inMilliseconds))
        default: return self
        }
    }
}

extension Timestamp {
    fileprivate var inMilliseconds: Timestamp {
        Timestamp(millisecondsSince1970: millisecondsSince1970)
    }
}
