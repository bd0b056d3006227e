// The state of a commit while it is applied: what was found of its zone, and what it has cost so
// far.
//
// `apply` makes it for one commit; the steps of the commit fill it.

import CumulusModel

/// The state of a commit while it is applied.
struct CommitApplication {
    let commit: Commit
    let cut: CausalCut
    let scope: ScopeNumber
    let broken: BrokenRules
    /// Its place in the local order.
    let position: UInt64
    /// The zone's row before the commit; nil if there was none, or if the zone has changed since.
    var found: Found?
    /// The zone of its records; found with the first record.
    var place: ZonePlace?
    /// The rows that its puts left, in order, and the names of their records.
    var rows: [RecordRow] = []
    var names: [String] = []
    var conflicts: [Conflict] = []
    /// What happened to creations that created nothing, by record name.
    var creations: [String: Creation] = [:]
    /// Bounds what a zone's deletion logs as lost: this many records, and about this many bytes.
    static let lossLimit = 1_000
    static let lossBytes = 4 << 20

    enum Creation {
        /// The request had already created the life, by the commits with these dots.
        case repeated([Dot])
        /// The life had ended; it was of this type.
        case late(String)
    }

    struct Found {
        let database: DatabaseNumber
        let row: ZoneRow?
    }

    init(
        commit: Commit,
        cut: CausalCut,
        scope: ScopeNumber,
        broken: BrokenRules,
        position: UInt64,
        found: Found?
    ) {
        self.commit = commit
        self.cut = cut
        self.scope = scope
        self.broken = broken
        self.position = position
        self.found = found
    }

    mutating func note(_ clashes: [Clash], of name: String, _ type: String) {
        guard let zone = commit.zone else { return }
        for clash in clashes {
            conflicts.append(
                Conflict(
                    zone: zone,
                    recordName: name,
                    recordType: type,
                    field: clash.field,
                    winner: clash.winner,
                    loser: clash.loser,
                    lost: clash.lost
                )
            )
        }
    }

    /// Notes as lost the changes of concurrent commits to lives that this commit ends.
    mutating func noteLoss(of ended: [RecordRow], named name: String) {
        for row in ended {
            if broken.contains(.losses), cut.covers(row.modified.dot) { continue }
            let told = broken.contains(.knownEnds) ? row.modified : nil
            guard let loser = row.newest(unknownTo: cut) ?? told else { continue }
            let clash = Clash(
                field: "",
                winner: commit.stamp,
                loser: loser,
                lost: row.body.bytes
            )
            note([clash], of: name, row.type)
        }
    }

    /// Notes that a record was created concurrently under this name, so that one of the two is
    /// hidden.
    mutating func noteTwin(
        _ put: Commit.Put,
        _ created: RecordRow,
        of shown: RecordRow
    ) throws(EngineError) {
        let isShown = created.isShown(before: shown, broken)
        // `noteHidden` reports this creation, like every put into such a life.
        if !isShown, created.key?.isBlind == true { return }
        let clash = Clash(
            field: "",
            winner: isShown ? commit.stamp : shown.birth,
            loser: isShown ? shown.birth : commit.stamp,
            lost: isShown ? shown.body.bytes : try said(put).bytes
        )
        note([clash], of: put.recordName, isShown ? shown.type : put.type)
    }

    /// Notes a put into a life that increments began and that stands behind a created record
    /// unknown to the put's origin: its values are not shown.
    mutating func noteHidden(
        _ put: Commit.Put,
        of life: RecordRow,
        behind shown: RecordRow?
    ) throws(EngineError) {
        guard life.key?.isBlind == true, let shown, shown.birth != life.birth,
            !cut.covers(shown.birth.dot)
        else { return }
        try noteLoss(of: put, life.type, to: shown.birth)
    }

    /// Notes a change whose record is gone: all of the change is lost.
    mutating func noteLoss(
        of put: Commit.Put,
        _ type: String,
        to winner: Stamp
    ) throws(EngineError) {
        let lost = try said(put).bytes
        let clash = Clash(field: "", winner: winner, loser: commit.stamp, lost: lost)
        note([clash], of: put.recordName, type)
    }

    private func said(_ put: Commit.Put) throws(EngineError) -> RecordBody {
        do throws(MalformedBytes) {
            return try put.saidFields
        } catch {
            throw .corrupt("a change of \(put.recordName) can't be read: \(error.reason)")
        }
    }
}

/// The place of a zone's records in the store.
package struct ZonePlace: Sendable {
    package var scope: ScopeNumber
    package var database: DatabaseNumber
    package var number: ZoneNumber
    package var zone: Commit.Zone

    package init(
        scope: ScopeNumber,
        database: DatabaseNumber,
        number: ZoneNumber,
        zone: Commit.Zone
    ) {
        self.scope = scope
        self.database = database
        self.number = number
        self.zone = zone
    }

    func record(_ name: String) -> RecordRow.Place {
        RecordRow.Place(
            database: zone.database,
            zone: zone.name,
            generation: zone.generation,
            name: name
        )
    }
}
