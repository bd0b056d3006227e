// Holds random queries over random records against a plain loop: the same records in the same
// order, whole and in pages of random sizes, before and after indexes are built. The ways that a
// plan knows are raced from a few rows on, as they are in large stores.
//
// Used by the tests of both stores, and by `QuerySimulation`.

import CumulusModel
import CumulusOperations
package import CumulusStorage

package struct QueryDifferences {
    private let store: TestStore
    private var random: RandomQueries
    private var records: [String: [String: FieldValue]] = [:]
    /// The fields that have a type: an empty list can't be the first value of a field.
    private var typed: Set<String> = []
    /// Results of all queries together, and plans by their first words.
    package private(set) var found = 0
    package private(set) var plans: [String: Int] = [:]
    package private(set) var differences: [String] = []

    /// - Parameters:
    ///   - builds: Indexes are built before the queries; else indexes of fields that came late
    ///     never
    ///     are.
    package init(
        seed: UInt64,
        engine: any StorageEngine,
        builds: Bool
    ) throws {
        random = RandomQueries(dice: SeededGenerator(seed: seed))
        store = try TestStore(seed: seed, engine: engine)
        try fill()
        if builds { try store.settleIndexes(limit: 7) }
        // Rows of what changes are owed, of some records or of all.
        if seed % 3 == 2 { store.limitIndexRows(Int(seed / 3 % 3) * 3) }
        try change()
    }

    /// Asks some queries, and looks at the rows.
    package mutating func ask(_ count: Int) throws {
        for _ in 0..<count { try ask() }
        try checkRows()
    }

    mutating func checkRows() throws {
        differences += try DerivedRows.differences(in: store.engine)
    }

    private mutating func fill() throws {
        for number in 0..<40 {
            let (name, fields) = ("r\(number)", randomFields())
            records[name] = fields
            try store.save([SaveItem(name, fields.mapValues { $0 })])
        }
    }

    private mutating func randomFields() -> [String: FieldValue] {
        let fields = random.fields().filter { typed.contains($0.key) || $0.value != .list([]) }
        typed.formUnion(fields.keys)
        return fields
    }

    private mutating func change() throws {
        for number in [3, 8, 14, 22, 31] {
            let name = "r\(number)"
            if number % 2 == 0 {
                records[name] = nil
                try store.delete([DeleteItem(name)])
            } else {
                let fields = randomFields()
                var changes: [String: FieldValue?] = fields.mapValues { $0 }
                for key in (records[name] ?? [:]).keys where fields[key] == nil {
                    changes[key] = .some(nil)
                }
                records[name] = fields
                try store.save([SaveItem(name, changes)])
            }
        }
    }

    /// Asks a query; returns what it found, in words.
    @discardableResult
    mutating func ask() throws -> String {
        let query = random.query()
        let expected = QueryOracle(query: query).answer(records)
        let whole = try store.query(query, limit: 400, firstStretch: stretch())
        compare(whole.records.map(\.record.name), expected, "\(query.predicate)")
        compare(try paged(query), expected, "in pages: \(query.predicate)")
        let count = try store.query(query, counts: true).count
        compare(["\(count)"], ["\(expected.count)"], "count of \(query.predicate)")
        found += expected.count
        plans[whole.work.plan.split(separator: " ").prefix(3).joined(separator: " "), default: 0] +=
            1
        return "\(query.predicate): \(expected.count) records"
    }

    private mutating func paged(_ query: Query) throws -> [String] {
        var names: [String] = []
        var cursor: QueryCursor?
        repeat {
            let limit = Int.random(in: 1...40, using: &random.dice)
            let page = try store.query(
                query,
                limit: limit,
                from: cursor,
                firstStretch: stretch()
            )
            names += page.records.map(\.record.name)
            cursor = page.next
        } while cursor != nil
        return names
    }

    /// Plans are chosen after so many rows.
    private mutating func stretch() -> Int {
        [1, 2, 4, 16, 256][Int.random(in: 0..<5, using: &random.dice)]
    }

    private mutating func compare(_ found: [String], _ expected: [String], _ what: String) {
        if found != expected { differences.append("\(what): \(found), not \(expected)") }
    }
}
