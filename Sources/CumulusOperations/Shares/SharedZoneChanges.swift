// Which zones of others changed for a participant since a token: those that it sees and did not
// hold, those that it holds and sees no more, and those in which something happened.
//
// The token says which zones its holder was told of. So nothing has to be remembered of when a
// right began or ended, which is not the same on every node. Called by `FetchDatabaseChanges`.

import CumulusModel
import CumulusStorage

extension FetchDatabaseChanges {
    /// A page of the shared database, in the order of owners and names.
    func sharedPage(
        after token: ChangeToken,
        _ runs: Runs,
        in scope: ScopeNumber,
        by caller: Caller,
        _ reader: ReadTransaction
    ) throws -> Page {
        var (last, end) = ("", runs.shortVector)
        if case .zones(let name, let first) = token.progress { (last, end) = (name, first) }
        var held: Set<UInt64> = []
        if case .zones(let marks) = token.viewer?.seen, !broken.contains(.toldZones) {
            held = Set(marks)
        }
        let shared = DatabaseID(kind: .shared, owner: caller.user)
        let found = try reader.findAllShown(of: shared, scope, by: caller)
        let zones = found.map(\.zone)
        var page = Page(token: token)
        page.deletions = try lost(&held, zones, in: scope, by: caller, reader)
        let base = runs.whole(token.base)
        let isKnown = try RecordLens(of: scope, in: reader).isKnown(to: base)
        page.token.progress = nil
        for found in found where last.isEmpty || SharedPlace(last) < SharedPlace(found.zone) {
            let zone = found.zone
            let mark = ViewMark.zone(zone)
            if isKnown, held.contains(mark),
                try !reader.touches(zone, of: scope, since: base, runs)
                    || !reader.tells(caller, of: found, since: base, runs, in: scope)
            {
                continue
            }
            if page.changed.count >= limit {
                page.token.progress = .zones(last: last, end: end)
                break
            }
            held.insert(mark)
            last = SharedPlace(zone).text
            page.changed.append(ZoneAddress(name: zone.name, owner: zone.database.owner))
        }
        if page.token.progress == nil { page.token.base = end }
        page.token.seen = runs.shortVector
        page.token.viewer = ChangeToken.Viewer(
            user: caller.user,
            seen: .zones(held.sorted())
        )
        return page
    }

    /// Zones that the caller was told of and can't see now; their marks are dropped.
    private func lost(
        _ held: inout Set<UInt64>,
        _ zones: [Commit.Zone],
        in scope: ScopeNumber,
        by caller: Caller,
        _ reader: ReadTransaction
    ) throws -> [Page.Deletion] {
        let present = Set(zones.map(ViewMark.zone))
        var unexplained = held.subtracting(present)
        if unexplained.isEmpty { return [] }
        held.formIntersection(present)
        let seen = Set(zones.map(SharedPlace.init))
        var deletions: [Page.Deletion] = []
        for entry in try reader.visibleZones(of: caller.user, in: scope) {
            let database = DatabaseID(kind: .private, owner: entry.owner)
            let last = try reader.generation(of: entry.zone, database, in: scope)
            var wasHeld = false
            let generation = max(last, entry.row.generation)
            for generation in (generation - min(generation, SharedPlace.lives))...generation {
                let zone = Commit.Zone(
                    database: database,
                    name: entry.zone,
                    generation: generation
                )
                if unexplained.remove(ViewMark.zone(zone)) != nil { wasHeld = true }
            }
            let place = SharedPlace(owner: entry.owner, name: entry.zone)
            guard wasHeld, !seen.contains(place) else { continue }
            let address = ZoneAddress(name: entry.zone, owner: entry.owner)
            deletions.append(Page.Deletion(zone: address, reason: 0))
        }
        guard unexplained.isEmpty else {
            throw ServiceError.tokenExpired("a zone that it knew is forgotten")
        }
        return deletions
    }
}

/// A zone's place in the order of owners and names.
private struct SharedPlace: Hashable, Comparable {
    let owner: String
    let name: String
    /// Former lives of a zone by which a token may know it.
    static let lives: UInt64 = 1_000

    init(owner: String, name: String) {
        self.owner = owner
        self.name = name
    }

    init(_ zone: Commit.Zone) { self.init(owner: zone.database.owner, name: zone.name) }

    /// As a token holds it.
    init(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        self.init(owner: String(parts[0]), name: parts.count > 1 ? String(parts[1]) : "")
    }

    var text: String { "\(owner)/\(name)" }

    static func < (left: SharedPlace, right: SharedPlace) -> Bool {
        (left.owner, left.name) < (right.owner, right.name)
    }
}

extension ReadTransaction {
    /// The last generation of a zone; 0 if there never was one.
    fileprivate func generation(
        of zone: String,
        _ database: DatabaseID,
        in scope: ScopeNumber
    ) throws(EngineError) -> UInt64 {
        guard let number = try self.database(scope, database) else { return 0 }
        return try self.zone(number, zone)?.generation ?? 0
    }

    /// Whether anything happened in a zone that a reader of that vector has not seen.
    fileprivate func touches(
        _ zone: Commit.Zone,
        of scope: ScopeNumber,
        since base: VersionVector,
        _ runs: Runs
    ) throws(EngineError) -> Bool {
        guard let number = try database(scope, zone.database) else { return false }
        for dot in runs.vector.dots where base[dot.incarnation] < dot.seq {
            let head: SeqRow? = try row(.zoneHead(number, dot.incarnation, zone.name))
            if let head, base[dot.incarnation] < head.seq { return true }
        }
        return false
    }
}
