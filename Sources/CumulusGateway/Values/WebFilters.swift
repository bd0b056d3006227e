// Predicates as filters, the other way round than `WebQuery`.
//
// It is called for the queries of subscriptions. A predicate that filters can't express, such as an
// OR of a native client, gives none.

package import CumulusModel

package struct WebFilters {
    let columns: [String: FieldType]
    /// The caller's user record name.
    let user: String

    package init(columns: [String: FieldType], user: String) {
        self.columns = columns
        self.user = user
    }

    /// One filter, before it is JSON.
    private struct Filter {
        var key: String
        var comparator: WebComparator
        var values: [FieldValue]
    }

    /// nil means that filters can't say it.
    package func filters(of predicate: Query.Predicate) -> [JSON]? {
        var stack: [[Filter]] = []
        for node in predicate.nodes {
            switch node {
            case .constant(true): stack.append([])
            case .constant(false), .or: return nil
            case .comparison(let comparison):
                guard let filter = filter(comparison) else { return nil }
                stack.append([filter])
            case .not:
                guard let group = stack.popLast(), group.count == 1,
                    let negated = group[0].comparator.negated
                else { return nil }
                var filter = group[0]
                filter.comparator = negated
                stack.append([filter])
            case .and:
                guard let last = stack.popLast(), let first = stack.popLast() else { return nil }
                stack.append(first + last)
            }
        }
        guard stack.count == 1 else { return nil }
        return stack[0].map(json)
    }

    private func filter(_ comparison: Query.Comparison) -> Filter? {
        guard let comparator = WebComparator(comparison.relation) else { return nil }
        var values: [FieldValue] = []
        for operand in comparison.operands {
            guard case .value(let value) = operand else { return nil }
            values.append(value)
        }
        if values.isEmpty { return nil }
        return Filter(key: comparison.key, comparator: comparator, values: values)
    }

    private func json(_ filter: Filter) -> JSON {
        var members = [JSON.Member("comparator", .string(filter.comparator.rawValue))]
        if !filter.key.isEmpty { members.append(JSON.Member("fieldName", .string(filter.key))) }
        let writer = WebFieldWriter(user: user)
        let value = filter.comparator.takesList ? FieldValue.list(filter.values) : filter.values[0]
        let column = columns[filter.key]
        members.append(
            JSON.Member("fieldValue", writer.json(value, in: .default, column: column))
        )
        if filter.comparator == .near, let distance = filter.values.last?.double {
            members.append(JSON.Member("distance", .decimal(distance)))
        }
        return .object(members)
    }
}

extension WebComparator {
    /// nil for a relation that no comparator stands for.
    fileprivate init?(_ relation: Query.Relation) {
        let plain = WebComparator.allCases.first {
            $0.relation == relation && !$0.isNegated && !$0.wantsAll
        }
        guard let plain, relation.operandCount.lowerBound > 0 else { return nil }
        self = plain
    }

    fileprivate var negated: WebComparator? {
        switch self {
        case .isIn: .isNotIn
        case .beginsWith: .notBeginsWith
        case .listContains: .notListContains
        case .listContainsAny: .notListContainsAny
        case .listMemberBeginsWith: .notListMemberBeginsWith
        case .equals: .notEquals
        default: nil
        }
    }
}
