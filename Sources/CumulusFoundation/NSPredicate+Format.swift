// The initialisers of `NSPredicate` with a format, which Foundation lacks on Linux.
//
// Called by apps written for CloudKit. A class of our own named `NSPredicate` would be ambiguous in
// every file that imports Foundation, so Foundation's own class gets the initialisers. They stand
// in an extension of a protocol, where an initialiser may return an instance of a subclass.
//
// Read `FormatPredicate` next, then `NSPredicate+Query`.

public import Foundation

/// A predicate that can be made from a format: `NSPredicate`.
public protocol FormattedPredicate {}

extension NSPredicate: FormattedPredicate {}

extension FormattedPredicate where Self: NSPredicate {
    /// A predicate from its text, with values in place of `%@`, `%K`, `%d` and `%f`.
    ///
    ///     NSPredicate(format: "title BEGINSWITH %@", prefix)
    ///     NSPredicate(format: "NOT (recordID IN %@)", recordIDs)
    ///
    /// A format that CloudKit doesn't support makes a predicate too. A query with it fails
    /// with `invalidArguments` when it runs. The error says what isn't supported and what to
    /// use instead.
    public init(format: String, _ arguments: Any?...) {
        self = Self.returned(FormatPredicate(format, arguments))
    }

    /// A predicate from its text, with the values for its placeholders in an array.
    ///
    /// Does the same as `init(format:_:)`.
    public init(format: String, argumentArray arguments: [Any]?) {
        self = Self.returned(FormatPredicate(format, arguments ?? []))
    }

    /// The predicate itself for `NSPredicate`, a compound of it for `NSCompoundPredicate`.
    private static func returned(_ predicate: FormatPredicate) -> Self {
        let compound = { NSCompoundPredicate(andPredicateWithSubpredicates: [predicate]) }
        guard let result = predicate as? Self ?? compound() as? Self else {
            preconditionFailure("\(Self.self) can't be made from a format")
        }
        return result
    }
}
