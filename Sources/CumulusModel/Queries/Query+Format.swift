// Predicates written as text, in the format language of NSPredicate as far as CloudKit takes it.
//
// Part of the client's surface: what is refused here never reaches a server.

extension Query.Predicate {
    /// A predicate from its text, with values put in place of `%@` and its like.
    ///
    ///     try Query.Predicate(format: "country == %@ AND population > %d", "JP", 500_000)
    ///     try Query.Predicate(format: "NOT (category IN %@)", ["draft", "spam"])
    ///     try Query.Predicate(format: "ANY labels BEGINSWITH 'swift'")
    ///     try Query.Predicate(format: "%K BETWEEN {1, 5}", "rating")
    ///     try Query.Predicate(format: "creationDate > CAST('2026-11-22', 'NSDate')")
    ///     try Query.Predicate(format: "allTokens TOKENMATCHES[cdl] %@", "ada byron")
    ///     try Query.Predicate(
    ///         format: "distanceToLocation:fromLocation:(start, %@) < 50000", place)
    ///
    /// `%@` stands for any value, and `%K` for the name of a field. `%d`, `%i` and `%u` stand for
    /// integers, `%f` and `%g` for decimal numbers. A field that is named like a word of the
    /// language is marked: `#in == 1`. Words of the language count in any case.
    ///
    /// `OR`, `== nil` and `!= nil` are accepted too; a query with them must allow extensions.
    /// A field in an empty list is the same as `FALSEPREDICATE`, and the negation of it the same
    /// as `TRUEPREDICATE`, also for records without the field.
    ///
    /// - Throws: `invalidArguments`, with a sentence on what isn't supported, where it stands, and
    ///   what to use instead.
    public init(
        format: String,
        _ arguments: any QueryArgument...
    ) throws(ServiceError) {
        try self.init(format: format, argumentArray: arguments)
    }

    /// A predicate from its text, with the values that its placeholders stand for in an array.
    ///
    /// - Throws: `invalidArguments`, as the other initialiser does.
    public init(
        format: String,
        argumentArray: [any QueryArgument]
    ) throws(ServiceError) {
        self.init(nodes: try PredicateParser.nodes(format, argumentArray))
    }

    /// Whether a field or a system field can have that name.
    ///
    /// A letter, or three underscores and a letter; then letters, digits and underscores.
    package static func isKey(_ name: String) -> Bool {
        let bare = name.hasPrefix("___") ? name.utf8.dropFirst(3) : name.utf8[...]
        guard bare.first?.isASCIILetter == true else { return false }
        return bare.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "_") }
    }
}
