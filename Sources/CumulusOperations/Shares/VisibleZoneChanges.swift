// Which zones of other users changed for a participant since a token: zones that it sees and did
// not hold, zones that it holds and no longer sees, and zones in which something happened.
//
// The token says which zones its holder was told of. So nodes don't have to remember when a right
// began or ended, which differs between nodes. Begun by `FetchDatabaseChanges`, and run in turns
// over one snapshot: changes that the participant may not see take turns, but end no page.

import CumulusModel
import CumulusStorage

/// A page of the shared database in the making, in the order of owners and names.
struct VisibleZoneChanges: Sendable {
    private let fetch: FetchDatabaseChanges
    private let scope: ScopeNumber
    private let caller: Caller
    private let runs: Runs
    private let reader: ReadTransaction
    /// All changes that the token covers; a whole vector.
    private let base: VersionVector
    /// Whether the schema is the same as when the token was made.
    private let isKnown: Bool
    /// Where the fetch ends: at the vector of its first page; a short vector.
    private let end: VersionVector
    /// The zones that the page may still tell, in order.
    private var rest: ArraySlice<FoundZone>
    /// The search in the first of these zones; nil if it has not begun.
    private var news: TreeNews?
    /// The digests of the zones that the caller holds, including the zones on this page.
    private var held: Set<UInt64> = []
    /// The position of the zone that was told last.
    private var last = ""
    private var page: FetchDatabaseChanges.Page

    /// - Parameter token: A token that was checked.
    init(
        _ fetch: FetchDatabaseChanges,
        after token: ChangeToken,
        _ runs: Runs,
        _ database: DatabaseID,
        in scope: ScopeNumber,
        by caller: Caller,
        _ reader: ReadTransaction
    ) throws {
        (self.fetch, self.scope, self.caller) = (fetch, scope, caller)
        (self.runs, self.reader) = (runs, reader)
        base = runs.whole(token.base)
        isKnown = try RecordLens(of: scope, in: reader).isKnown(to: base)
        var end = runs.shortVector
        if case .zones(let name, let first) = token.progress { (last, end) = (name, first) }
        self.end = end
        if case .zones(let digests) = token.viewer?.seen, !fetch.broken.contains(.toldZones) {
            held = Set(digests)
        }
        let found = try reader.findZones(of: database, scope, by: caller)
        let position = last.isEmpty ? nil : ZonePosition(last)
        rest = found.filter { zone in position.map { $0 < ZonePosition(zone.zone) } ?? true }[...]
        page = FetchDatabaseChanges.Page(token: token)
        page.token.progress = nil
        page.token.truncation = try reader.truncation(of: scope)
        page.deletions = try lost(found.map(\.zone))
        if fetch.onlyToken {
            held = Set(found.map { ViewDigest.zone($0.zone) })
            rest = []
        }
    }

    /// Goes on for one turn on a reader thread; returns the page if it is done.
    mutating func turn() throws(EngineError) -> FetchDatabaseChanges.Page? {
        var looks = 0
        while let found = rest.first {
            guard looks < TreeChanges.mostLooks, let isTold = try isTold(found, &looks) else {
                return nil
            }
            if isTold {
                guard page.changed.count < fetch.limit else {
                    page.token.progress = .zones(last: last, end: end)
                    break
                }
                tell(found.zone)
            }
            rest.removeFirst()
            news = nil
        }
        return finish()
    }

    /// Whether a zone changed for the caller; nil if the turn is over before that is known.
    ///
    /// - Parameter looks: The looks of this turn; each zone adds one.
    private mutating func isTold(
        _ found: FoundZone,
        _ looks: inout Int
    ) throws(EngineError) -> Bool? {
        looks += 1
        guard isKnown, held.contains(ViewDigest.zone(found.zone)) else { return true }
        var search: TreeNews
        if let begun = news {
            search = begun
        } else {
            guard try reader.touches(found.zone, of: scope, since: base, runs) else { return false }
            search = try TreeNews(for: caller, of: found, since: base, runs, in: scope, reader)
        }
        try search.turn(after: looks)
        news = search
        looks = max(looks, search.looks)
        return search.isFound
    }

    private mutating func tell(_ zone: Commit.Zone) {
        held.insert(ViewDigest.zone(zone))
        last = ZonePosition(zone).text
        page.changed.append(ZoneAddress(name: zone.name, owner: zone.database.owner))
    }

    private func finish() -> FetchDatabaseChanges.Page {
        var page = page
        if page.token.progress == nil { page.token.base = end }
        page.token.seen = runs.shortVector
        page.token.viewer = ChangeToken.Viewer(
            user: caller.user,
            seen: .zones(held.sorted())
        )
        return page
    }

    /// Zones that the caller was told of and can't see now; their digests are dropped.
    ///
    /// - Parameter zones: All zones that it sees now.
    private mutating func lost(
        _ zones: [Commit.Zone]
    ) throws -> [FetchDatabaseChanges.Page.Deletion] {
        let present = Set(zones.map(ViewDigest.zone))
        var unexplained = held.subtracting(present)
        if unexplained.isEmpty { return [] }
        held.formIntersection(present)
        let seen = Set(zones.map(ZonePosition.init))
        var deletions: [FetchDatabaseChanges.Page.Deletion] = []
        for entry in try reader.visibleZones(of: caller.user, in: scope) {
            let database = DatabaseID(kind: .private, owner: entry.owner)
            let last = try reader.generation(of: entry.zone, database, in: scope)
            var wasHeld = false
            let generation = max(last, entry.row.generation)
            for generation in (generation - min(generation, ZonePosition.lives))...generation {
                let zone = Commit.Zone(
                    database: database,
                    name: entry.zone,
                    generation: generation
                )
                if unexplained.remove(ViewDigest.zone(zone)) != nil { wasHeld = true }
            }
            let position = ZonePosition(owner: entry.owner, name: entry.zone)
            guard wasHeld, !seen.contains(position) else { continue }
            let address = ZoneAddress(name: entry.zone, owner: entry.owner)
            deletions.append(.init(zone: address, reason: 0))
        }
        guard unexplained.isEmpty else {
            throw ServiceError.tokenExpired("a zone that it knew is forgotten")
        }
        return deletions
    }
}

/// A zone's position in the order of owners and names.
private struct ZonePosition: Hashable, Comparable {
    let owner: String
    let name: String
    /// The number of former lives of a zone that a token may know.
    static let lives: UInt64 = 1_000

    init(owner: String, name: String) {
        self.owner = owner
        self.name = name
    }

    init(_ zone: Commit.Zone) { self.init(owner: zone.database.owner, name: zone.name) }

    /// The position in the form that a token holds.
    init(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        self.init(owner: String(parts[0]), name: parts.count > 1 ? String(parts[1]) : "")
    }

    var text: String { "\(owner)/\(name)" }

    static func < (left: ZonePosition, right: ZonePosition) -> Bool {
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

    /// Whether a zone has changed since a vector.
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
