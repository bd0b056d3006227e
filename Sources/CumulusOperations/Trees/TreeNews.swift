// Whether something happened in a zone that a participant who sees trees of it may be told. A
// change only of records outside of its trees is no news.
//
// Made by `VisibleZoneChanges` and by feeds, for each zone in which something happened. The search
// may read all changed records of the zone, so it is cut into turns. Its answer does not depend on
// where they end.

import CumulusModel
import CumulusStorage

struct TreeNews: Sendable {
    /// Whether there is news; nil while that is not known.
    private(set) var isFound: Bool?
    /// The changes that are searched; nil if no record has to be looked at.
    private var changes: TreeChanges?
    private let vector: VersionVector

    /// The number of records that this turn looked at, including other zones.
    var looks: Int { changes?.looks ?? 0 }

    /// - Parameters:
    ///   - found: The zone, with its lens.
    ///   - base: The changes that the caller was told; a whole vector.
    init(
        for caller: Caller,
        of found: FoundZone,
        since base: VersionVector,
        _ runs: Runs,
        in scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) {
        vector = runs.vector
        guard let view = found.rights.view, view.wholeZone == nil, let number = found.number,
            try !reader.isLetOut(caller, of: found.zone, since: base, in: scope),
            // The records' past may be forgotten: a fetch will say so.
            try base.covers(reader.hangFloor(of: number))
        else {
            isFound = true
            return
        }
        let access = try AccessReader(to: found, of: scope, by: caller, SchemaDirectory(), reader)
        let owner = found.zone.database.owner
        changes = TreeChanges(
            FetchZoneChanges(
                database: .shared,
                zone: ZoneAddress(name: found.zone.name, owner: owner),
                since: nil,
                keys: [],
                limit: FetchZoneChanges.PageLimit(items: 1, bytes: .max)
            ),
            of: found,
            number,
            by: caller,
            access,
            since: base,
            view.roots,
            TreeProgress(end: vector, roots: view.roots, told: base),
            vector,
            reader
        )
    }

    /// Looks at as many records as one turn may; then `isFound` is known, or the turn is over.
    ///
    /// - Parameter spent: Looks that the same turn took for other zones.
    mutating func turn(after spent: Int = 0) throws(EngineError) {
        guard isFound == nil, var changes else { return }
        let isDone = try changes.turn(through: vector, after: spent)
        let isNews = !changes.records.isEmpty || !changes.deletions.isEmpty
        if isDone || isNews { isFound = isNews }
        self.changes = changes
    }
}

extension ReadTransaction {
    /// Whether a zone has news for a participant, found in one turn.
    ///
    /// - Parameters:
    ///   - found: The zone, with its lens.
    ///   - base: The changes that the caller was told; a whole vector.
    func tells(
        _ caller: Caller,
        of found: FoundZone,
        since base: VersionVector,
        _ runs: Runs,
        in scope: ScopeNumber
    ) throws(EngineError) -> Bool {
        var news = try TreeNews(for: caller, of: found, since: base, runs, in: scope, self)
        while true {
            if let isFound = news.isFound { return isFound }
            try news.turn()
        }
    }

    /// Whether a share in the zone has ended the caller's access since a vector.
    fileprivate func isLetOut(
        _ caller: Caller,
        of zone: Commit.Zone,
        since base: VersionVector,
        in scope: ScopeNumber
    ) throws(EngineError) -> Bool {
        let owner = zone.database.owner
        let entry = try visibleZone(zone.name, of: owner, to: caller.user, in: scope)
        return entry?.ended.contains { !base.covers($0) } ?? false
    }
}
