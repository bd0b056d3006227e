// Reads a predicate's format and compiles it to the postfix list that queries carry: the
// connectives, and which shapes of comparison there are.
//
// Called by the initialisers of `Query.Predicate`. Takes time in proportion to the format, recurses
// no deeper than parentheses may nest, and refuses with a sentence what CloudKit refuses.

package struct PredicateParser {
    /// Parentheses in parentheses; more are refused.
    package static let maximumDepth = 64
    /// Longer postfix lists are refused.
    package static let maximumNodes = 1_000

    package let source: PredicateSource
    package let arguments: [any QueryArgument]
    private let tokens: [PredicateToken]
    private var position = 0
    private var depth = 0
    private var nodes: [Query.Node] = []

    /// The postfix list of a format, with the arguments in place of its placeholders.
    package static func nodes(
        _ format: String,
        _ arguments: [any QueryArgument]
    ) throws(ServiceError) -> [Query.Node] {
        let source = PredicateSource(format)
        guard source.bytes.count <= PredicateSource.maximumBytes else {
            throw source.refusal(
                "more than \(PredicateSource.maximumBytes) bytes are too long",
                at: PredicateSource.maximumBytes
            )
        }
        var parser = try PredicateParser(source, arguments)
        try parser.checkArgumentCount()
        return try parser.predicate()
    }

    private init(
        _ source: PredicateSource,
        _ arguments: [any QueryArgument]
    ) throws(ServiceError) {
        self.source = source
        self.arguments = arguments
        tokens = try PredicateLexer.tokens(of: source)
    }

    private func checkArgumentCount() throws(ServiceError) {
        let placeholders = tokens.filter { if case .placeholder = $0.kind { true } else { false } }
        let counts = "placeholders: \(placeholders.count), arguments: \(arguments.count)"
        if placeholders.count > arguments.count {
            let first = placeholders[arguments.count].range.lowerBound
            throw refusal(
                "an argument is missing (\(counts)); pass it, or write the value",
                at: first
            )
        }
        if placeholders.count < arguments.count {
            throw refusal(
                "there are too many arguments (\(counts)); a % within quotes takes none",
                at: source.bytes.count
            )
        }
    }

    // MARK: - Connectives

    /// What NOT has to know of the predicate behind it.
    private enum Shape {
        case comparison
        case constant
        case negation
        case search
        case distance
        case range
        case compound
    }

    private mutating func predicate() throws(ServiceError) -> [Query.Node] {
        guard next.kind != .end else {
            throw refusal("the format is empty; TRUEPREDICATE finds every record")
        }
        _ = try disjunction()
        switch next.kind {
        case .end: return nodes
        case .symbol(")"): throw refusal("this parenthesis was never opened")
        default: throw refusal("the predicate ends before \(shown(next)); join two with AND")
        }
    }

    private mutating func disjunction() throws(ServiceError) -> Shape {
        var shape = try conjunction()
        while let connective = take(.keyword(.or)) {
            _ = try conjunction()
            try append(.or, at: connective)
            shape = .compound
        }
        return shape
    }

    private mutating func conjunction() throws(ServiceError) -> Shape {
        var shape = try negation()
        while let connective = take(.keyword(.and)) {
            _ = try negation()
            try append(.and, at: connective)
            shape = .compound
        }
        return shape
    }

    private mutating func negation() throws(ServiceError) -> Shape {
        guard let offset = take(.keyword(.not)) else { return try primary() }
        guard next.kind != .keyword(.not) else { throw doubleNegation(at: offset) }
        let shape = try primary()
        switch shape {
        case .comparison: try append(.not, at: offset)
        case .constant: nodes.append(.constant(nodes.popLast() == .constant(false)))
        case .negation: throw doubleNegation(at: offset)
        case .search:
            throw refusal("NOT isn't supported over a search for words", at: offset)
        case .distance:
            throw refusal(
                "NOT isn't supported over a distance; only what is near can be found",
                at: offset
            )
        case .range:
            throw refusal(
                "NOT isn't supported over BETWEEN; ask for key < a OR key > b, or in two queries",
                at: offset
            )
        case .compound:
            throw refusal(
                "NOT isn't supported over AND and OR; put it before each single comparison",
                at: offset
            )
        }
        return shape == .comparison ? .negation : shape
    }

    private func doubleNegation(at offset: Int) -> ServiceError {
        refusal("NOT isn't supported over another negation; leave both out", at: offset)
    }

    private mutating func primary() throws(ServiceError) -> Shape {
        let offset = next.range.lowerBound
        if next.kind == .symbol("(") {
            try open()
            let shape = try disjunction()
            try close()
            return shape
        }
        if take(.keyword(.truePredicate)) != nil {
            return try constant(true, at: offset)
        }
        if take(.keyword(.falsePredicate)) != nil {
            return try constant(false, at: offset)
        }
        return try comparison()
    }

    // MARK: - Comparisons

    /// What an operator says, before it is known what stands on its sides.
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
        /// Where the operator stands.
        var offset: Int
    }

    private mutating func comparison() throws(ServiceError) -> Shape {
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
    private mutating func tokenizedSearch(from start: Int) throws(ServiceError) -> Shape {
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

    // MARK: - Nodes

    /// A comparison with one of several values; with one of none it holds for no record.
    private mutating func choose(
        _ key: String,
        _ relation: Query.Relation,
        _ values: [Query.Operand],
        at offset: Int
    ) throws(ServiceError) -> Shape {
        if values.isEmpty { return try constant(false, at: offset) }
        return try compare(key, relation, values, at: offset)
    }

    private mutating func compare(
        _ key: String,
        _ relation: Query.Relation,
        _ operands: [Query.Operand],
        at offset: Int
    ) throws(ServiceError) -> Shape {
        try append(.comparison(.init(key, relation, operands)), at: offset)
        return .comparison
    }

    private mutating func constant(_ value: Bool, at offset: Int) throws(ServiceError) -> Shape {
        try append(.constant(value), at: offset)
        return .constant
    }

    private mutating func append(_ node: Query.Node, at offset: Int) throws(ServiceError) {
        guard nodes.count < Self.maximumNodes else {
            throw refusal(
                "more than \(Self.maximumNodes) comparisons and connectives are too many",
                at: offset
            )
        }
        nodes.append(node)
    }

    // MARK: - Tokens

    /// Not yet taken; the end stays next for ever.
    package var next: PredicateToken { tokens[position] }

    package var afterNext: PredicateToken { tokens[min(position + 1, tokens.count - 1)] }

    package mutating func advance() {
        position = min(position + 1, tokens.count - 1)
    }

    /// Where the next token stands, if it is of that kind and was taken.
    package mutating func take(_ kind: PredicateToken.Kind) -> Int? {
        guard next.kind == kind else { return nil }
        defer { advance() }
        return next.range.lowerBound
    }

    package mutating func expect(_ symbol: Character) throws(ServiceError) {
        guard take(.symbol(symbol)) != nil else {
            throw refusal("'\(symbol)' is missing before \(shown(next))")
        }
    }

    package mutating func open() throws(ServiceError) {
        guard depth < Self.maximumDepth else {
            throw refusal("parentheses nest deeper than \(Self.maximumDepth)")
        }
        try expect("(")
        depth += 1
    }

    package mutating func close() throws(ServiceError) {
        try expect(")")
        depth -= 1
    }

    package func shown(_ token: PredicateToken) -> String {
        token.kind == .end ? "the end of the format" : source.excerpt(token.range)
    }

    package func refusal(_ sentence: String, at token: PredicateToken) -> ServiceError {
        refusal(sentence, at: token.range.lowerBound)
    }

    /// An error at an offset, or at the next token.
    package func refusal(_ sentence: String, at offset: Int? = nil) -> ServiceError {
        source.refusal(sentence, at: offset ?? next.range.lowerBound)
    }

    /// What is wrong with the sides of an operator, as far as it is the same for all of them.
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
    /// The relation that holds with the sides exchanged, for those that have one.
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
