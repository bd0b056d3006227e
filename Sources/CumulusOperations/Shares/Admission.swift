// What a user sees of another user's zone, by the shares in force that give it access.
//
// `locate` finds it for each call in the shared database, once per zone, from the call's own state:
// after a share is taken away, the next call is refused. `ZoneDirectory` keeps what the records of
// shares say until a share changes. Whether a root is still the shared one is read each time. hot:
// once per call in the shared database.

import CumulusModel
import CumulusStorage

/// What a share whose record lives lets a user do, if its root is there.
struct Admission: Hashable, Sendable {
    let name: String
    let root: AccessEntries.Root
    let permission: ShareParticipant.Permission
    let isAdministrator: Bool
}

extension LocatedZone {
    /// The zone as a user sees it by these shares; nil if none of them is in force.
    func seen<Reader: RowReader & ~Copyable>(
        by shares: [Admission],
        in reader: borrowing Reader
    ) throws(EngineError) -> LocatedZone? {
        guard let number, !shares.isEmpty else { return nil }
        let view = try reader.view(by: shares, in: number)
        guard !view.isEmpty else { return nil }
        var seen = self
        seen.rights = .viewer(view)
        return seen
    }
}

extension RowReader where Self: ~Copyable {
    /// The shares of a zone whose records give a user access.
    ///
    /// - Parameter row: The row that leads the user to the zone.
    borrowing func shares(
        lettingIn user: String,
        to found: LocatedZone,
        by row: VisibleZone
    ) throws(EngineError) -> [Admission] {
        guard let number = found.number, row.generation == found.zone.generation else { return [] }
        var shares: [Admission] = []
        for name in row.shares {
            guard let share = try share(name, in: number), let root = share.root,
                var permission = share.entries.permission(of: user), permission > .none
            else { continue }
            if broken.contains(.readers) { permission = .readWrite }
            shares.append(
                Admission(
                    name: name,
                    root: root,
                    permission: permission,
                    isAdministrator: share.entries.isAdministrator(user)
                )
            )
        }
        return shares
    }

    /// What a user sees by the shares in this list that are in force.
    borrowing func view(
        by shares: [Admission],
        in zone: ZoneNumber
    ) throws(EngineError) -> AccessRights.View {
        var view = AccessRights.View()
        for share in shares {
            guard try isInForce(share.name, of: share.root, in: zone) else { continue }
            switch share.root {
            case .zone: view.wholeZone = share.permission
            case .record(let root, _):
                guard let row = try record(zone, root) else { continue }
                view.trees.append(
                    AccessRights.View.Tree(
                        share: share.name,
                        root: root,
                        birth: row.identity,
                        permission: share.permission
                    )
                )
            }
            if share.isAdministrator { view.administers.insert(share.name) }
        }
        view.trees.sort { $0.root < $1.root }
        return view
    }

    /// The zones of other users that a user sees, in the order of owners and names.
    borrowing func locateZones(
        sharedWith caller: Caller,
        in scope: ScopeNumber
    ) throws(EngineError) -> [LocatedZone] {
        guard case .user(let user) = caller.role else { return [] }
        var zones: [LocatedZone] = []
        for entry in try visibleZones(of: user, in: scope) {
            let owner = DatabaseID(kind: .private, owner: entry.owner)
            guard let found = try locate(entry.zone, in: owner, of: scope) else { continue }
            let shares = try shares(lettingIn: user, to: found, by: entry.row)
            if let seen = try found.seen(by: shares, in: self) { zones.append(seen) }
        }
        return zones
    }

    /// The births of all living lives of a share's record, in ascending order.
    borrowing func births(
        of share: StoredShare,
        in zone: ZoneNumber
    ) throws(EngineError) -> [Dot] {
        try ([share.row] + siblings(of: share.row, named: share.name, in: zone))
            .flatMap(\.births).sorted()
    }
}
