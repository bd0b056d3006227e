// Compares what a node holds with the state of another one, record by record, and replaces what
// differs by what the other one holds.
//
// Driven by whoever reads the other node's state, all of it, page by page; `StateIntake` has
// checked the pages. Both go on meanwhile: a record is compared where each has read what the other
// knows of it, and what the other has forgotten of the zone where it lacks a life. Whatever differs
// then is damage, since rows follow from commits.

import CumulusModel
package import CumulusStorage

package struct StateAudit: Sendable {
    package struct Difference: Sendable {
        package enum Kind: Sendable {
            case otherContent
            case missingHere
            case missingThere
        }

        package let zone: Commit.Zone
        package let name: String
        package let kind: Kind
        fileprivate let ours: [RecordRow]
        fileprivate let theirs: [RecordRow]
    }

    /// Records that were compared, and those that can't be yet.
    package private(set) var (compared, unsettled): (UInt64, UInt64) = (0, 0)
    private let offer: StateOffer
    private let reader: ReadTransaction
    private let scope: ScopeNumber
    private let ours: VersionVector
    private let theirs: VersionVector
    /// How far the walk through the offer's zones is, and through the records of that zone.
    private var zone = 0
    private var last: String?

    /// Rows that are read at a time.
    private static let chunk = 500

    /// - Parameter reader: One snapshot of this node.
    package init(
        _ offer: StateOffer,
        _ scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) {
        self.offer = offer
        self.scope = scope
        self.reader = reader
        ours = try reader.vector(of: scope)
        theirs = offer.vector
    }

    /// Compares the next records of the other node with those of this one.
    package mutating func compare(_ page: StateIntake.Page) throws(EngineError) -> [Difference] {
        var found = try finishZones(before: page.zone)
        guard let end = page.records.last?.name else { return found }
        let others = Dictionary(uniqueKeysWithValues: page.records.map { ($0.name, $0.rows) })
        found += try compare(others, through: end)
        last = end
        return found
    }

    /// What the other node has no records for.
    package mutating func finish() throws(EngineError) -> [Difference] {
        var found = try finishZones(before: offer.zones.count)
        let offered = Set(offer.zones.map { ZoneName($0.database, $0.name) })
        for zone in try StateSource(reader, scope: scope).zones()
        where zone.row.exists && !offered.contains(ZoneName(zone.database, zone.name)) {
            let pair = Pair(zone: zone.commitZone, ourHorizon: zone.row.horizon)
            found += try compare([:], through: nil, in: zone.row.number, pair)
        }
        return found
    }

    /// One zone on both nodes.
    private struct Pair {
        let zone: Commit.Zone
        /// The commits of what each keeps nothing of any more.
        var ourHorizon = VersionVector()
        var theirHorizon = VersionVector()
    }

    private struct ZoneName: Hashable {
        let database: DatabaseID
        let name: String

        init(_ database: DatabaseID, _ name: String) {
            (self.database, self.name) = (database, name)
        }
    }

    private mutating func finishZones(before end: Int) throws(EngineError) -> [Difference] {
        var found: [Difference] = []
        while zone < end {
            found += try compare([:], through: nil)
            (zone, last) = (zone + 1, nil)
        }
        return found
    }

    // MARK: Records

    /// - Parameter end: The last name to look at; nil: all that are left.
    private mutating func compare(
        _ others: [String: [RecordRow]],
        through end: String?
    ) throws(EngineError) -> [Difference] {
        let offered = offer.zones[zone]
        let held = try reader.database(scope, offered.database)
            .flatMap { (database) throws(EngineError) in try reader.zone(database, offered.name) }
        guard let held, held.exists, held.generation == offered.row.generation else {
            return try compareWithoutZone(others, held)
        }
        if let deleted = offered.row.deleted, !offered.row.exists, !ours.covers(deleted.dot) {
            // The other node has read that the zone is gone.
            unsettled += 1
            return []
        }
        let pair = Pair(
            zone: offered.commitZone,
            ourHorizon: held.horizon,
            theirHorizon: offered.row.horizon
        )
        return try compare(others, through: end, in: held.number, pair)
    }

    private mutating func compare(
        _ others: [String: [RecordRow]],
        through end: String?,
        in held: ZoneNumber,
        _ pair: Pair
    ) throws(EngineError) -> [Difference] {
        var rest = others
        var found: [Difference] = []
        var range = KeyRange.records(of: held)
        if let last { range.start = RowKey.record(held, last).bytes + [0] }
        if let end { range.end = RowKey.record(held, end).bytes + [0] }
        while true {
            let rows = try reader.rows(.records, range, limit: StateAudit.chunk)
            for (key, value) in rows {
                var parts = KeyReader(key)
                _ = try parts.number(ZoneNumber.self)
                let name = try parts.text()
                let mine = try lives(value, name, in: held)
                found += compare(mine, rest.removeValue(forKey: name) ?? [], name, pair)
            }
            guard rows.count == StateAudit.chunk, let key = rows.last?.key else { break }
            range.start = key + [0]
        }
        for (name, rows) in rest { found += compare([], rows, name, pair) }
        return found
    }

    /// The zone is not here, or another one of its name.
    private mutating func compareWithoutZone(
        _ others: [String: [RecordRow]],
        _ held: ZoneRow?
    ) throws(EngineError) -> [Difference] {
        let stamps = [held?.created, held?.deleted].compactMap { $0 }
        guard stamps.allSatisfy({ $0 == .zero || theirs.covers($0.dot) }) else {
            unsettled += UInt64(others.count)
            return []
        }
        let offered = offer.zones[zone]
        let pair = Pair(zone: offered.commitZone, theirHorizon: offered.row.horizon)
        return others.flatMap { name, rows in compare([], rows, name, pair) }
    }

    private mutating func compare(
        _ mine: [RecordRow],
        _ others: [RecordRow],
        _ name: String,
        _ pair: Pair
    ) -> [Difference] {
        let (left, right) = (StateAudit.content(mine), StateAudit.content(others))
        if left.isEmpty && right.isEmpty { return [] }
        // Who lacks a life may know of its end, and keep nothing that tells of it.
        let isSettled =
            ours.covers(others.first?.frontier ?? []) && theirs.covers(mine.first?.frontier ?? [])
            && (left.holdsLives(of: right) || theirs.covers(pair.ourHorizon))
            && (right.holdsLives(of: left) || ours.covers(pair.theirHorizon))
        guard isSettled || left == right else {
            unsettled += 1
            return []
        }
        compared += 1
        if left == right { return [] }
        let kind: Difference.Kind =
            left.isEmpty ? .missingHere : right.isEmpty ? .missingThere : .otherContent
        return [Difference(zone: pair.zone, name: name, kind: kind, ours: mine, theirs: others)]
    }

    /// What is shown, and what waits behind it; frontiers only say where to look.
    private static func content(_ rows: [RecordRow]) -> [RecordRow] {
        rows.filter { !$0.isDead }.map { row in
            var row = row
            row.frontier = []
            return row
        }
    }

    private func lives(
        _ shown: Bytes,
        _ name: String,
        in zone: ZoneNumber
    ) throws(EngineError) -> [RecordRow] {
        try reader.decoding(Bytes(name.utf8)) { () throws(MalformedBytes) in
            try RecordRow(shown)
        }.withSiblings(named: name, in: zone, reader)
    }

    // MARK: Repair

    /// Replaces records by what the other node holds; returns how many.
    ///
    /// One that was changed since it was compared is left alone.
    package static func repair(
        _ differences: [Difference],
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Int {
        var repaired = 0
        for difference in differences where difference.kind != .missingThere {
            let zone = difference.zone
            guard let database = try transaction.database(scope, zone.database),
                let row = try transaction.zone(database, zone.name),
                row.exists, row.generation == zone.generation
            else { continue }
            let mine = try transaction.lives(row.number, difference.name)
            guard mine == difference.ours else { continue }
            let place = ZonePlace(
                scope: scope,
                database: database,
                number: row.number,
                zone: zone
            )
            _ = try transaction.replace(
                mine,
                with: difference.theirs,
                of: difference.name,
                at: place
            )
            repaired += 1
        }
        return repaired
    }
}

extension VersionVector {
    fileprivate func covers(_ stamps: [Stamp]) -> Bool {
        stamps.allSatisfy { covers($0.dot) }
    }
}

extension [RecordRow] {
    fileprivate func holdsLives(of other: [RecordRow]) -> Bool {
        Set(other.map(\.birth)).isSubset(of: map(\.birth))
    }
}

extension RecordRow {
    fileprivate func withSiblings(
        named name: String,
        in zone: ZoneNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> [RecordRow] {
        guard hasSiblings else { return [self] }
        return try [self]
            + reader.rows(.records, .siblings(of: zone, name)).map {
                (key, value) throws(EngineError) in
                try reader.decoding(key) { () throws(MalformedBytes) in try RecordRow(value) }
            }
    }
}
