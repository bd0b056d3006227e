// News of the zones that others share with a user: which of them changed, which came, and which the
// user can't see now.
//
// Called by `FeedTelling` for subscriptions to the shared database. The news are found when they
// are told: a commit does not know who sees its zone, and writes nothing for them. So a device is
// told of its own changes too.

import CumulusModel
import CumulusStorage

struct VisibleZoneNews {
    /// The zones, sorted by owner and name.
    var zones: [ZoneAddress] = []
    /// The last commit of each run of a node that the news tell of.
    var stamps: [Stamp] = []
}

extension ReadTransaction {
    /// What happened in a user's shared database that a vector does not cover.
    func visibleZoneNews(
        for user: String,
        since seen: VersionVector,
        in scope: ScopeNumber
    ) throws(EngineError) -> VisibleZoneNews {
        var news = VisibleZoneNews()
        let entries = try visibleZones(of: user, in: scope)
        if entries.isEmpty { return news }
        let runs = try runs(of: scope)
        let unseen = runs.vector.dots.filter { !seen.covers($0) }
        if unseen.isEmpty { return news }
        let caller = Caller(role: .user(user))
        let shared = DatabaseID(kind: .shared, owner: user)
        let visible = Dictionary(
            try findZones(of: shared, scope, by: caller).map { ($0.zone, $0) }
        ) { first, _ in first }
        for entry in entries {
            let database = DatabaseID(kind: .private, owner: entry.owner)
            guard let number = try self.database(scope, database),
                let row = try zone(number, entry.zone)
            else { continue }
            let heads = try heads(of: entry.zone, number, after: seen, unseen)
            let zone = Commit.Zone(
                database: database,
                name: entry.zone,
                generation: row.generation
            )
            if heads.isEmpty { continue }
            if let found = visible[zone] {
                guard try tells(caller, of: found, since: seen, runs, in: scope) else { continue }
            } else if try !isNewlyHidden(entry, row, since: seen) {
                continue
            }
            news.zones.append(ZoneAddress(name: entry.zone, owner: entry.owner))
            for dot in heads {
                let time = try time(of: dot, in: row.number)
                news.stamps.append(
                    Stamp(time ?? HybridTime(milliseconds: entry.row.changed), dot)
                )
            }
        }
        return news
    }

    /// The last commit of each run of a node in a zone, if a vector does not cover it.
    private func heads(
        of zone: String,
        _ database: DatabaseNumber,
        after seen: VersionVector,
        _ unseen: [Dot]
    ) throws(EngineError) -> [Dot] {
        var heads: [Dot] = []
        for dot in unseen {
            let head: SeqRow? = try row(.zoneHead(database, dot.incarnation, zone))
            if let head, seen[dot.incarnation] < head.seq {
                heads.append(Dot(dot.incarnation, head.seq))
            }
        }
        return heads
    }

    /// Whether the user lost its view of a zone by something that a vector does not cover.
    ///
    /// The user is not told what happens in the zone after that.
    private func isNewlyHidden(
        _ entry: VisibleZoneEntry,
        _ zone: ZoneRow,
        since seen: VersionVector
    ) throws(EngineError) -> Bool {
        if let deleted = zone.deleted, !seen.covers(deleted.dot) { return true }
        guard zone.generation == entry.row.generation else { return false }
        if !entry.row.ended.isEmpty { return entry.row.ended.contains { !seen.covers($0) } }
        for share in entry.row.shares {
            guard let row = try record(zone.number, share) else { continue }
            if row.frontier.contains(where: { !seen.covers($0.dot) }) { return true }
        }
        return false
    }

    /// When a commit was made, by a record that it changed last; nil if there is no such record.
    private func time(of dot: Dot, in zone: ZoneNumber) throws(EngineError) -> HybridTime? {
        let range = KeyRange.changes(of: zone, dot.incarnation, above: dot.seq - 1)
        guard let (key, _) = try rows(.index, range, limit: 1).first else { return nil }
        let change = try RowKey.change(key)
        guard change.dot == dot else { return nil }
        return try record(zone, change.name)?.frontier.first { $0.dot == dot }?.time
    }
}
