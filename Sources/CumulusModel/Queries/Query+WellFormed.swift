// Whether a predicate's postfix list can be evaluated at all.
//
// Asked where a predicate comes from elsewhere, before anything else is done with it: what is well
// formed never lacks an operand, neither of a connective nor of a comparison.

extension Query.Predicate {
    /// Whether each connective finds its operands, one outcome remains, and each comparison fits
    /// its relation.
    package var isWellFormed: Bool {
        var outcomes = 0
        for node in nodes {
            switch node {
            case .constant: outcomes += 1
            case .comparison(let comparison):
                guard comparison.isWellFormed else { return false }
                outcomes += 1
            case .not:
                guard outcomes >= 1 else { return false }
            case .and, .or:
                guard outcomes >= 2 else { return false }
                outcomes -= 1
            }
        }
        return outcomes == 1
    }
}

extension Query.Comparison {
    /// Whether there are as many operands as the relation wants, of the kind that it wants, and a
    /// key unless the whole record is searched.
    ///
    /// Whether the operands fit the field is for the schema to say.
    package var isWellFormed: Bool {
        guard relation.operandCount.contains(operands.count),
            operands.allSatisfy({ !$0.isList })
        else { return false }
        switch relation {
        case .containsAnyToken, .containsAllTokens:
            guard case .value(.string) = operands[0] else { return false }
            return key.isEmpty
        case .isNearerThan, .isAtMostAsFarAs:
            guard case .value(.location) = operands[0] else { return false }
        default: break
        }
        return !key.isEmpty
    }
}

extension Query.Operand {
    fileprivate var isList: Bool { if case .value(.list) = self { true } else { false } }
}
