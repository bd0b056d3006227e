// Random queries over random records, answered by the node's code and by a plain loop that knows
// nothing of it: the same records in the same order, whole and in pages.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct QueryOracleTests {
    /// Forty seeds of 100 queries each.
    @Test(arguments: 1...40 as ClosedRange<UInt64>) func theNodeFindsWhatALoopFinds(
        seed: UInt64
    ) throws {
        var random = RandomQueries(dice: SeededGenerator(seed: seed))
        let store = try TestStore(seed: seed)
        var records: [String: [String: FieldValue]] = [:]
        for number in 0..<40 {
            let (name, fields) = ("r\(number)", random.fields())
            records[name] = fields
            try store.save([SaveItem(name, fields.mapValues { $0 })])
        }
        // Half of the seeds ask before the indexes are there.
        if seed % 2 == 0 { try store.settleIndexes(limit: 7) }
        for number in [3, 8, 14, 22, 31] {
            let name = "r\(number)"
            if number % 2 == 0 {
                records[name] = nil
                try store.delete([DeleteItem(name)])
            } else {
                let fields = random.fields()
                let gone = Set((records[name] ?? [:]).keys).subtracting(fields.keys)
                records[name] = fields
                var changes: [String: FieldValue?] = fields.mapValues { $0 }
                for key in gone { changes[key] = .some(nil) }
                try store.save([SaveItem(name, changes)])
            }
        }
        #expect(try DerivedRows.differences(in: store.engine) == [])
        var found = 0
        for _ in 0..<100 {
            let query = random.query()
            let expected = QueryOracle(query: query).answer(records)
            let whole = try store.query(query, limit: 400).records.map(\.record.name)
            #expect(whole == expected, "seed \(seed): \(query.predicate)")
            #expect(try paged(query, store, &random.dice) == expected, "\(query.predicate)")
            found += expected.count
        }
        // Queries that find nothing, or everything, would show little.
        #expect((200...3_500).contains(found), "\(found)")
    }

    private func paged(
        _ query: Query,
        _ store: TestStore,
        _ dice: inout SeededGenerator
    ) throws -> [String] {
        var names: [String] = []
        var cursor: QueryCursor?
        repeat {
            let page = try store.query(
                query,
                limit: .random(in: 1...15, using: &dice),
                from: cursor
            )
            names += page.records.map(\.record.name)
            cursor = page.next
        } while cursor != nil
        return names
    }
}

/// Few values of each kind, so that records share them.
private struct RandomQueries {
    var dice: SeededGenerator

    private static let texts = ["", "a", "ab", "Ab", "é", "e\u{301}", "a\u{0}", "zug ab", "\u{FF}"]
    private static let names = ["r1", "r2", "r30", "x"]

    private mutating func pick<Element>(_ choices: [Element]) -> Element {
        choices[Int.random(in: choices.indices, using: &dice)]
    }

    private mutating func chance(of count: Int) -> Bool {
        Int.random(in: 0..<count, using: &dice) == 0
    }

    mutating func fields() -> [String: FieldValue] {
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

    mutating func query() -> Query {
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

/// What a query means, said as plainly as possible.
private struct QueryOracle {
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
