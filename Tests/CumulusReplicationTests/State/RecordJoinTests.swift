// Joining two nodes' states of a record gives what applying their commits gives, in any order and
// however often.

import CumulusModel
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct RecordJoinTests {
    @Test(arguments: 1...60) func aJoinEqualsApplyingTheCommits(seed: UInt64) throws {
        let policy = SimulatedCluster.policy(of: seed)
        var cluster = try SimulatedCluster(3, seed: seed, merging: policy)
        try cluster.run(steps: 90)
        let parts = try cluster.stores.map { try RecordStates($0) }
        for (one, other) in [(0, 1), (1, 2), (2, 0)] {
            let expected = try TestStore(copying: cluster.stores[one], seed: seed)
            try expected.take(from: cluster.stores[other])
            let applied = try RecordStates(expected)
            for name in applied.names {
                let joined = try parts[one].join(parts[other], name)
                let wanted = applied.states[name].map(RecordStates.shown)
                #expect(RecordStates.shown(joined) == wanted, "seed \(seed): \(name)")
                let twin = try parts[other].join(parts[one], name)
                #expect(joined == twin, "seed \(seed): \(name) joined the other way round")
            }
        }
    }

    @Test(arguments: 1...30) func groupingAndRepetitionMakeNoDifference(seed: UInt64) throws {
        let policy = SimulatedCluster.policy(of: seed)
        var cluster = try SimulatedCluster(3, seed: seed, merging: policy)
        try cluster.run(steps: 90)
        let parts = try cluster.stores.map { try RecordStates($0) }
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

    init(_ store: TestStore) throws {
        vector = VersionVector(try store.vectors().mapValues(\.seq))
        for (key, value) in try store.reader.rows(.log, .all(.increment)) {
            increments[key] = try IncrementRow(row: value)
        }
        // Zones have a join of their own: only zones that every node has are compared.
        for (place, row) in try StoredRecords.all(in: store.reader)
        where place.zone == Names.defaultZone {
            states[place, default: []].append(Self.bare(row))
        }
        for place in states.keys { states[place]?.sort { $0.isShown(before: $1) } }
    }

    var names: [RecordRow.Place] { Array(states.keys) }

    private static func bare(_ row: RecordRow) -> RecordRow {
        var bare = row
        if row.isDead {
            bare = RecordRow(type: "", birth: .zero, createdBy: "")
            bare.isDead = true
            bare.frontier = row.frontier
        }
        (bare.tag, bare.digest, bare.ended) = ([], [], row.ended)
        return bare
    }

    /// The rows without the ends of lives: nodes may remember different ends of one life.
    static func shown(_ rows: [RecordRow]) -> [RecordRow] {
        rows.map { row in
            var row = row
            row.ended = []
            return row
        }
    }

    func join(_ other: RecordStates, _ place: RecordRow.Place) throws -> [RecordRow] {
        let joined = try RecordJoin.join(
            .init(rows: states[place] ?? [], vector: vector),
            .init(rows: other.states[place] ?? [], vector: other.vector),
            doubled: { lives in doubled(other, place.name, lives) }
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

    /// Increments that both hold for one request and one life, made by two commits.
    private func doubled(
        _ other: RecordStates,
        _ name: String,
        _ lives: [RecordRow]
    ) -> [DoubledIncrement] {
        var doubled: [DoubledIncrement] = []
        for (key, row) in increments {
            guard let theirs = other.increments[key], let second = theirs.second(beside: row),
                let (identity, named, field) = try? Self.parts(of: key), named == name,
                let life = lives.first(where: { $0.identity == identity }),
                row.isOf(life), theirs.isOf(life)
            else { continue }
            doubled.append(
                DoubledIncrement(
                    birth: life.birth.dot,
                    field: field,
                    dot: second.stamp.dot,
                    delta: second.delta
                )
            )
        }
        return doubled
    }

    private static func parts(of key: Bytes) throws -> (identity: Dot, name: String, String) {
        var parts = KeyReader(key)
        _ = try parts.number(ScopeNumber.self)
        _ = try parts.bytes(16)
        return (try parts.dot(), try parts.text(), try parts.text())
    }
}
