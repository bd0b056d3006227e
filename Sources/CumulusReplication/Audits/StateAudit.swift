// Compares stretches of this node's records with another node's, record by record, and replaces
// differing ones by the other node's.
//
// Driven by `Verification`, which reads those stretches of the other node; `StateIntake` has
// checked the pages, and `DigestAudit` found which stretches differ. Both nodes go on meanwhile: a
// record is compared where each has read what the other knows of it and of its zone, and what the
// other has forgotten of the zone where it lacks a life. Whatever differs then is damage, since
// rows follow from commits.
//
// Folder: comparing what two nodes hold. Read `ScopeDigest`, then `DigestAudit`, `Stretch` and
// `StateAudit`.

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

    /// Records that were compared, and records that can't be compared yet.
    package private(set) var (compared, unsettled): (UInt64, UInt64) = (0, 0)
    private let offer: StateOffer
    private let reader: ReadTransaction
    private let damages: [StoreDamage]
    private let scope: ScopeNumber
    private let ours: VersionVector
    private let theirs: VersionVector
    /// The remaining stretches, the last first, each with the index of its zone in the offer.
    private var stretches: [(zone: Int?, stretch: Stretch)]

    /// Records of this node that are looked at in a step.
    private static let stepRecords = 500

    /// - Parameters:
    ///   - stretches: The stretches to compare; they don't overlap, and ascend within a zone.
    ///   - reader: One snapshot of this node.
    ///   - damages: The unreadable parts, ascending; they are skipped.
    package init(
        _ offer: StateOffer,
        of stretches: [Stretch],
        _ scope: ScopeNumber,
        _ reader: ReadTransaction,
        beside damages: [StoreDamage] = []
    ) throws(EngineError) {
        self.offer = offer
        self.scope = scope
        self.reader = reader
        self.damages = damages
        self.stretches = offer.placed(stretches).reversed()
        ours = try reader.vector(of: scope)
        theirs = offer.vector
    }

    /// Everything was compared.
    package var isFinished: Bool { stretches.isEmpty }

    /// Compares some hundred records more.
    ///
    /// Throws `MalformedBytes` where the other node's were not asked for.
    ///
    /// - Parameter page: A page of the other node, empty at its end. Compared records are removed
    ///   from it.
    package mutating func step(_ page: inout StateIntake.Page) throws -> [Difference] {
        guard let (zone, stretch) = stretches.last else {
            guard let record = page.records.first else { return [] }
            throw MalformedBytes("record \(record.name) was not asked for")
        }
        guard zone == page.zone, let first = page.records.first, stretch.reaches(first.name) else {
            return try step([], zone, stretch, isLast: true).found
        }
        guard stretch.beginsBefore(first.name) else {
            throw MalformedBytes("record \(first.name) was not asked for")
        }
        let inside = page.records.prefix { stretch.reaches($0.name) }
        var part = stretch
        part.through = inside.last?.name
        let (found, count) = try step(inside, zone, part, isLast: false)
        page.records.removeFirst(count)
        return found
    }

    /// One zone on both nodes.
    private struct Pair {
        let zone: Commit.Zone
        /// The commits of what each keeps nothing of any more.
        var ourHorizon = VersionVector()
        var theirHorizon = VersionVector()
    }

    // MARK: Records

    /// Compares as much as one step may of the last stretch; tells how many of the other node's
    /// records that were.
    ///
    /// - Parameters:
    ///   - others: All that the other node has of `part`.
    ///   - part: A part of the last stretch, from its beginning.
    ///   - isLast: Nothing of the stretch follows it.
    private mutating func step(
        _ others: ArraySlice<StateIntake.Record>,
        _ zone: Int?,
        _ part: Stretch,
        isLast: Bool
    ) throws(EngineError) -> (found: [Difference], count: Int) {
        let held = try StateSource(reader, scope: scope).zone(part.database, part.zone)
        let offered = zone.map { offer.zones[$0] }
        var part = part
        var mine = Found()
        if let held, held.exists {
            mine = try records(of: held.number, in: part)
            if !mine.isWhole { part.through = mine.last }
        }
        end(part, isLast && mine.isWhole)
        let some = others.prefix { part.reaches($0.name) }
        let whole = some.filter { other in
            guard let held else { return true }
            return !damages.contains(.record(held.number, other.name))
                && !mine.damaged.contains(other.name)
        }
        let lives = whole.map { Lives(name: $0.name, rows: $0.rows) }
        return (compare(mine.records, held, lives, offered, part), some.count)
    }

    /// The lives of one name.
    private struct Lives {
        let name: String
        let rows: [RecordRow]
    }

    /// Some records of this node.
    private struct Found {
        var records: [Lives] = []
        /// The records with a life that can't be read.
        var damaged: Set<String> = []
        /// The last one, and whether no other follows.
        var last: String?
        var isWhole = true
    }

    /// The next records of this node, as many as a step has.
    private func records(
        of zone: ZoneNumber,
        in part: Stretch
    ) throws(EngineError) -> Found {
        let whole = KeyRange.records(of: zone, after: part.after, through: part.through)
        var rows: [(key: Bytes, value: Bytes)] = []
        for range in damages.leaving(whole, of: .records) {
            rows += try reader.rows(.records, range, limit: StateAudit.stepRecords - rows.count)
        }
        var found = Found()
        for (key, value) in rows {
            var parts = KeyReader(key)
            _ = try parts.number(ZoneNumber.self)
            let name = try parts.text()
            found.last = name
            do throws(EngineError) {
                found.records.append(Lives(name: name, rows: try lives(value, name, in: zone)))
            } catch .corrupt {
                found.damaged.insert(name)
            }
        }
        found.isWhole = rows.count < StateAudit.stepRecords
        return found
    }

    /// The last stretch is compared up to the end of a part of it.
    private mutating func end(_ part: Stretch, _ isLast: Bool) {
        if isLast {
            stretches.removeLast()
        } else {
            stretches[stretches.count - 1].stretch.after = part.through
        }
    }

    /// Compares what both have of a part of a zone.
    private mutating func compare(
        _ mine: [Lives],
        _ held: ZoneRow?,
        _ others: [Lives],
        _ offered: StateOffer.Zone?,
        _ part: Stretch
    ) -> [Difference] {
        guard isSettled(held, offered) else {
            unsettled += UInt64((mine + others).count { !StateAudit.content($0.rows).isEmpty })
            return []
        }
        let here = held.map { held in
            let zone = Commit.Zone(
                database: part.database,
                name: part.zone,
                generation: held.generation
            )
            return Pair(zone: zone, ourHorizon: held.horizon)
        }
        let there = offered.map { Pair(zone: $0.commitZone, theirHorizon: $0.row.horizon) }
        if var pair = here, let there, pair.zone == there.zone {
            pair.theirHorizon = there.theirHorizon
            return compare(mine, others, pair)
        }
        // If the zones differ, each node lacks one of the two.
        return (here.map { compare(mine, [], $0) } ?? [])
            + (there.map { compare([], others, $0) } ?? [])
    }

    /// Whether each node has read what the other one knows of the zone itself.
    private func isSettled(_ held: ZoneRow?, _ offered: StateOffer.Zone?) -> Bool {
        [held?.created, held?.deleted].allSatisfy { theirs.covers($0) }
            && [offered?.row.created, offered?.row.deleted].allSatisfy { ours.covers($0) }
    }

    private mutating func compare(
        _ mine: [Lives],
        _ others: [Lives],
        _ pair: Pair
    ) -> [Difference] {
        var rest = Dictionary(uniqueKeysWithValues: others.map { ($0.name, $0.rows) })
        var found: [Difference] = []
        for lives in mine {
            let other = rest.removeValue(forKey: lives.name) ?? []
            found += compare(lives.rows, other, lives.name, pair)
        }
        for lives in others where rest[lives.name] != nil {
            found += compare([], lives.rows, lives.name, pair)
        }
        return found
    }

    private mutating func compare(
        _ mine: [RecordRow],
        _ others: [RecordRow],
        _ name: String,
        _ pair: Pair
    ) -> [Difference] {
        let (left, right) = (StateAudit.content(mine), StateAudit.content(others))
        if left.isEmpty && right.isEmpty { return [] }
        // A node that lacks a life may know of its end without keeping a trace of it.
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

    /// The shown life and the hidden ones, without frontiers, which only say where to look.
    private static func content(_ rows: [RecordRow]) -> [RecordRow] {
        rows.filter { !$0.isDead }.map { row in
            var row = row
            row.frontier = []
            row.ended = []
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
            // Ends are no part of the comparison, and theirs may be forgotten there.
            var theirs = difference.theirs
            if !theirs.isEmpty { theirs[0].ended.join(mine.first?.ended ?? []) }
            _ = try transaction.replace(
                mine,
                with: theirs,
                of: difference.name,
                at: place
            )
            repaired += 1
        }
        return repaired
    }
}

extension VersionVector {
    /// Whether the cut covers a stamp; true if there is none, or if it names no commit.
    fileprivate func covers(_ stamp: Stamp?) -> Bool {
        guard let stamp, stamp != .zero else { return true }
        return covers(stamp.dot)
    }

    fileprivate func covers(_ stamps: [Stamp]) -> Bool {
        stamps.allSatisfy { covers($0.dot) }
    }
}

extension [RecordRow] {
    fileprivate func holdsLives(of other: [RecordRow]) -> Bool {
        other.allSatisfy { life in contains { $0.isSameLife(as: life) } }
    }
}

extension RecordRow {
    fileprivate func withSiblings(
        named name: String,
        in zone: ZoneNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> [RecordRow] {
        try [self] + reader.siblings(of: self, named: name, in: zone)
    }
}
