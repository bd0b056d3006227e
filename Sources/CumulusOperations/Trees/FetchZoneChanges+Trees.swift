// The pages of a participant who sees trees of a zone: what its token says, and the next page.
//
// Called by `FetchZoneChanges.begin` once the token and the zone are checked; `TreeChanges` finds
// the records and deletions.

import CumulusModel
import CumulusStorage

extension FetchZoneChanges {
    /// A page of trees in the making.
    struct TreeReading: Sendable {
        var changes: TreeChanges
        let user: String
        /// The roots that the caller saw when its token was made.
        let former: [ChangeToken.Root]
        /// Where the token's fetch began; a whole vector.
        let base: VersionVector

        /// The page, once it is done.
        ///
        /// - Parameter empty: The last page, if it has no records and no deletions.
        func finish(_ empty: Page, _ runs: Runs) -> Page {
            var progress = changes.reached
            progress.end = runs.short(progress.end)
            var page = empty
            page.records = changes.records
            page.deletions = changes.deletions
            let seen = changes.isOver ? former : progress.roots
            page.token.viewer = ChangeToken.Viewer(user: user, seen: .init(seen))
            page.token.base = changes.isOver ? runs.short(base) : progress.end
            page.token.progress = changes.isOver ? .trees(progress) : nil
            return page
        }
    }

    /// - Parameter start: Where the token's fetch began; a whole vector.
    func trees(
        _ found: FoundZone,
        by caller: Caller,
        _ access: AccessReader,
        _ start: Start,
        _ runs: Runs,
        _ reader: ReadTransaction
    ) throws -> TreeReading {
        guard let zone = found.number else {
            throw ServiceError.zoneNotFound(self.zone, in: database)
        }
        let present = access.view?.roots ?? []
        let former = try formerRoots(present)
        var progress = TreeProgress(end: runs.vector, roots: present, told: start.base)
        if case .trees(let known) = token?.progress {
            guard let whole = known.completed(by: present) else { throw Self.viewChanged }
            progress = whole
            progress.end = runs.whole(known.end)
        }
        // A token must not be older than what is kept of the records' past.
        let floor = try reader.hangFloor(of: zone)
        guard start.base.covers(floor), progress.end.covers(floor) else {
            throw ServiceError.tokenExpired("how records hung then is forgotten")
        }
        let changes = TreeChanges(
            self,
            of: found,
            zone,
            by: caller,
            access,
            since: start.base,
            former,
            progress,
            runs.vector,
            reader
        )
        return TreeReading(changes: changes, user: caller.user, former: former, base: start.base)
    }

    /// The roots that the caller saw when its token was made.
    private func formerRoots(
        _ present: [ChangeToken.Root]
    ) throws(ServiceError) -> [ChangeToken.Root] {
        switch token?.viewer?.seen {
        case .roots(let roots): return roots
        case .manyRoots(let digest) where digest == ViewDigest.roots(present): return present
        case .manyRoots: throw Self.viewChanged
        case .zones, .wholeZone, nil: return []
        }
    }

    private static let viewChanged = ServiceError.tokenExpired(
        "what is shared with its caller changed since"
    )
}
