// Reads a predicate's format and compiles it to the postfix list that queries carry: what AND, OR
// and NOT join. Comparisons, and what stands on their sides, are in files of their own.
//
// Called by the initialisers of `Query.Predicate`. Takes time in proportion to the format, recurses
// no deeper than parentheses may nest, and refuses with a sentence what CloudKit refuses.
//
// Folder: reading the text format of predicates. Read `PredicateParser`, then `PredicateLexer` and
// `PredicateParser+Comparisons`.

package struct PredicateParser {
    /// Parentheses in parentheses; more are refused.
    package static let maximumDepth = 64

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

    /// What NOT has to know about the predicate after it.
    enum Shape {
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
            throw refusal(
                """
                NOT isn't supported over a search for words; take what is not wanted out of the \
                results
                """,
                at: offset
            )
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

    // MARK: - Nodes

    /// A comparison with one of several values; with one of none it holds for no record.
    mutating func choose(
        _ key: String,
        _ relation: Query.Relation,
        _ values: [Query.Operand],
        at offset: Int
    ) throws(ServiceError) -> Shape {
        if values.isEmpty { return try constant(false, at: offset) }
        return try compare(key, relation, values, at: offset)
    }

    mutating func compare(
        _ key: String,
        _ relation: Query.Relation,
        _ operands: [Query.Operand],
        at offset: Int
    ) throws(ServiceError) -> Shape {
        try append(.comparison(.init(key, relation, operands)), at: offset)
        return .comparison
    }

    mutating func constant(_ value: Bool, at offset: Int) throws(ServiceError) -> Shape {
        try append(.constant(value), at: offset)
        return .constant
    }

    mutating func append(_ node: Query.Node, at offset: Int) throws(ServiceError) {
        let limit = Limits.standard.predicateNodes
        guard nodes.count < limit else {
            throw refusal(
                "more than \(limit) comparisons and connectives are too many",
                at: offset
            )
        }
        nodes.append(node)
    }

    // MARK: - Tokens

    /// The next token, not yet taken; at the end it stays the end token.
    package var next: PredicateToken { tokens[position] }

    package var afterNext: PredicateToken { tokens[min(position + 1, tokens.count - 1)] }

    package mutating func advance() {
        position = min(position + 1, tokens.count - 1)
    }

    /// Takes the next token if it is of that kind; returns its place.
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
}
