// Whether a participant who sees trees of a zone may be told of anything that happened there: a
// zone in which only records outside of its trees changed is no news.
//
// Asked by `FetchDatabaseChanges` and by feeds, for each zone in which something happened.

import CumulusModel
import CumulusStorage

extension ReadTransaction {
    /// - Parameters:
    ///   - found: With its lens.
    ///   - base: What the caller was told; whole.
    func tells(
        _ caller: Caller,
        of found: FoundZone,
        since base: VersionVector,
        _ runs: Runs,
        in scope: ScopeNumber
    ) throws(EngineError) -> Bool {
        guard let view = found.rights.view, view.wholeZone == nil, let number = found.number else {
            return true
        }
        if try isLetOut(caller, of: found.zone, since: base, in: scope) { return true }
        // How records hung before is not known: a fetch will say so.
        if try !base.covers(hangFloor(of: number)) { return true }
        let access = try AccessReader(to: found, of: scope, by: caller, SchemaDirectory(), self)
        let owner = found.zone.database.owner
        var changes = TreeChanges(
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
            TreeProgress(end: runs.vector, roots: view.roots, told: base),
            runs.vector,
            self
        )
        var isDone = false
        while !isDone, changes.records.isEmpty, changes.deletions.isEmpty {
            isDone = try changes.turn(through: runs.vector)
        }
        return !changes.records.isEmpty || !changes.deletions.isEmpty
    }

    /// Whether a share in the zone let the user out since.
    private func isLetOut(
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
