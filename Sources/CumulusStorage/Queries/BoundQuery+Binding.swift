// Checks the parts of a query against the schema, and refuses invalid ones.
//
// `BoundQuery` calls it and is its result.

package import CumulusModel

extension BoundQuery {
    /// The context in which a query's keys and values are read.
    package struct Context: Sendable {
        package var environment: Environment
        /// The user that `__defaultOwner__` stands for.
        package var user: String
        /// The value of `NOW()`, in milliseconds since 1970 UTC.
        package var now: Int64
        package var limits: Limits

        package init(environment: Environment, user: String, now: Int64, limits: Limits) {
            self.environment = environment
            self.user = user
            self.now = now
            self.limits = limits
        }
    }

    /// Fails with the error for the caller.
    package init(
        _ query: Query,
        _ schema: TypeSchema,
        _ context: Context
    ) throws(ServiceError) {
        recordType = schema.name
        searchable = schema.columns(with: .searchable, in: context.environment)
        let binder = Binder(query: query, schema: schema, context: context)
        try binder.checkType()
        nodes = try binder.nodes()
        sortKeys = try binder.sortKeys()
    }
}

/// Binds the parts of one query.
struct Binder {
    let query: Query
    let schema: TypeSchema
    let context: BoundQuery.Context

    func checkType() throws(ServiceError) {
        guard schema.exists else {
            let hint = context.environment == .production ? " (deploy the schema)" : ""
            throw ServiceError(
                .unknownItem,
                "Did not find record type: \(query.recordType)\(hint)"
            )
        }
        guard schema.isIndexed(in: context.environment) else {
            throw invalid(
                """
                Type is not marked indexable: \(query.recordType); add an index to one of its \
                fields in the schema
                """
            )
        }
        guard query.predicate.isWellFormed else {
            throw invalid("the predicate is no well-formed postfix list")
        }
        guard query.predicate.nodes.count <= context.limits.predicateNodes else {
            throw tooMany("parts of a predicate", context.limits.predicateNodes)
        }
        try checkOperands()
        guard query.sortDescriptors.count <= context.limits.sortDescriptors else {
            throw tooMany("sort descriptors", context.limits.sortDescriptors)
        }
    }

    private func checkOperands() throws(ServiceError) {
        let limits = context.limits
        var total = 0
        for case .comparison(let comparison) in query.predicate.nodes {
            let count = comparison.operands.count
            total += count
            guard count <= limits.valuesPerFilter else {
                throw ServiceError(
                    .limitExceeded,
                    .tooManyItems,
                    """
                    Query filter exceeds the limit of values: \(limits.valuesPerFilter); ask in \
                    several queries
                    """
                )
            }
        }
        guard total <= limits.valuesPerQuery else {
            throw tooMany("values", limits.valuesPerQuery)
        }
    }

    // MARK: The postfix list

    /// A node of the postfix list during checking, where the evaluator has an outcome.
    private enum Part {
        /// A comparison, which may be negated.
        case simple
        case other
    }

    func nodes() throws(ServiceError) -> [BoundQuery.Node] {
        var stack: [Part] = []
        var bound: [BoundQuery.Node] = []
        for node in query.predicate.nodes {
            switch node {
            case .constant(let value):
                stack.append(.other)
                bound.append(.constant(value))
            case .comparison(let comparison):
                stack.append(try part(comparison.relation))
                bound.append(.comparison(try bind(comparison)))
            case .not:
                try negate(&stack)
                bound.append(.not)
            case .and, .or:
                try join(node, &stack)
                bound.append(node == .and ? .and : .or)
            }
        }
        if mayFindAll { try need(.queryable, of: .system(.recordID)) }
        return bound
    }

    /// Whether a record can satisfy the predicate without any comparison.
    private var mayFindAll: Bool {
        let nodes = query.predicate.nodes
        let compares = nodes.contains { if case .comparison = $0 { true } else { false } }
        return nodes.contains(.constant(true)) && (!compares || nodes.contains(.or))
    }

    private func part(_ relation: Query.Relation) throws(ServiceError) -> Part {
        switch relation {
        case .containsAnyToken, .containsAllTokens, .isNearerThan, .isAtMostAsFarAs: return .other
        case .isNil where !query.allowsExtensions:
            throw extensionNeeded(
                "a test for nil",
                "save a value that stands for none, and compare with that"
            )
        default: return .simple
        }
    }

    private func negate(_ stack: inout [Part]) throws(ServiceError) {
        guard stack.removeLast() == .simple else {
            throw invalid(
                """
                NOT is supported in front of one simple comparison only, not of AND, OR, BETWEEN, \
                a search for words or a distance; turn the comparisons inside around instead, or \
                take what is not wanted out of the results
                """
            )
        }
        stack.append(.other)
    }

    private func join(_ node: Query.Node, _ stack: inout [Part]) throws(ServiceError) {
        if node == .or, !query.allowsExtensions {
            throw extensionNeeded("OR", "use IN for several values of one field, or two queries")
        }
        stack.removeLast(2)
        stack.append(.other)
    }

    // MARK: Comparisons

    private func bind(
        _ comparison: Query.Comparison
    ) throws(ServiceError) -> BoundQuery.Comparison {
        let relation = comparison.relation
        let values = comparison.operands.map(value)
        if relation.searchesWords { return try search(relation, values[0]) }
        let column = try column(comparison.key)
        if relation == .isNil {
            try checkReadable(comparison.key, column)
            try need(.queryable, of: column)
            return BoundQuery.Comparison(relation: relation, subject: .presence(column))
        }
        let kind = try kind(comparison.key, column, relation)
        try need(relation.index, of: column)
        if relation.isDistance {
            return try near(comparison.key, column, relation, values)
        }
        var operands: [ComparableValue] = []
        for value in values { operands.append(try fit(value, to: kind, comparison.key)) }
        let subject: BoundQuery.Subject =
            relation.isEquality
            ? .values(column, Set(operands)) : .value(column, operands[0])
        return BoundQuery.Comparison(relation: relation, subject: subject)
    }

    private func value(_ operand: Query.Operand) -> FieldValue {
        switch operand {
        case .value(let value): value
        case .now: .timestamp(Timestamp(millisecondsSince1970: context.now))
        }
    }

    private func search(
        _ relation: Query.Relation,
        _ text: FieldValue
    ) throws(ServiceError) -> BoundQuery.Comparison {
        guard !schema.columns(with: .searchable, in: context.environment).isEmpty else {
            throw invalid(
                """
                Type \(query.recordType) has no field that is marked searchable; add SEARCHABLE \
                to a STRING field in the schema
                """
            )
        }
        let words = Set(SearchWords.wanted(in: text.string ?? ""))
        guard words.count <= context.limits.valuesPerFilter else {
            throw tooMany("words of a search", context.limits.valuesPerFilter)
        }
        return BoundQuery.Comparison(relation: relation, subject: .words(words))
    }

    private func near(
        _ key: String,
        _ column: BoundQuery.Column,
        _ relation: Query.Relation,
        _ values: [FieldValue]
    ) throws(ServiceError) -> BoundQuery.Comparison {
        guard case .location(let place) = values[0] else {
            throw mismatch(key, column.type, values[0].kind)
        }
        try checkPlace(place)
        guard let metres = values[1].double, metres >= 0 else {
            throw invalid("a distance is a number of metres, 0 or more")
        }
        return BoundQuery.Comparison(
            relation: relation,
            subject: .place(column, place, metres: metres)
        )
    }

    /// Names always come last, in the direction of the key before them.
    ///
    /// A name key with that direction is left out, and so are all keys after one with another.
    func sortKeys() throws(ServiceError) -> [BoundQuery.SortKey] {
        var keys: [BoundQuery.SortKey] = []
        var isDecided = false
        for descriptor in query.sortDescriptors {
            let key = try sortKey(descriptor)
            if isDecided { continue }
            isDecided = key.column == .system(.recordID)
            let isUsual = key.ascending == keys.last?.ascending ?? true
            if !isDecided || !isUsual { keys.append(key) }
        }
        return keys
    }

    private func sortKey(
        _ descriptor: Query.SortDescriptor
    ) throws(ServiceError) -> BoundQuery.SortKey {
        let column = try column(descriptor.key)
        if column == .system(.recordID), descriptor.relativeLocation == nil {
            // Each name occurs once, so an index that finds all names is enough.
            if !isIndexed(column, as: .queryable) { try need(.sortable, of: column) }
            return BoundQuery.SortKey(column: column, ascending: descriptor.ascending)
        }
        guard let origin = descriptor.relativeLocation else {
            guard case .one(let kind) = column.type, kind.isSortable else {
                throw invalid(
                    """
                    Field '\(descriptor.key)' of type \(column.type.name) can't be sorted by; sort \
                    by a STRING, INT64, DOUBLE, TIMESTAMP or BYTES field, or by distance
                    """
                )
            }
            try need(.sortable, of: column)
            return BoundQuery.SortKey(column: column, ascending: descriptor.ascending)
        }
        guard column.type == .one(.location) else {
            throw mismatch(descriptor.key, column.type, .location)
        }
        try need(.queryable, of: column)
        guard descriptor.ascending else {
            throw invalid("only the nearest come first: sort by distance is ascending")
        }
        try checkPlace(origin)
        return BoundQuery.SortKey(column: column, ascending: true, origin: origin)
    }

    // MARK: Values

    private func fit(
        _ value: FieldValue,
        to kind: FieldKind,
        _ key: String
    ) throws(ServiceError) -> ComparableValue {
        switch (value, kind) {
        case (.int64(let number), .double): return .double(Double(number))
        case (.double(let number), .double) where number.isNaN:
            throw invalid("NaN has no place in an order")
        case (.string(let name), .reference): return .bytes(Bytes(resolved(name).utf8))
        case (.reference(let target), .reference):
            return .bytes(Bytes(resolved(target.recordName).utf8))
        default:
            guard value.kind == kind, let comparable = ComparableValue(value) else {
                throw mismatch(key, .one(kind), value.kind)
            }
            return comparable
        }
    }

    func resolved(_ name: String) -> String {
        name == Names.currentUser ? context.user : name
    }

    private func checkPlace(_ place: Location) throws(ServiceError) {
        guard (-90...90).contains(place.latitude), (-180...180).contains(place.longitude) else {
            throw invalid("a place has a latitude of ±90 and a longitude of ±180 degrees at most")
        }
    }

    // MARK: Refusals

    private func mismatch(
        _ key: String,
        _ column: FieldType,
        _ kind: FieldKind?
    ) -> ServiceError {
        ServiceError(
            .invalidArguments,
            .wrongType,
            """
            Field '\(key)' has a value type of \(column.name) and cannot be queried using filter \
            value type \(kind?.name ?? "LIST")\
            \(column == .one(.timestamp) ? "; a date is written CAST('2026-11-22', 'NSDate')" : "")
            """
        )
    }

    func unknown(_ key: String) -> ServiceError {
        invalid("Unknown field '\(key)': type \(query.recordType) has none of that name")
    }

    private func extensionNeeded(_ what: String, _ instead: String) -> ServiceError {
        invalid(
            """
            \(what) is not supported by CloudKit; \(instead), or let the query allow extensions \
            (allowsExtensions, --extensions)
            """
        )
    }

    private func tooMany(_ what: String, _ limit: Int) -> ServiceError {
        ServiceError(.limitExceeded, .tooManyItems, "a query has at most \(limit) \(what)")
    }

    func invalid(_ message: String) -> ServiceError {
        ServiceError(.invalidArguments, .invalidValue, message)
    }
}

extension TypeSchema {
    /// The fields that have an index, by name.
    func columns(
        with index: Schema.Indexes,
        in environment: Environment
    ) -> [BoundQuery.Column] {
        fields.sorted { precedes(Bytes($0.key.utf8), Bytes($1.key.utf8)) }
            .filter { indexes(of: $0.key, in: environment).contains(index) }
            .map { .field($0.key, $0.value) }
    }
}

extension BoundQuery.Column {
    /// The name in the schema, and the name that callers know.
    var names: (schema: String, shown: String) {
        switch self {
        case .field(let name, _): (name, StoredName.shown(name))
        case .system(.recordID): (SystemField.recordID.rawValue, "recordName")
        case .system(let field): (field.rawValue, field.rawValue)
        }
    }
}
