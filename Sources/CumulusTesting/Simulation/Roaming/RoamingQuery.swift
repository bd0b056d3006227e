// A client that asks one query of one node after the other, page by page.
//
// Driven by `SimulatedCluster`. A record that the first node found, and that was the same on all
// other nodes, must be on exactly one page: pages neither repeat nor skip such records. A
// difference is a fault, which the checkers report.

import CumulusModel
import CumulusOperations
import CumulusStorage

package struct RoamingQuery {
    private let caller: Caller
    private let broken: BrokenRules
    private var dice: SeededGenerator
    private var asked: Asked?
    /// Broken promises, in words.
    private(set) var faults: [String] = []
    /// How often each kind of event happened.
    private(set) var counts: [String: Int] = [:]

    /// A query on its way.
    private struct Asked {
        var query: Query
        /// The schema of the first node; with another schema, records match and sort differently.
        var schema: TypeSchema
        /// Tags of the records that all nodes so far found in the same version, by zone and name.
        var found: [String: Bytes]
        /// The vector of the last node that answered.
        var seen: VersionVector
        var told: [String] = []
        var cursor: QueryCursor?
        var waits = 0
    }

    /// How often a query waits for a node that is behind; a restored node may stay behind forever.
    private static let patience = 30

    /// - Parameter seed: Seeds dice of its own, so that the rest of the history does not change.
    init(_ user: String, seed: UInt64, breaking broken: BrokenRules) {
        caller = Caller(role: .user(user))
        self.broken = broken
        dice = SeededGenerator(seed: seed)
    }

    /// Asks a node for the first page, or for the next one.
    mutating func step(on store: TestStore) throws {
        do {
            if asked == nil { asked = try begin(on: store) }
            guard var asked else { return }
            let page = try store.query(
                asked.query,
                zone: nil,
                limit: .random(in: 1...3, using: &dice),
                from: asked.cursor,
                breaking: broken,
                by: caller
            )
            asked.told += page.records.map { "\($0.zone.name)/\($0.record.name)" }
            asked.cursor = page.next
            try leaveOut(&asked, on: store)
            self.asked = asked
            if page.next == nil { try end(asked, on: store) }
        } catch let error as ServiceError {
            note(error)
        } catch let error as ReadFailure {
            faults.append("a query failed: \(error)")
            asked = nil
        }
    }

    private mutating func begin(on store: TestStore) throws -> Asked {
        var query = Query(
            recordType: RandomRequests.recordType,
            predicate: .field("votes") > -3
        )
        for key in ["title", "price", "votes"].shuffled(using: &dice).prefix(2)
        where Bool.random(using: &dice) {
            query.sortDescriptors.append(
                Query.SortDescriptor(key: key, ascending: .random(using: &dice))
            )
        }
        return Asked(
            query: query,
            schema: try schema(of: store),
            found: try all(query, on: store),
            seen: try store.vector()
        )
    }

    /// Drops the records that this node does not have in the version of the first node.
    ///
    /// This is done at each page, since a record may change and come back to its old version. A
    /// node that is behind the last one should not have answered: its records don't count.
    private func leaveOut(_ asked: inout Asked, on store: TestStore) throws {
        let vector = try store.vector()
        guard vector.covers(asked.seen) else { return }
        asked.seen = vector
        let now = try all(asked.query, on: store)
        asked.found = asked.found.filter { now[$0.key] == $0.value }
    }

    private mutating func end(_ asked: Asked, on store: TestStore) throws {
        self.asked = nil
        guard try schema(of: store) == asked.schema else { return }
        counts["queries", default: 0] += 1
        for name in asked.found.keys.sorted() {
            let times = asked.told.count { $0 == name }
            if times == 1 { continue }
            faults.append("'\(name)' was on \(times) pages of a query of \(caller.user)")
        }
    }

    private func all(_ query: Query, on store: TestStore) throws -> [String: Bytes] {
        let page = try store.query(query, zone: nil, limit: 10_000, by: caller)
        return Dictionary(
            uniqueKeysWithValues: page.records.map {
                ("\($0.zone.name)/\($0.record.name)", $0.record.changeTag)
            }
        )
    }

    private func schema(of store: TestStore) throws -> TypeSchema {
        try store.reader.typeSchema(store.scopeNumber(), RandomRequests.recordType)
    }

    /// Counts an error; an error that no caller should get is a fault.
    private mutating func note(_ error: ServiceError) {
        counts["queries: \(error.code)", default: 0] += 1
        guard error.reason == .nodeBehind else {
            faults.append("a query failed: \(error)")
            asked = nil
            return
        }
        asked?.waits += 1
        if asked?.waits ?? 0 > RoamingQuery.patience { asked = nil }
    }
}
