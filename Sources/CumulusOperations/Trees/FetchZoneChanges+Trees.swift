// The pages of a participant who sees trees of a zone: what its token says, and the next one.
//
// Called by `FetchZoneChanges.run` once the token and the zone are checked; `TreeChanges` finds
// what is told.

import CumulusModel
import CumulusStorage

extension FetchZoneChanges {
    /// - Parameter start: Where the token's fetch began; whole.
    func treePage(
        _ scope: ScopeID,
        _ number: ScopeNumber,
        _ found: FoundZone,
        by caller: Caller,
        _ access: AccessReader,
        _ start: Start,
        _ runs: Runs,
        _ reader: ReadTransaction
    ) throws -> Page {
        guard let zone = found.number else {
            throw ServiceError.zoneNotFound(self.zone, in: database)
        }
        let present = access.view?.roots ?? []
        let vector = runs.vector
        let former = try formerRoots(present)
        var progress = TreeProgress(end: vector, roots: present, told: start.base)
        if case .trees(let known) = token?.progress {
            guard let whole = known.completed(by: present) else { throw Self.viewChanged }
            progress = whole
            progress.end = runs.whole(known.end)
        }
        // A record's past is told for tokens that are not older than what is kept of it.
        let floor = try reader.hangFloor(of: zone)
        guard start.base.covers(floor), progress.end.covers(floor) else {
            throw ServiceError.tokenExpired("how records hung then is forgotten")
        }
        var changes = TreeChanges(
            self,
            of: found,
            zone,
            by: caller,
            access,
            since: start.base,
            former,
            progress,
            vector,
            reader
        )
        let isComplete = try changes.gather(through: vector)
        progress = changes.progress
        let end = runs.short(progress.end)
        let seen = isComplete ? progress.roots : former
        var page = page(
            scope,
            found,
            ChangeToken.Viewer(user: caller.user, seen: .init(seen)),
            runs,
            truncation: try reader.truncation(of: number)
        )
        page.records = changes.records
        page.deletions = changes.deletions
        page.token.base = isComplete ? end : runs.short(start.base)
        if !isComplete {
            progress.end = end
            page.token.progress = .trees(progress)
        }
        return page
    }

    /// The roots that the caller saw when its token was made.
    private func formerRoots(
        _ present: [ChangeToken.Root]
    ) throws(ServiceError) -> [ChangeToken.Root] {
        switch token?.viewer?.seen {
        case .roots(let roots): return roots
        case .manyRoots(let digest) where digest == ViewMark.roots(present): return present
        case .manyRoots: throw Self.viewChanged
        case .zones, .wholeZone, nil: return []
        }
    }

    private static let viewChanged = ServiceError.tokenExpired(
        "what is shared with its caller changed since"
    )
}
