// Reads what stands on the sides of a predicate's operators, and the operators: keys, literals,
// placeholders and lists.
//
// Part of the parser.

extension PredicateParser {
    /// One side of a comparison.
    package enum Term {
        case key(String)
        /// `self`: the record as a whole.
        case record
        case one(Query.Operand)
        case list([Query.Operand])
        /// nil.
        case nothing
        /// How far a field is from a place.
        case distance(String, Location)
    }

    /// One side of a comparison, which must end there.
    package mutating func term() throws(ServiceError) -> Term {
        let term = try bareTerm()
        switch next.kind {
        case .symbol(".") where afterNext.kind == .symbol("@"): throw aggregateRefusal()
        case .symbol("."):
            throw refusal("key paths aren't supported; name a field of the searched type itself")
        case .symbol("+"), .symbol("-"), .symbol("*"), .symbol("/"): throw arithmeticRefusal()
        case .symbol("["):
            throw refusal("an element of a list can't be picked; use ANY or CONTAINS")
        default: return term
        }
    }

    private mutating func bareTerm() throws(ServiceError) -> Term {
        let token = next
        switch token.kind {
        case .keyword(let keyword): return try reserved(keyword)
        case .word(let name):
            return try afterNext.kind.opensFunction ? function() : key(name)
        case .escaped(let name): return try key(name)
        case .symbol("{"): return .list(try list(until: "}"))
        case .symbol("-"), .integer, .decimal: return .one(.value(try number()))
        case .string(let text):
            advance()
            return .one(.value(.string(text)))
        case .placeholder(let placeholder, let index):
            let term = try argument(placeholder, index)
            advance()
            return term
        case .symbol("+"), .symbol("*"), .symbol("/"): throw arithmeticRefusal()
        case .symbol("@"): throw aggregateRefusal()
        default: throw refusal("a key or a value is missing before \(shown(token))")
        }
    }

    private func arithmeticRefusal() -> ServiceError {
        refusal(
            "arithmetic isn't supported; write the value (a date: CAST('2026-11-22', 'NSDate'))"
        )
    }

    private func aggregateRefusal() -> ServiceError {
        refusal("aggregates such as @count aren't supported; keep the number in a field")
    }

    // MARK: - Words

    private mutating func reserved(
        _ keyword: PredicateToken.Keyword
    ) throws(ServiceError) -> Term {
        let term: Term
        switch keyword {
        case .record: term = .record
        case .null, .nil: term = .nothing
        case .true, .yes: term = .one(.value(.int64(1)))
        case .false, .no: term = .one(.value(.int64(0)))
        case .now: term = .one(.now)
        default:
            throw refusal(
                """
                a key or a value is missing before \(shown(next)); \
                a field of that name is written #\(shown(next))
                """
            )
        }
        advance()
        if keyword == .now, next.kind == .symbol("(") {
            try open()
            try close()
        }
        return term
    }

    private mutating func key(_ name: String) throws(ServiceError) -> Term {
        guard Query.Predicate.isKey(name) else {
            throw refusal(
                "'\(shown(next))' is no field's name, which is a letter, then letters, digits and _"
            )
        }
        advance()
        return .key(name)
    }

    // MARK: - Values

    private mutating func number() throws(ServiceError) -> FieldValue {
        let start = next.range.lowerBound
        let isNegative = take(.symbol("-")) != nil
        let value: FieldValue
        switch next.kind {
        case .decimal(let magnitude): value = .double(isNegative ? -magnitude : magnitude)
        case .integer(let magnitude):
            let number = isNegative ? Int64(negating: magnitude) : Int64(exactly: magnitude)
            guard let number else {
                throw refusal("the number is too large for an INT64", at: start)
            }
            value = .int64(number)
        default: throw arithmeticRefusal()
        }
        advance()
        return value
    }

    /// The argument of the next placeholder.
    private func argument(
        _ placeholder: PredicateToken.Placeholder,
        _ index: Int
    ) throws(ServiceError) -> Term {
        if placeholder == .value, arguments[index] is NilArgument { return .nothing }
        let value = arguments[index].queryArgument
        try checkArgument(value, index)
        switch (placeholder, value) {
        case (.key, .string(let name)):
            guard Query.Predicate.isKey(name) else {
                let shown = PredicateSource.shortened(name)
                throw refusal("argument \(index + 1), '\(shown)', can't be the name of a field")
            }
            return .key(name)
        case (.value, .list(let elements)):
            for element in elements { try checkElement(element, index) }
            return .list(elements.map { .value($0) })
        case (.value, _), (.signed, .int64), (.decimal, .double): return .one(.value(value))
        case (.unsigned, .int64(let number)) where number >= 0: return .one(.value(value))
        default:
            throw refusal(
                "argument \(index + 1) is not what \(shown(next)) stands for; use %@ for any value"
            )
        }
    }

    private func checkElement(_ value: FieldValue, _ index: Int) throws(ServiceError) {
        if case .list = value {
            throw refusal("argument \(index + 1) is a list in a list; nothing can equal that")
        }
        try checkArgument(value, index)
    }

    private func checkArgument(_ value: FieldValue, _ index: Int) throws(ServiceError) {
        switch value {
        case .double(let number) where number.isNaN:
            let shown = PredicateSource.shortened("\(arguments[index])")
            throw refusal("argument \(index + 1) is no number that a field can hold: \(shown)")
        case .asset: throw refusal("argument \(index + 1) is an asset; assets can't be compared")
        default: break
        }
    }

    // MARK: - Lists

    /// The term after IN, where a list may also have parentheses.
    package mutating func termOrParenthesizedList() throws(ServiceError) -> Term {
        next.kind == .symbol("(") ? .list(try list(until: ")")) : try term()
    }

    private mutating func list(until end: Character) throws(ServiceError) -> [Query.Operand] {
        advance()
        var elements: [Query.Operand] = []
        if take(.symbol(end)) != nil { return elements }
        repeat { elements.append(try element()) } while take(.symbol(",")) != nil
        try expect(end)
        return elements
    }

    private mutating func element() throws(ServiceError) -> Query.Operand {
        let start = next.range.lowerBound
        guard next.kind != .symbol("{"), case .one(let value) = try term() else {
            throw refusal("an element of a list must be a value", at: start)
        }
        return value
    }

    // MARK: - Operators

    /// The operator that is next, with the options behind it.
    package mutating func operation() throws(ServiceError) -> Operation {
        let token = next
        let operation = try bareOperation()
        advance()
        let options = try options()
        if operation == .tokenMatches {
            guard options.map({ $0.lowercased().utf8.sorted() }) == Array("cdl".utf8) else {
                throw refusal("TOKENMATCHES must be written TOKENMATCHES[cdl]", at: token)
            }
        } else if options != nil {
            throw refusal(
                """
                options such as [c] and [d] aren't supported; comparisons are exact, \
                and self CONTAINS 'words' ignores case and accents
                """,
                at: token
            )
        }
        return operation
    }

    private func bareOperation() throws(ServiceError) -> Operation {
        switch next.kind {
        case .relation(let relation): return .relation(relation)
        case .keyword(.isIn): return .isIn
        case .keyword(.contains): return .contains
        case .keyword(.beginsWith): return .beginsWith
        case .keyword(.between): return .between
        case .keyword(.tokenMatches): return .tokenMatches
        case .keyword(.endsWith):
            throw refusal(
                "ENDSWITH isn't supported; use BEGINSWITH on a field with the text reversed"
            )
        case .keyword(.like): throw refusal("LIKE isn't supported; use == or BEGINSWITH")
        case .keyword(.matches):
            throw refusal("MATCHES isn't supported; use BEGINSWITH, or self CONTAINS 'words'")
        case .keyword(.not): throw refusal("NOT must stand before the key: NOT (key IN list)")
        case .word(let word) where word.uppercased() == "UTI":
            throw refusal("UTI comparisons aren't supported; use == or IN with the identifiers")
        default:
            throw refusal("a comparison such as == is missing before \(shown(next))")
        }
    }

    /// The letters in brackets; nil if there are no brackets.
    private mutating func options() throws(ServiceError) -> String? {
        guard take(.symbol("[")) != nil else { return nil }
        guard case .word(let letters) = next.kind else {
            throw refusal(
                "letters such as cdl must stand in the brackets; a list is written {1, 2}"
            )
        }
        advance()
        try expect("]")
        return letters
    }
}

extension PredicateToken.Kind {
    /// Whether the word before it is the name of a function.
    fileprivate var opensFunction: Bool { self == .symbol("(") || self == .symbol(":") }
}

extension Int64 {
    /// The number with a minus before it; nil if it doesn't fit.
    fileprivate init?(negating magnitude: UInt64) {
        guard magnitude <= Int64.min.magnitude else { return nil }
        self = Int64(truncatingIfNeeded: 0 &- magnitude)
    }
}
