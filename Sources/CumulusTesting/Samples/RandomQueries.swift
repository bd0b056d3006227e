// Random records and random queries about them, of all kinds of fields and all comparisons.
//
// Used by `QueryDifferences`.

package import CumulusModel

/// Few values of each kind, so that records share them.
package struct RandomQueries {
    package var dice: SeededGenerator

    package init(dice: SeededGenerator) {
        self.dice = dice
    }

    private static let texts = ["", "a", "ab", "Ab", "é", "e\u{301}", "a\u{0}", "zug ab", "\u{FF}"]
    private static let names = ["r1", "r2", "r30", "x"]

    private mutating func pick<Element>(_ choices: [Element]) -> Element {
        choices[Int.random(in: choices.indices, using: &dice)]
    }

    private mutating func chance(of count: Int) -> Bool {
        Int.random(in: 0..<count, using: &dice) == 0
    }

    package mutating func fields() -> [String: FieldValue] {
        var fields: [String: FieldValue] = [:]
        for key in ["i", "d", "s", "t", "b", "r", "p", "ls", "li", "lr"] where !chance(of: 4) {
            fields[key] = value(of: key)
        }
        return fields
    }

    private mutating func value(of key: String) -> FieldValue {
        guard key.hasPrefix("l") else { return scalar(of: key) }
        let element = String(key.dropFirst())
        return .list((0..<Int.random(in: 0...3, using: &dice)).map { _ in scalar(of: element) })
    }

    private mutating func scalar(of key: String) -> FieldValue {
        switch key {
        case "i": .int64(pick([.min, -2, -1, 0, 1, 2, .max]))
        case "d": .double(pick([-.infinity, -1.5, -0.0, 0, 0.5, 2, .infinity]))
        case "s": .string(pick(Self.texts))
        case "t": .timestamp(Timestamp(millisecondsSince1970: pick([-5, 0, 5, 1_000])))
        case "b": .bytes(pick([[], [0], [0, 0xFF], [1], [0xFF]]))
        case "r": .reference(Record.Reference(recordName: pick(Self.names)))
        default:
            .location(
                Location(latitude: pick([-90, 0, 48, 90]), longitude: pick([-180, 0, 16, 179]))
            )
        }
    }

    // MARK: Queries

    package mutating func query() -> Query {
        var query = Query(recordType: "Note", predicate: Query.Predicate(nodes: nodes(depth: 3)))
        for key in ["i", "d", "s", "t", "b"].shuffled(using: &dice).prefix(pick([0, 0, 1, 2, 3])) {
            query.sortDescriptors.append(.init(key: key, ascending: !chance(of: 2)))
        }
        if chance(of: 6) {
            let origin = Location(latitude: pick([0, 47]), longitude: pick([-179, 15]))
            query.sortDescriptors.insert(.init(key: "p", relativeLocation: origin), at: 0)
        }
        query.allowsExtensions = true
        return query
    }

    private mutating func nodes(depth: Int) -> [Query.Node] {
        if depth == 0 || chance(of: 3) {
            let (comparison, isSimple) = comparison()
            let node = Query.Node.comparison(comparison)
            return isSimple && chance(of: 4) ? [node, .not] : [node]
        }
        if chance(of: 12) { return [.constant(false)] }
        return nodes(depth: depth - 1) + nodes(depth: depth - 1) + [chance(of: 3) ? .or : .and]
    }

    private mutating func comparison() -> (Query.Comparison, isSimple: Bool) {
        func operands(_ values: [FieldValue]) -> [Query.Operand] { values.map { .value($0) } }
        let key = pick(["i", "d", "s", "t", "b", "r", "p", "ls", "li", "lr", "", "i", "s"])
        if !key.isEmpty, chance(of: 8) { return (Query.Comparison(key, .isNil, []), true) }
        switch key {
        case "":
            let relation: Query.Relation = chance(of: 2) ? .containsAnyToken : .containsAllTokens
            return (Query.Comparison("", relation, operands([.string(pick(Self.texts))])), false)
        case "p":
            let relation: Query.Relation = chance(of: 2) ? .isNearerThan : .isAtMostAsFarAs
            let metres = FieldValue.double(pick([0, 2_000_000, 6_000_000, 20_100_000]))
            return (Query.Comparison("p", relation, operands([scalar(of: "p"), metres])), false)
        case "ls", "li", "lr":
            let element = String(key.dropFirst())
            if key == "ls", chance(of: 3) {
                return (
                    Query.Comparison(key, .listMemberBeginsWith, operands([scalar(of: "s")])), true
                )
            }
            let values = (0...Int.random(in: 0...2, using: &dice)).map { _ in scalar(of: element) }
            return values.count == 1
                ? (Query.Comparison(key, .listContains, operands(values)), true)
                : (Query.Comparison(key, .listContainsAny, operands(values)), true)
        default:
            if chance(of: 4) {
                let values = (0...Int.random(in: 0...3, using: &dice)).map { _ in scalar(of: key) }
                return (Query.Comparison(key, .isIn, operands(values)), true)
            }
            var relations: [Query.Relation] = [.equals, .notEquals]
            if key != "r" {
                relations += [.lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals]
            }
            if key == "s" { relations += [.beginsWith, .beginsWith] }
            return (Query.Comparison(key, pick(relations), operands([scalar(of: key)])), true)
        }
    }
}
