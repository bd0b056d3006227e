// Predicates built with Swift's operators, where the compiler checks what a format's text can't
// say before it runs.
//
// Part of the client's surface. Builds the same lists as the formats do.

extension Query {
    /// A field of the searched records, to be compared with a value.
    ///
    ///     let query = Query(
    ///         recordType: "City",
    ///         predicate: .field("country") == "JP" && .field("population") > 500_000)
    ///
    /// A comparison with a list, other than by the functions that take one, is refused by the
    /// server.
    public struct Field: Sendable {
        /// A key as in a format: a field of the type, or a system field such as `creationDate`.
        public var key: String

        /// The field of that name.
        public static func field(_ key: String) -> Field { Field(key: key) }
    }
}

extension Query.Field {
    /// The field equals the value.
    public static func == (field: Query.Field, value: some QueryArgument) -> Query.Predicate {
        field.compare(.equals, value)
    }

    /// The field has another value.
    public static func != (field: Query.Field, value: some QueryArgument) -> Query.Predicate {
        field.compare(.notEquals, value)
    }

    /// The field is less than the value, or earlier.
    public static func < (field: Query.Field, value: some QueryArgument) -> Query.Predicate {
        field.compare(.lessThan, value)
    }

    /// The field is at most the value.
    public static func <= (field: Query.Field, value: some QueryArgument) -> Query.Predicate {
        field.compare(.lessThanOrEquals, value)
    }

    /// The field is greater than the value, or later.
    public static func > (field: Query.Field, value: some QueryArgument) -> Query.Predicate {
        field.compare(.greaterThan, value)
    }

    /// The field is at least the value.
    public static func >= (field: Query.Field, value: some QueryArgument) -> Query.Predicate {
        field.compare(.greaterThanOrEquals, value)
    }

    /// The field is a text with that beginning.
    public func begins(with prefix: String) -> Query.Predicate {
        compare(.beginsWith, prefix)
    }

    /// The field equals one of the values; of none, no record is found.
    public func isIn(_ values: [some QueryArgument]) -> Query.Predicate {
        choose(.isIn, values)
    }

    /// The field is a list, and the value is in it.
    public func contains(_ value: some QueryArgument) -> Query.Predicate {
        compare(.listContains, value)
    }

    /// The field is a list, and one of the values is in it; of none, no record is found.
    public func containsAny(_ values: [some QueryArgument]) -> Query.Predicate {
        choose(.listContainsAny, values)
    }

    /// The field is a list of texts, and one of them has that beginning.
    public func containsPrefix(_ prefix: String) -> Query.Predicate {
        compare(.listMemberBeginsWith, prefix)
    }

    /// The field is a place nearer than that, or exactly as near.
    public func isWithin(metres: Double, of place: Location) -> Query.Predicate {
        compare(.isAtMostAsFarAs, [.value(.location(place)), .value(.double(metres))])
    }

    /// The field is a place nearer than that.
    public func isNearer(thanMetres metres: Double, to place: Location) -> Query.Predicate {
        compare(.isNearerThan, [.value(.location(place)), .value(.double(metres))])
    }

    /// The field is a moment before the one at which the server looks.
    public var isBeforeNow: Query.Predicate { compare(.lessThan, [.now]) }

    /// The field is a moment after the one at which the server looks.
    public var isAfterNow: Query.Predicate { compare(.greaterThan, [.now]) }

    /// The record doesn't have the field.
    ///
    /// Beyond CloudKit: the query must allow extensions.
    public var isNil: Query.Predicate { compare(.isNil, []) }

    private func compare(
        _ relation: Query.Relation,
        _ value: some QueryArgument
    ) -> Query.Predicate {
        compare(relation, [.value(value.queryArgument)])
    }

    private func choose(
        _ relation: Query.Relation,
        _ values: [some QueryArgument]
    ) -> Query.Predicate {
        if values.isEmpty { return .none }
        return compare(relation, values.map { .value($0.queryArgument) })
    }

    private func compare(
        _ relation: Query.Relation,
        _ operands: [Query.Operand]
    ) -> Query.Predicate {
        Query.Predicate(nodes: [.comparison(.init(key, relation, operands))])
    }
}

extension Query.Predicate {
    /// The field of that name, to be compared with a value.
    public static func field(_ key: String) -> Query.Field { Query.Field(key: key) }

    /// Each of the words occurs in a searchable field.
    public static func tokens(all words: String) -> Query.Predicate {
        search(.containsAllTokens, words)
    }

    /// One of the words occurs in a searchable field.
    public static func tokens(any words: String) -> Query.Predicate {
        search(.containsAnyToken, words)
    }

    private static func search(_ relation: Query.Relation, _ words: String) -> Query.Predicate {
        Query.Predicate(nodes: [.comparison(.init("", relation, [.value(.string(words))]))])
    }

    /// A predicate that holds if both hold.
    public static func && (left: Query.Predicate, right: Query.Predicate) -> Query.Predicate {
        Query.Predicate(nodes: left.nodes + right.nodes + [.and])
    }

    /// A predicate that holds if at least one of the two holds.
    ///
    /// Beyond CloudKit: the query must allow extensions.
    public static func || (left: Query.Predicate, right: Query.Predicate) -> Query.Predicate {
        Query.Predicate(nodes: left.nodes + right.nodes + [.or])
    }

    /// A predicate that holds if the record has the compared field and fails this predicate.
    ///
    /// As in CloudKit, only a single comparison can be negated, but not a search for words or
    /// distance; the server refuses other negations.
    public static prefix func ! (predicate: Query.Predicate) -> Query.Predicate {
        switch predicate.nodes.last {
        case .constant(let value): Query.Predicate(nodes: [.constant(!value)])
        case .not: Query.Predicate(nodes: predicate.nodes.dropLast())
        default: Query.Predicate(nodes: predicate.nodes + [.not])
        }
    }
}
