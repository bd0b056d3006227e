// The wanted state of a share in a save, besides its fields: what is shared, and with whom.
//
// The node makes it from a request. `changes` finds the differences from the stored state, so a
// client needs to know nothing of invitations and eras. Values only.
//
// Folder: what sharing means. Read `WantedShare` and `SavePlanner+Shares` for saves of shares,
// `ShareStanding` and `AcceptShare` for joining, `Admission` for what a participant sees, and
// `VisibleZoneChanges` for what it is told.

package import CumulusModel
import CumulusStorage

package struct WantedShare: Hashable, Sendable {
    /// Somebody who has accepted, or is to be invited.
    package struct Member: Hashable, Sendable {
        package var id: ParticipantID
        /// The user record name or handle; it may be empty if the member is invited already.
        package var name: String
        package var role: ShareParticipant.Role
        package var permission: ShareParticipant.Permission

        package init(
            id: ParticipantID,
            name: String,
            role: ShareParticipant.Role,
            permission: ShareParticipant.Permission
        ) {
            self.id = id
            self.name = name
            self.role = role
            self.permission = permission
        }
    }

    /// The name of the root record; nil if the zone is shared.
    package var root: String?
    package var publicPermission: ShareParticipant.Permission
    /// The members; the owner may be among them, and is left out.
    package var members: [Member]

    package init(
        root: String?,
        publicPermission: ShareParticipant.Permission = .none,
        members: [Member] = []
    ) {
        self.root = root
        self.publicPermission = publicPermission
        self.members = members
    }

    /// The entries to write so that the share gets the wanted state, in the order of their keys.
    ///
    /// - Parameters:
    ///   - current: The stored entries, with the root.
    ///   - now: Milliseconds since 1970 UTC.
    func changes(
        of current: AccessEntries,
        ownedBy owner: String,
        now: Int64,
        _ limits: Limits
    ) throws(ServiceError) -> [AccessEntries.Entry] {
        var change = Change(of: current)
        let wasOpen = current.publicPermission != .none
        let isOpen = publicPermission != .none
        var wanted: [ParticipantID: Member] = [:]
        for member in members where member.id != ParticipantID(user: owner) {
            guard wanted.updateValue(member, forKey: member.id) == nil else {
                throw WantedShare.invalid("a participant is listed twice; list each once")
            }
        }
        for known in current.participants where known.isInvited {
            let isFormer = !current.isListed(known)
            if isFormer, !wasOpen || !current.broken.contains(.formerUsers) {
                // This user joined by the URL in an earlier era: the share was closed since, even
                // if it is open again. Such users are in no list, so leaving one out takes nothing
                // away. Listing one as a public user changes nothing; with another role it is a new
                // invitation.
                if wanted[known.id]?.role == .publicUser { wanted[known.id] = nil }
                continue
            }
            if let member = wanted.removeValue(forKey: known.id) {
                // Opening a share drops invitations that were not accepted.
                if isOpen, !wasOpen, !known.hasAccepted,
                    !current.broken.contains(.droppedInvitations)
                {
                    change.new += current.removing(known)
                } else {
                    try change.set(member, of: known)
                }
            } else {
                try checkRemoval(of: known, wasOpen: wasOpen, current.broken)
                change.new += current.removing(known)
            }
        }
        for member in members {
            guard wanted.removeValue(forKey: member.id) != nil else { continue }
            try check(new: member, current.broken)
            change.new += current.inviting(
                member.id,
                named: member.name,
                as: member.role,
                member.permission,
                now: now
            )
        }
        change.new += current.settingPublic(publicPermission)
        let next = change.next
        let count = next.participants.count(where: next.isListed)
        guard count <= limits.participantsPerShare else {
            throw WantedShare.tooMany(count, of: limits.participantsPerShare)
        }
        if let refusal = next.refusal(after: current, limits) { throw refusal }
        return change.entries
    }

    /// Entries in the making.
    ///
    /// Each is made from the stored entries, and changes another participant.
    private struct Change {
        let current: AccessEntries
        var new: [AccessEntries.Entry] = []

        init(of current: AccessEntries) { self.current = current }

        /// The stored entries with the new ones.
        var next: AccessEntries {
            var next = current
            next.join(new)
            return next
        }

        var entries: [AccessEntries.Entry] {
            var entries = AccessEntries()
            entries.join(new)
            return entries.entries
        }

        mutating func set(
            _ member: Member,
            of known: AccessEntries.Participant
        ) throws(ServiceError) {
            guard (member.role == .publicUser) == (known.role == .publicUser),
                member.role != .owner
            else {
                throw WantedShare.invalid(
                    """
                    '\(known.name)' can't get the role that the request names: who joined by the \
                    URL stays a public user, and only those who were invited have other roles
                    """
                )
            }
            // A public user has the permission of the public.
            if known.role == .publicUser { return }
            if member.role != known.role { new += current.setting(member.role, of: known) }
            if member.permission != known.permission {
                new += current.setting(member.permission, of: known)
            }
        }
    }

    private func checkRemoval(
        of known: AccessEntries.Participant,
        wasOpen: Bool,
        _ broken: BrokenRules
    ) throws(ServiceError) {
        guard publicPermission != .none, known.role != .publicUser,
            !broken.contains(.openLists)
        else { return }
        // The same save opens the share, which drops invitations that were not accepted.
        if !wasOpen, !known.hasAccepted { return }
        throw WantedShare.mixed
    }

    private func check(new member: Member, _ broken: BrokenRules) throws(ServiceError) {
        guard publicPermission == .none || broken.contains(.openLists) else {
            throw WantedShare.mixed
        }
        guard member.role == .privateUser || member.role == .administrator else {
            throw WantedShare.invalid(
                "'\(member.name)' can be invited as privateUser or as administrator only"
            )
        }
        guard member.isNamed else {
            throw WantedShare.invalid(
                """
                a participant needs the user record name or the handle that its id is made of; \
                look it up and add what the look-up gives
                """
            )
        }
    }

    package static func tooMany(_ count: Int, of limit: Int) -> ServiceError {
        ServiceError(
            .tooManyParticipants,
            """
            a share has at most \(limit) participants beside its owner, and this one would have \
            \(count); remove some
            """
        )
    }

    private static let mixed = invalid(
        """
        while publicPermission is not none, only those who joined by the URL can be removed, and \
        no user can be invited; set it to none first
        """
    )

    static func invalid(_ message: String) -> ServiceError {
        ServiceError(.invalidArguments, .invalidValue, message)
    }
}

extension AccessEntries {
    /// Why a share can't remember so many people; nil if it can, or if it remembered as many
    /// before.
    func refusal(after before: AccessEntries, _ limits: Limits) -> ServiceError? {
        let count = participants.count
        guard count > limits.peoplePerShare, count > before.participants.count else { return nil }
        return ServiceError(
            .tooManyParticipants,
            """
            a share remembers all who were ever in it or invited, and this one would remember \
            \(count) of at most \(limits.peoplePerShare); delete it, and share anew
            """
        )
    }
}

extension WantedShare.Member {
    /// Whether the id is derived from the name.
    fileprivate var isNamed: Bool {
        switch id.kind {
        case .user: Names.isUserRecordName(name) && ParticipantID(user: name) == id
        case .email: handle(.email).map { ParticipantID($0) } == id
        case .phone: handle(.phone).map { ParticipantID($0) } == id
        }
    }

    private func handle(_ kind: Handle.Kind) -> Handle? { try? Handle(kind, Bytes(name.utf8)) }
}
