// Joining two nodes' states of a record gives what applying their commits gives, in any order and
// however often.

import CumulusModel
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct RecordJoinTests {
    @Test(arguments: 1...60) func aJoinEqualsApplyingTheCommits(seed: UInt64) throws {
        var replicas = try Replicas(3, seed: seed)
        try replicas.run(steps: 90)
        let parts = try replicas.stores.map { try RecordStates($0) }
        for (one, other) in [(0, 1), (1, 2), (2, 0)] {
            let expected = try TestStore(copying: replicas.stores[one], seed: seed)
            try expected.take(from: replicas.stores[other])
            let applied = try RecordStates(expected)
            for name in applied.names {
                let joined = try parts[one].join(parts[other], name)
                #expect(joined == applied.states[name], "seed \(seed): \(name)")
                let twin = try parts[other].join(parts[one], name)
                #expect(joined == twin, "seed \(seed): \(name) joined the other way round")
            }
        }
    }

    @Test(arguments: 1...30) func grouping(seed: UInt64) throws {
        var replicas = try Replicas(3, seed: seed)
        try replicas.run(steps: 90)
        let parts = try replicas.stores.map { try RecordStates($0) }
        let left = try parts[0].joined(with: parts[1]).joined(with: parts[2])
        let right = try parts[0].joined(with: parts[1].joined(with: parts[2]))
        for name in left.names {
            #expect(left.states[name] == right.states[name], "seed \(seed): \(name)")
            let again = try left.join(parts[1], name)
            #expect(again == left.states[name], "seed \(seed): \(name) joined again")
        }
    }
}

/// All records of a node by name, without what sealing adds and what tombstones say.
private struct RecordStates {
    var states: [RecordRow.Place: [RecordRow]] = [:]
    var increments: [Bytes: IncrementRow] = [:]
    var vector: VersionVector
    /// Zones that exist, with their generations; the others' records mean nothing.
    private var zones: Set<String> = []

    init(_ store: TestStore) throws {
        vector = VersionVector(try store.vectors().mapValues(\.seq))
        for (key, value) in try store.reader.rows(.log, .all(.increment)) {
            increments[key] = try IncrementRow(row: value)
        }
        for (key, value) in try store.reader.rows(.meta, .all(.database)) {
            var parts = KeyReader(key)
            _ = try parts.number(ScopeNumber.self)
            let kind = try #require(DatabaseScope(rawValue: try parts.number(UInt8.self)))
            let database = DatabaseID(kind: kind, owner: try parts.text())
            try add(database, try NumberRow(row: value).number, store.reader)
        }
    }

    private mutating func add(
        _ database: DatabaseID,
        _ number: DatabaseNumber,
        _ reader: ReadTransaction
    ) throws {
        for (key, value) in try reader.rows(.meta, .zones(of: number)) {
            var parts = KeyReader(key)
            _ = try parts.number(DatabaseNumber.self)
            let (name, zone) = (try parts.text(), try ZoneRow(row: value))
            guard name == Names.defaultZone else { continue }
            let rows =
                try reader.rows(.records, .records(of: zone.number))
                + reader.rows(.records, .siblings(of: zone.number))
            for (key, value) in rows {
                var parts = KeyReader(key)
                _ = try parts.number(ZoneNumber.self)
                let place = RecordRow.Place(
                    database: database,
                    zone: name,
                    generation: zone.generation,
                    name: try parts.text()
                )
                states[place, default: []].append(Self.bare(try RecordRow(value)))
            }
        }
        for place in states.keys { states[place]?.sort { $0.birth > $1.birth } }
    }

    var names: [RecordRow.Place] { Array(states.keys) }

    private static func bare(_ row: RecordRow) -> RecordRow {
        var bare = row
        if row.isDead {
            bare = RecordRow(type: "", birth: .zero, createdBy: "")
            bare.isDead = true
            bare.frontier = row.frontier
        }
        (bare.tag, bare.digest) = ([], [])
        return bare
    }

    func join(_ other: RecordStates, _ place: RecordRow.Place) throws -> [RecordRow] {
        let joined = try RecordJoin.join(
            .init(rows: states[place] ?? [], vector: vector),
            .init(rows: other.states[place] ?? [], vector: other.vector),
            doubled: doubled(other, place.name)
        )
        return joined.map(Self.bare)
    }

    func joined(with other: RecordStates) throws -> RecordStates {
        var joined = self
        for place in Set(names + other.names) { joined.states[place] = try join(other, place) }
        joined.increments.merge(other.increments) { $0.stamp < $1.stamp ? $0 : $1 }
        joined.vector.merge(other.vector)
        return joined
    }

    /// Increments that both hold for one request, made by two commits.
    private func doubled(_ other: RecordStates, _ name: String) throws -> [DoubledIncrement] {
        try increments.compactMap { key, row in
            guard let second = other.increments[key]?.second(beside: row) else { return nil }
            var parts = KeyReader(Bytes([key[0]] + key.dropFirst(17)))
            let birth = Dot(Incarnation(try parts.number()), try parts.number())
            guard try parts.text() == name else { return nil }
            return DoubledIncrement(
                birth: birth,
                field: try parts.text(),
                dot: second.stamp.dot,
                delta: second.delta
            )
        }
    }
}
