// The shapes of comparison that a predicate's format may have, and what each is compiled to.
//
// Part of the parser: called where it expects a comparison.

extension PredicateParser {
    /// An operator as written, before the kinds of its sides are known.
    package enum Operation: Equatable {
        case relation(Query.Relation)
        case isIn
        case contains
        case beginsWith
        case between
        case tokenMatches
    }

    private struct Clause {
        var left: Term
        var operation: Operation
        var right: Term
        /// The place of the operator.
        var offset: Int
    }

    mutating func comparison() throws(ServiceError) -> Shape {
        let start = next.range.lowerBound
        if take(.keyword(.all)) != nil { return try tokenizedSearch(from: start) }
        if take(.keyword(.none)) != nil {
            throw refusal("NONE isn't supported; use NOT (ANY key = value)", at: start)
        }
        let isAny = take(.keyword(.any)) != nil || take(.keyword(.some)) != nil
        let left = try term()
        let offset = next.range.lowerBound
        let operation = try operation()
        let right = try operation == .isIn ? termOrParenthesizedList() : term()
        let clause = Clause(left: left, operation: operation, right: right, offset: offset)
        return try isAny ? anyMember(clause) : compile(clause)
    }

    private mutating func compile(_ clause: Clause) throws(ServiceError) -> Shape {
        switch clause.operation {
        case .relation(let relation): try relate(clause, relation)
        case .isIn: try membership(clause)
        case .contains: try containment(clause)
        case .beginsWith: try prefix(clause, .beginsWith)
        case .between: try range(clause)
        case .tokenMatches: try tokenMatch(clause)
        }
    }

    private mutating func relate(
        _ clause: Clause,
        _ relation: Query.Relation
    ) throws(ServiceError) -> Shape {
        let offset = clause.offset
        switch (clause.left, clause.right) {
        case (.key(let key), .one(let value)):
            return try compare(key, relation, [value], at: offset)
        case (.key(let key), .nothing):
            return try compareWithNil(key, relation, at: offset)
        case (.distance(let key, let place), .one(let radius)):
            return try near(key, place, relation, radius, at: offset)
        case (.one, .key), (.nothing, .key), (.one, .distance):
            var turned = clause
            (turned.left, turned.right) = (clause.right, clause.left)
            return try relate(turned, relation.mirrored)
        case (.list, _), (_, .list):
            throw refusal("one value is needed, not a list; use IN, or ANY key = value", at: offset)
        default: throw misfit(clause)
        }
    }

    private mutating func compareWithNil(
        _ key: String,
        _ relation: Query.Relation,
        at offset: Int
    ) throws(ServiceError) -> Shape {
        guard relation == .equals || relation == .notEquals else {
            throw refusal("nil can only be compared with == and !=", at: offset)
        }
        let shape = try compare(key, .isNil, [], at: offset)
        guard relation == .notEquals else { return shape }
        try append(.not, at: offset)
        return .negation
    }

    private mutating func near(
        _ key: String,
        _ place: Location,
        _ relation: Query.Relation,
        _ radius: Query.Operand,
        at offset: Int
    ) throws(ServiceError) -> Shape {
        guard relation == .lessThan || relation == .lessThanOrEquals else {
            throw refusal("a distance can only be compared with < and <=", at: offset)
        }
        guard case .value(let number) = radius, let metres = number.double else {
            throw refusal("a distance is compared with a number of metres", at: offset)
        }
        let operands: [Query.Operand] = [.value(.location(place)), .value(.double(metres))]
        let near: Query.Relation = relation == .lessThan ? .isNearerThan : .isAtMostAsFarAs
        _ = try compare(key, near, operands, at: offset)
        return .distance
    }

    private mutating func membership(_ clause: Clause) throws(ServiceError) -> Shape {
        switch (clause.left, clause.right) {
        case (.key(let key), .list(let values)):
            return try choose(key, .isIn, values, at: clause.offset)
        case (.one(let value), .key(let key)):
            return try compare(key, .listContains, [value], at: clause.offset)
        case (.key, .one):
            throw refusal(
                "IN needs a list, such as {1, 2}; use == for one value",
                at: clause.offset
            )
        case (.list, .key):
            throw refusal(
                "one value is needed on the left of IN, not a list; use ANY key IN list",
                at: clause.offset
            )
        default: throw misfit(clause)
        }
    }

    private mutating func containment(_ clause: Clause) throws(ServiceError) -> Shape {
        switch (clause.left, clause.right) {
        case (.key(let key), .one(let value)):
            return try compare(key, .listContains, [value], at: clause.offset)
        case (.record, .one(.value(.string(let words)))):
            return try search(words, .containsAnyToken, at: clause.offset)
        case (.record, _):
            throw refusal("self CONTAINS needs a text of words", at: clause.offset)
        case (.key, .list):
            throw refusal(
                "one value is needed behind CONTAINS, not a list; use ANY key IN list",
                at: clause.offset
            )
        case (.one, .key), (.list, .key):
            throw refusal(
                "the key must stand on the left of CONTAINS; the other way round, use IN",
                at: clause.offset
            )
        default: throw misfit(clause)
        }
    }

    private mutating func prefix(
        _ clause: Clause,
        _ relation: Query.Relation
    ) throws(ServiceError) -> Shape {
        switch (clause.left, clause.right) {
        case (.key(let key), .one(let value)):
            guard case .value(.string) = value else {
                throw refusal("BEGINSWITH needs a text", at: clause.offset)
            }
            return try compare(key, relation, [value], at: clause.offset)
        case (.key, .list):
            throw refusal("one value is needed behind BEGINSWITH, not a list", at: clause.offset)
        case (.one, .key):
            throw refusal("the key must stand on the left of BEGINSWITH", at: clause.offset)
        default: throw misfit(clause)
        }
    }

    private mutating func range(_ clause: Clause) throws(ServiceError) -> Shape {
        guard case .key(let key) = clause.left else {
            throw refusal("a key must stand on the left of BETWEEN", at: clause.offset)
        }
        guard case .list(let bounds) = clause.right, bounds.count == 2 else {
            throw refusal("BETWEEN needs a list of two values, {low, high}", at: clause.offset)
        }
        _ = try compare(key, .greaterThanOrEquals, [bounds[0]], at: clause.offset)
        _ = try compare(key, .lessThanOrEquals, [bounds[1]], at: clause.offset)
        try append(.and, at: clause.offset)
        return .range
    }

    private mutating func anyMember(_ clause: Clause) throws(ServiceError) -> Shape {
        switch (clause.left, clause.operation, clause.right) {
        case (.key(let key), .relation(.equals), .one(let value)):
            return try compare(key, .listContains, [value], at: clause.offset)
        case (.key(let key), .isIn, .list(let values)):
            return try choose(key, .listContainsAny, values, at: clause.offset)
        case (.list(let values), .relation(.equals), .key(let key)):
            return try choose(key, .isIn, values, at: clause.offset)
        case (.key, .beginsWith, .one):
            return try prefix(clause, .listMemberBeginsWith)
        default:
            throw refusal(
                """
                ANY is only supported in ANY key = value, ANY key IN list, \
                ANY key BEGINSWITH text and ANY list = key
                """,
                at: clause.offset
            )
        }
    }

    // MARK: - Words

    private mutating func tokenMatch(_ clause: Clause) throws(ServiceError) -> Shape {
        guard case .key("allTokens") = clause.left else {
            throw refusal(
                "write allTokens TOKENMATCHES[cdl] 'words'; nothing else can stand before it",
                at: clause.offset
            )
        }
        guard case .one(.value(.string(let words))) = clause.right else {
            throw refusal("TOKENMATCHES needs a text of words", at: clause.offset)
        }
        return try search(words, .containsAllTokens, at: clause.offset)
    }

    /// `ALL tokenize('words', 'cdl') IN allTokens`, behind the ALL.
    mutating func tokenizedSearch(from start: Int) throws(ServiceError) -> Shape {
        guard ["tokenize", "tokenize:using:"].contains(functionName()) else {
            throw refusal("ALL isn't supported; use ANY, or one comparison per value", at: start)
        }
        let words = try tokenizeArguments()
        guard take(.keyword(.isIn)) != nil, case .key("allTokens") = try term() else {
            throw refusal("behind ALL tokenize(…) must come IN allTokens", at: start)
        }
        return try search(words, .containsAllTokens, at: start)
    }

    private mutating func search(
        _ words: String,
        _ relation: Query.Relation,
        at offset: Int
    ) throws(ServiceError) -> Shape {
        _ = try compare("", relation, [.value(.string(words))], at: offset)
        return .search
    }

    /// The error for the sides of an operator, where it is the same for all operators.
    private func misfit(_ clause: Clause) -> ServiceError {
        switch (clause.left, clause.right) {
        case (.key, .key):
            refusal(
                "two fields can't be compared; a text stands in quotes: 'text'",
                at: clause.offset
            )
        case (.record, _), (_, .record):
            refusal(
                "self is only supported in self CONTAINS 'words'; name a field",
                at: clause.offset
            )
        case (.distance, _), (_, .distance):
            refusal("a distance can only be compared with a number", at: clause.offset)
        case (.nothing, _), (_, .nothing):
            refusal("nil can only be compared with == and !=, and with a key", at: clause.offset)
        default:
            refusal(
                "one side must be a key; mark a field named like a reserved word with #",
                at: clause.offset
            )
        }
    }
}

extension Query.Relation {
    /// The relation with its sides exchanged, if there is one.
    package var mirrored: Query.Relation {
        switch self {
        case .lessThan: .greaterThan
        case .lessThanOrEquals: .greaterThanOrEquals
        case .greaterThan: .lessThan
        case .greaterThanOrEquals: .lessThanOrEquals
        default: self
        }
    }
}
