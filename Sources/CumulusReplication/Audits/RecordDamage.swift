// The records that a damaged part of the store touches, as far as this node can tell.
//
// Made by `Verification` of what its survey found, from the same snapshot. The names come from the
// change index, which stands elsewhere on the disk: it names every record with its last commits.

package import CumulusModel
package import CumulusStorage

package struct RecordDamage: Sendable {
    /// The part of the damage in one zone.
    package struct Part: Sendable {
        package let scope: ScopeID
        package let place: ZonePlace
        /// How far this node had read the scope.
        package let vector: VersionVector
        /// Commits of the records there, by name; nil if the change index can't be read.
        package let known: [String: [Dot]]?
        /// The stretches that another node is asked for.
        package let stretches: [Stretch]
        /// Whether a record that another node has belongs there.
        let isInside: @Sendable (_ name: String) -> Bool
    }

    package let damage: StoreDamage
    package var parts: [Part] = []
    /// Nothing but records of these zones stands there.
    package private(set) var holdsOnlyRecords = true

    /// - Parameter damages: The damages that one survey found.
    package static func all(
        _ damages: [StoreDamage],
        in reader: ReadTransaction
    ) throws(EngineError) -> [RecordDamage] {
        var found: [RecordDamage] = []
        for damage in damages where damage.family == .records {
            var located = RecordDamage(damage: damage)
            located.holdsOnlyRecords = try holdsOnlyRecords(damage, in: reader)
            found.append(located)
        }
        if found.isEmpty { return [] }
        for (scope, number) in try ScopeDirectory.all(in: reader) {
            let vector = try reader.vector(of: number)
            for (database, databaseNumber) in try reader.databases(of: number) {
                for (name, row) in try reader.zoneRows(of: databaseNumber) where row.exists {
                    let place = ZonePlace(
                        scope: number,
                        database: databaseNumber,
                        number: row.number,
                        zone: Commit.Zone(
                            database: database,
                            name: name,
                            generation: row.generation
                        )
                    )
                    let zone = Search(scope, place, vector, damages, reader)
                    try zone.add(to: &found)
                }
            }
        }
        return found
    }

    private static func holdsOnlyRecords(
        _ damage: StoreDamage,
        in reader: ReadTransaction
    ) throws(EngineError) -> Bool {
        let others = damage.subspaces.filter { $0 != .record && $0 != .sibling }
        if others.isEmpty { return try !reader.hasStages() }
        if damage.isRow { return false }
        // A stretch that goes to the end holds rows of assets only if there are any.
        for subspace in [Subspace.chunkUse, .packed] {
            if try !reader.rows(.index, .all(subspace), limit: 1).isEmpty { return false }
        }
        return try !reader.hasStages()
    }
}

/// Looks for the records of one zone that are damaged.
private struct Search {
    let scope: ScopeID
    let place: ZonePlace
    let vector: VersionVector
    let damages: [StoreDamage]
    let reader: ReadTransaction

    init(
        _ scope: ScopeID,
        _ place: ZonePlace,
        _ vector: VersionVector,
        _ damages: [StoreDamage],
        _ reader: ReadTransaction
    ) {
        self.scope = scope
        self.place = place
        self.vector = vector
        self.damages = damages
        self.reader = reader
    }

    private var zone: ZoneNumber { place.number }

    func add(to found: inout [RecordDamage]) throws(EngineError) {
        let records = KeyRange.records(of: zone)
        let siblings = KeyRange.siblings(of: zone)
        guard damages.contains(where: { $0.touches(records) || $0.touches(siblings) }) else {
            return
        }
        let known = try changed()
        for index in found.indices {
            let damage = found[index].damage
            if damage.touches(records) { found[index].parts.append(part(of: damage, known)) }
            if damage.touches(siblings) {
                found[index].parts.append(try siblingPart(of: damage))
            }
        }
    }

    /// The last commits of all records of the zone that are damaged; nil if they can't be read.
    private func changed() throws(EngineError) -> [String: [Dot]]? {
        var known: [String: [Dot]] = [:]
        do throws(EngineError) {
            var failure: EngineError?
            try reader.scan(.index, .changes(of: zone), backwards: false) { key, _ in
                do throws(EngineError) {
                    let (dot, name) = try RowKey.change(key)
                    if damages.contains(.record(zone, name)) {
                        known[name, default: []].append(dot)
                    }
                    return true
                } catch {
                    failure = error
                    return false
                }
            }
            if let failure { throw failure }
            return known
        } catch .corrupt {
            return nil
        }
    }

    private func part(of damage: StoreDamage, _ known: [String: [Dot]]?) -> RecordDamage.Part {
        let (zone, range) = (zone, damage.range)
        let isInside = { @Sendable (name: String) in
            range.contains(RowKey.record(zone, name).bytes)
        }
        let last = damage.isRow ? damage.range.start : damage.after
        return RecordDamage.Part(
            scope: scope,
            place: place,
            vector: vector,
            known: known?.filter { isInside($0.key) },
            stretches: [stretch(after: damage.before.flatMap(name), through: last.flatMap(name))],
            isInside: isInside
        )
    }

    /// Lives that are not shown: each of the records that can have some there is asked for.
    private func siblingPart(of damage: StoreDamage) throws(EngineError) -> RecordDamage.Part {
        var known: [String: [Dot]] = [:]
        var (stretches, last): ([Stretch], String?) = ([], nil)
        for range in damages.leaving(.records(of: zone), of: .records) {
            for (key, value) in try reader.rows(.records, range) {
                guard let name = name(of: key) else { continue }
                defer { last = name }
                guard let row = try? RecordRow(value), row.hasSiblings,
                    damage.touches(.siblings(of: zone, name))
                else { continue }
                known[name] = row.frontier.map(\.dot)
                stretches.append(stretch(after: last, through: name))
            }
        }
        let names = Set(known.keys)
        return RecordDamage.Part(
            scope: scope,
            place: place,
            vector: vector,
            known: known,
            stretches: stretches,
            isInside: { names.contains($0) }
        )
    }

    private func stretch(after first: String?, through last: String?) -> Stretch {
        Stretch(
            database: place.zone.database,
            zone: place.zone.name,
            after: first,
            through: last
        )
    }

    /// The name in the key of a record of this zone.
    private func name(of key: Bytes) -> String? {
        guard KeyRange.records(of: zone).contains(key) else { return nil }
        var parts = KeyReader(key)
        _ = try? parts.number(ZoneNumber.self)
        return try? parts.text()
    }
}
