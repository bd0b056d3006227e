// Two stores that are changed apart and healed, for tests of what becomes of both changes.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

/// Two nodes of one cluster.
struct StorePair {
    let one: TestStore
    let other: TestStore

    init() throws {
        one = try TestStore(seed: 1)
        other = try TestStore(seed: 2)
        // What happens on the other happens later.
        other.now += 1_000
        try other.save([SaveItem("types", ["a": 0, "b": 0, "c": 0, "n": 0])])
        try heal()
    }

    func together(_ items: [SaveItem]) throws {
        try one.save(items)
        try heal()
    }

    /// Each takes what the other has; then both must hold the same.
    func heal() throws {
        for (store, source) in [(one, other), (other, one)] {
            for commits in try source.commits(above: store.vectors()).values {
                for (commit, bytes) in commits { try store.apply(commit, bytes: bytes) }
            }
        }
        let rows = try [one, other].map { try ReplicatedState.rows(of: $0.scope, in: $0.engine) }
        #expect(ReplicatedState.differences(rows[0], rows[1]) == [])
    }

    /// The record's fields on both.
    func value(_ name: String) throws -> [String: FieldValue]? {
        let views = [one, other].map { try? $0.fetch(name, in: .private, by: .alice).get() }
        #expect(views[0]?.fields == views[1]?.fields)
        return try views[0].map { try Self.values($0.fields) }
    }

    func birth(_ name: String) throws -> Dot {
        let rows = try StoredRecords.all(in: one.reader).filter { $0.place.name == name }
        return try #require(rows.first).row.birth.dot
    }

    /// What the conflict logs of both hold, in order.
    func lost() throws -> [[String: FieldValue]] {
        try [one, other].flatMap { store in
            try store.reader.rows(.log, .conflicts(of: store.scopeNumber())).map { _, value in
                try Self.values(try Conflict(row: value).lost)
            }
        }
    }

    /// The values without lists.
    private static func values(_ fields: Bytes) throws -> [String: FieldValue] {
        let body = try RecordBody(stored: fields)
        return Dictionary(
            uniqueKeysWithValues: try body.entries.compactMap { entry in
                try body.value(entry).map { (body.name(of: entry), $0) }
            }
        )
    }
}
