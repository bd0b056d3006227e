// What the record of a share shows besides its fields, as a caller may see it.
//
// Called for each share that is shown. The owner and administrators who have accepted see everybody
// who has accepted or is invited. Invited users see everybody who has accepted, and themselves:
// only users who may invite see who has not answered. A user who joined by the URL sees only the
// owner and itself, and a stranger only the owner. Who changed the share last, and when, is shown
// only to users who see all members, because joining changes it.

package import CumulusModel
package import CumulusStorage

extension RecordView.Sharing {
    init(_ share: StoredShare, in zone: Commit.Zone, for user: String) {
        let entries = share.entries
        let participants = entries.participants.filter(entries.isListed)
        let seesMembers = RecordView.Sharing.showsMembers(share, in: zone, to: user)
        let seesInvitations = RecordView.Sharing.showsInvitations(share, in: zone, to: user)
        let own = ParticipantID(user: user)
        func isCaller(_ participant: AccessEntries.Participant) -> Bool {
            participant.isUser(user, own)
        }
        func isShown(_ participant: AccessEntries.Participant) -> Bool {
            isCaller(participant) || (entries.isIn(participant) ? seesMembers : seesInvitations)
        }
        let root = share.root ?? .zone
        var rootName = ""
        if case .record(let name, _) = root { rootName = name }
        let details = ShareDetails(
            root: rootName,
            publicPermission: entries.publicPermission,
            participants: participants.filter(isShown).map {
                ShareDetails.Participant($0, entries.permission(of: $0), isCaller: isCaller($0))
            },
            owner: zone.database.owner
        )
        self.init(share: ShareID(root, in: zone).bytes, details: details)
    }

    /// Whether a user sees invitations that are not answered, because it may invite others.
    private static func showsInvitations(
        _ share: StoredShare,
        in zone: Commit.Zone,
        to user: String
    ) -> Bool {
        let entries = share.entries
        return zone.database.owner == user || entries.isAdministrator(user)
            || entries.broken.contains(.hiddenParticipants)
    }

    /// Whether a user sees everybody who has accepted.
    fileprivate static func showsMembers(
        _ share: StoredShare,
        in zone: Commit.Zone,
        to user: String
    ) -> Bool {
        let entries = share.entries
        let own = ParticipantID(user: user)
        return zone.database.owner == user || entries.broken.contains(.hiddenParticipants)
            || entries.participants.contains {
                entries.isListed($0) && $0.isUser(user, own) && $0.role > .publicUser
            }
    }
}

extension AccessEntries.Participant {
    /// - Parameter own: The user's own id as a participant.
    fileprivate func isUser(_ user: String, _ own: ParticipantID) -> Bool {
        hasAccepted ? self.user == user : id == own
    }
}

extension RecordView {
    /// Adds what a share's record shows besides its fields, as a user may see it.
    mutating func add(_ share: StoredShare, in zone: Commit.Zone, for user: String) {
        sharing = RecordView.Sharing(share, in: zone, for: user)
        if RecordView.Sharing.showsMembers(share, in: zone, to: user) { return }
        // Joining changes the share, so these would say that somebody joined, who, and when.
        let shown: Set = [zone.database.owner, user]
        if !shown.contains(createdBy) { createdBy = "" }
        (modified, modifiedBy) = (created, createdBy)
    }
}

extension ShareDetails.Participant {
    fileprivate init(
        _ participant: AccessEntries.Participant,
        _ permission: ShareParticipant.Permission,
        isCaller: Bool
    ) {
        let isUser = participant.id.kind == .user
        self.init(
            id: participant.id.wholeBytes,
            user: isUser ? participant.name : participant.hasAccepted ? participant.user ?? "" : "",
            handle: participant.id.handle(participant.name),
            role: participant.role,
            permission: permission,
            status: participant.status,
            added: participant.added,
            isCaller: isCaller
        )
    }
}

package typealias ParticipantID = AccessEntries.ParticipantID

extension AccessEntries.ParticipantID {
    /// The handle of an id; nil for a user.
    ///
    /// - Parameter text: The handle as it was typed.
    func handle(_ text: String) -> ShareDetails.Participant.Handle? {
        if kind == .user { return nil }
        // Both enums have the same kinds; this one counts from one.
        return ShareDetails.Participant.Handle(kind: UInt32(kind.rawValue) - 1, text: text)
    }

    /// The kind and the 16 bytes after it.
    package var wholeBytes: Bytes { [kind.rawValue] + bytes }

    /// - Parameter wholeBytes: 17 bytes.
    package init?(wholeBytes: Bytes) {
        guard wholeBytes.count == 17, let kind = Kind(rawValue: wholeBytes[0]) else { return nil }
        self.init(kind: kind, bytes: Bytes(wholeBytes.dropFirst()))
    }
}

extension RowReader where Self: ~Copyable {
    /// The record, with what it shares if it is a share's record.
    borrowing func completed(
        _ view: RecordView,
        in found: FoundZone,
        for caller: Caller
    ) throws(EngineError) -> RecordView {
        guard view.type == Names.shareType, found.zone.database.kind == .private,
            let number = found.number, let share = try share(view.name, in: number)
        else { return view }
        var view = view
        view.add(share, in: found.zone, for: caller.user)
        return view
    }
}
