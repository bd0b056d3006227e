// Which records a query has to look at, and in which order it meets them.
//
// Made by `QueryRecords` of a bound query. A plan only spares records that would not satisfy the
// predicate, or would come behind the page: `Candidate` judges each that is left.

import CumulusModel

package enum QueryPlan: Hashable, Sendable {
    /// The records of these names, ascending.
    case names([String])
    /// The records of a zone in the order of their names, which is that of the results: whoever has
    /// enough can stop, and a later page begins at its cursor.
    case byName
    /// All records of a zone.
    case all

    package init(_ query: BoundQuery, counts: Bool) {
        if let names = query.names {
            let names = names.sorted(by: precedes)
            self = .names(names.map { String(decoding: $0, as: UTF8.self) })
        } else {
            self = query.sortKeys.isEmpty && !counts ? .byName : .all
        }
    }

    /// For people.
    package func description(zones: Int) -> String {
        let place = zones == 1 ? "the zone" : "all \(zones) zones"
        return switch self {
        case .names(let names): "look up \(names.count) names in \(place)"
        case .byName: "read \(place) in the order of names until the page is full"
        case .all: "read all records of \(place)"
        }
    }
}

extension BoundQuery {
    /// The only names that results can have, as bytes: of texts, Swift takes some for equal that
    /// are spelt differently.
    ///
    /// nil: any.
    fileprivate var names: Set<Bytes>? {
        var names: Set<Bytes>?
        for comparison in conjuncts {
            guard case .values(.system(.recordID), let values) = comparison.subject,
                comparison.relation == .equals || comparison.relation == .isIn
            else { continue }
            let wanted = values.compactMap { if case .bytes(let name) = $0 { name } else { nil } }
            names = names?.intersection(wanted) ?? Set(wanted)
        }
        return names
    }

    /// Comparisons that every result satisfies: those that only AND joins.
    package var conjuncts: [Comparison] {
        var stack: [[Comparison]] = []
        for node in nodes {
            switch node {
            case .constant: stack.append([])
            case .comparison(let comparison): stack.append([comparison])
            case .not: stack[stack.count - 1] = []
            case .and:
                let right = stack.removeLast()
                stack[stack.count - 1] += right
            case .or:
                stack.removeLast()
                stack[stack.count - 1] = []
            }
        }
        return stack.last ?? []
    }
}
