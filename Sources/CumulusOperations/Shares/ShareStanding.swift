// How a user stands to the share of a URL: as its owner, as a member, as invited, or as none of
// these.
//
// Asked by `AcceptShare` in the writer, and by `FetchShareMetadata` on a snapshot.

import CumulusModel
package import CumulusStorage

/// The share of a URL, which is in force.
struct FoundShare {
    let zone: FoundZone
    let number: ZoneNumber
    let share: StoredShare
    let root: AccessEntries.Root

    static let notFound = ServiceError(
        .unknownItem,
        "Share not found: its URL is wrong, or its owner stopped sharing; ask for a new one"
    )

    /// How callers without a user stand to the share.
    var standingOfStrangers: ShareStanding {
        share.entries.publicPermission == .none ? .outside(ShareStanding.closed) : .open
    }
}

enum ShareStanding {
    case owner
    /// The user has accepted, and has a permission.
    case member
    /// The user has these invitations, which it has not accepted.
    case invited([AccessEntries.Participant])
    /// The user may join by the URL.
    case open
    /// The user may not join, for this reason.
    case outside(ServiceError)
}

extension RowReader where Self: ~Copyable {
    /// The share of a URL; nil unless it is in force.
    borrowing func findShare(
        _ id: ShareID,
        in scope: ScopeNumber
    ) throws(EngineError) -> FoundShare? {
        guard let row = try shareIDRow(id, in: scope),
            let zone = try locate(row.zone.name, in: row.zone.database, of: scope),
            let number = zone.number, zone.zone.generation == row.zone.generation
        else { return nil }
        for name in row.recordNames {
            // The URL may be that of a root's twin, which one of two nodes handed out.
            guard let share = try shareInForce(name, in: number), let root = share.root,
                share.roots.contains(where: { ShareID($0, in: zone.zone) == id })
            else { continue }
            let found = FoundZone(zone, try RecordLens(of: scope, in: self))
            return FoundShare(zone: found, number: number, share: share, root: root)
        }
        return nil
    }

    /// The address of the share that an id stands for or stood for, as far as the node's audit log
    /// needs it.
    package borrowing func shareAddress(
        _ id: ShareID,
        in scope: ScopeNumber
    ) throws(EngineError) -> RecordAddress? {
        guard let row = try shareIDRow(id, in: scope) else { return nil }
        let found = try findShare(id, in: scope)?.share.name
        guard let name = found ?? row.recordNames.first else { return nil }
        let zone = ZoneAddress(name: row.zone.name, owner: row.zone.database.owner)
        return RecordAddress(zone: zone, name: name)
    }

    borrowing func standing(
        of user: String,
        to found: FoundShare,
        in container: String
    ) throws(EngineError) -> ShareStanding {
        let entries = found.share.entries
        if found.zone.zone.database.owner == user { return .owner }
        if entries.permission(of: user) != nil { return .member }
        let pending = entries.participants.filter { participant in
            let isOpen = broken.contains(.claimedInvitations) && participant.id.kind != .user
            return participant.isInvited && (!participant.hasAccepted || isOpen)
        }
        var own: [AccessEntries.Participant] = []
        for participant in pending {
            let isAnyones = broken.contains(.heldHandles) && participant.id.kind != .user
            // Each handle is looked up, so that the work tells nothing of handles either.
            let holder = try holder(of: participant, in: container)
            if holder == user || isAnyones { own.append(participant) }
        }
        if !own.isEmpty { return .invited(own) }
        guard entries.publicPermission == .none else {
            var joined = entries
            joined.join(entries.joining(user, now: 0))
            // A user who was removed in this era can't join again.
            return joined.permission(of: user) == nil
                ? .outside(ShareStanding.removed) : .open
        }
        return .outside(ShareStanding.uninvited)
    }

    /// The record name of the user whom the invitation is for; nil if no user has the handle.
    private borrowing func holder(
        of participant: AccessEntries.Participant,
        in container: String
    ) throws(EngineError) -> String? {
        let kind: Handle.Kind
        switch participant.id.kind {
        case .user: return participant.name
        case .email: kind = .email
        case .phone: kind = .phone
        }
        guard let handle = try? Handle(kind, Bytes(participant.name.utf8)) else { return nil }
        return try People.recordName(of: handle, in: container, self)
    }
}

extension ShareStanding {
    fileprivate static let removed = ServiceError(
        .permissionFailure,
        "you were removed from this share; ask its owner to invite you"
    )

    /// The refusal does not depend on who is invited: that would tell which handles users have.
    fileprivate static let uninvited = ServiceError(
        .permissionFailure,
        """
        you are not invited to this share; ask its owner to invite you, or if you were invited by \
        an address, ask an operator to give that to you with 'cumulus user handle', and accept again
        """
    )

    fileprivate static let closed = ServiceError(
        .notAuthenticated,
        "this share is not open to all; connect with the token of a user who is invited"
    )
}
