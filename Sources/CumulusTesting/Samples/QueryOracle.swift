// The results of a query by a plain loop that uses none of the node's code.
//
// Used by `QueryDifferences`. It shares only the formula of distances with the node.

import CumulusModel
import CumulusStorage

/// The meaning of a query, as plainly as possible.
struct QueryOracle {
    let query: Query

    /// Names in the order of the results.
    func answer(_ records: [String: [String: FieldValue]]) -> [String] {
        records.filter { isTrue($0.value) }.sorted { precedes($0, $1) }.map(\.key)
    }

    private func isTrue(_ fields: [String: FieldValue]) -> Bool {
        var stack: [Bool?] = []
        for node in query.predicate.nodes {
            switch node {
            case .constant(let value): stack.append(value)
            case .comparison(let comparison): stack.append(outcome(comparison, fields))
            case .not: stack.append(stack.removeLast().map { !$0 })
            case .and:
                let pair = [stack.removeLast(), stack.removeLast()]
                stack.append(pair.contains(false) ? false : pair.contains(nil) ? nil : true)
            case .or:
                let pair = [stack.removeLast(), stack.removeLast()]
                stack.append(pair.contains(true) ? true : pair.contains(nil) ? nil : false)
            }
        }
        return stack[0] == true
    }

    private func outcome(
        _ comparison: Query.Comparison,
        _ fields: [String: FieldValue]
    ) -> Bool? {
        let operands = comparison.operands.compactMap { operand in
            if case .value(let value) = operand { value } else { nil }
        }
        if comparison.key.isEmpty { return finds(operands[0], comparison.relation, fields) }
        var value = fields[comparison.key]
        if value == .list([]) { value = nil }
        if comparison.relation == .isNil { return value == nil }
        guard let value else { return nil }
        let elements = value.list ?? [value]
        return switch comparison.relation {
        case .equals, .isIn, .listContains, .listContainsAny:
            elements.contains { element in operands.contains { order(element, $0) == 0 } }
        case .notEquals: order(value, operands[0]) != 0
        case .lessThan: order(value, operands[0]) < 0
        case .lessThanOrEquals: order(value, operands[0]) <= 0
        case .greaterThan: order(value, operands[0]) > 0
        case .greaterThanOrEquals: order(value, operands[0]) >= 0
        case .beginsWith, .listMemberBeginsWith:
            elements.contains { Array(($0.string ?? "").utf8).starts(with: prefix(operands[0])) }
        case .isNearerThan: distance(value, operands[0]) < (operands[1].double ?? 0)
        case .isAtMostAsFarAs: distance(value, operands[0]) <= (operands[1].double ?? 0)
        case .containsAnyToken, .containsAllTokens, .isNil: nil
        }
    }

    private func prefix(_ value: FieldValue) -> [UInt8] { Array((value.string ?? "").utf8) }

    /// The words of the texts that these tests use.
    private func finds(
        _ text: FieldValue,
        _ relation: Query.Relation,
        _ fields: [String: FieldValue]
    ) -> Bool {
        func words(_ text: String) -> Set<String> {
            let folded = text.lowercased().replacing("é", with: "e")
                .replacing("\u{FF}", with: "y")
            return Set(folded.split { !$0.isLetter }.map(String.init))
        }
        let texts = [fields["s"]] + (fields["ls"]?.list ?? [])
        let found = texts.reduce(into: Set<String>()) { $0.formUnion(words($1?.string ?? "")) }
        let wanted = words(text.string ?? "").subtracting(["a"])
        if wanted.isEmpty { return false }
        return relation == .containsAnyToken
            ? !found.isDisjoint(with: wanted) : found.isSuperset(of: wanted)
    }

    private func distance(_ one: FieldValue, _ other: FieldValue) -> Double {
        guard let one = one.location, let other = other.location else { return .infinity }
        return GreatCircle.distance(one, other)
    }

    private func order(_ left: FieldValue, _ right: FieldValue) -> Int {
        func sign<Value: Comparable>(_ left: Value, _ right: Value) -> Int {
            left < right ? -1 : left > right ? 1 : 0
        }
        func sign(_ left: [UInt8], _ right: [UInt8]) -> Int {
            left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
        }
        return switch (left, right) {
        case (.int64(let left), .int64(let right)): sign(left, right)
        case (.double(let left), .double(let right)): sign(left, right)
        case (.timestamp(let left), .timestamp(let right)): sign(left, right)
        case (.string(let left), .string(let right)): sign(Array(left.utf8), Array(right.utf8))
        case (.bytes(let left), .bytes(let right)): sign(left, right)
        case (.reference(let left), .reference(let right)): sign(left.recordName, right.recordName)
        default: 0
        }
    }

    private func precedes(
        _ left: (key: String, value: [String: FieldValue]),
        _ right: (key: String, value: [String: FieldValue])
    ) -> Bool {
        for descriptor in query.sortDescriptors {
            var values = (left.value[descriptor.key], right.value[descriptor.key])
            if let origin = descriptor.relativeLocation {
                values.0 = values.0.map { .double(distance($0, .location(origin))) }
                values.1 = values.1.map { .double(distance($0, .location(origin))) }
            }
            let result =
                switch values {
                case (nil, nil): 0
                case (nil, _): -1
                case (_, nil): 1
                case (let left?, let right?): order(left, right)
                }
            if result != 0 { return descriptor.ascending ? result < 0 : result > 0 }
        }
        // Names go the way of the last sort key.
        let names = (Array(left.key.utf8), Array(right.key.utf8))
        return query.sortDescriptors.last?.ascending == false
            ? names.1.lexicographicallyPrecedes(names.0)
            : names.0.lexicographicallyPrecedes(names.1)
    }
}
