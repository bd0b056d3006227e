// Reads access entries: who is in a share, and what each participant may do.
//
// It serves the rights of a call, changes and acceptance of a share, and its display. Whether the
// share is in force at all depends on its record and its root, see `ShareRows`.

package import CumulusModel

extension AccessEntries {
    /// A person who was invited, or who joined by the URL.
    package struct Participant: Hashable, Sendable {
        package let id: ParticipantID
        /// A user record name or a handle, as the inviter gave it.
        package internal(set) var name = ""
        package internal(set) var role = ShareParticipant.Role.privateUser
        /// For a public user the share's public permission counts instead.
        package internal(set) var permission = ShareParticipant.Permission.none
        /// Milliseconds since 1970 UTC.
        package internal(set) var added: Int64 = 0
        /// Record name of the user who last accepted an invitation.
        package internal(set) var user: String?
        var invitation: UInt32 = 0
        var roleVersion: UInt32 = 0
        var permissionVersion: UInt32 = 0
        var era: UInt32 = 0
        var removed: UInt32 = 0
        var removedEra: UInt32 = 0
        var left: UInt32 = 0
        var accepted: UInt32 = 0

        init(id: ParticipantID) { self.id = id }

        /// Whether the last invitation was neither removed nor given back.
        package var isInvited: Bool { invitation > removed && invitation > left }
        /// Whether the last invitation was also accepted.
        package var hasAccepted: Bool { isInvited && accepted == invitation }

        package var status: ShareParticipant.AcceptanceStatus {
            hasAccepted ? .accepted : isInvited ? .pending : .removed
        }
    }

    /// All present and former participants, by id.
    package var participants: [Participant] { AccessEntries.participants(in: entries[...]) }

    package func participant(_ id: ParticipantID) -> Participant? {
        let first = index(of: AccessEntries.key(id, .role))
        let own = entries[first...].prefix { AccessEntries.participant(of: $0.key)?.id == id }
        return AccessEntries.participants(in: own).first
    }

    private static func participants(in entries: ArraySlice<Entry>) -> [Participant] {
        var found: [Participant] = []
        for entry in entries {
            guard let (id, field) = AccessEntries.participant(of: entry.key) else { continue }
            if found.last?.id != id { found.append(Participant(id: id)) }
            found[found.count - 1].take(field, entry.value)
        }
        return found
    }

    /// The share's root; nil before it was set.
    package var root: Root? {
        self[AccessEntries.rootKey].flatMap { try? Root(value: $0) }
    }

    // MARK: The public

    var publicGrant: PublicGrant {
        self[AccessEntries.publicKey].flatMap { try? PublicGrant(value: $0) }
            ?? PublicGrant(era: 0, version: 0, permission: .none)
    }

    var closedEra: UInt32 {
        self[AccessEntries.closedKey].flatMap { try? Numbers($0, count: 1) }?.numbers[0] ?? 0
    }

    /// What all who have the URL may do.
    package var publicPermission: ShareParticipant.Permission {
        let grant = publicGrant
        let isOpen = grant.era > closedEra || broken.contains(.closedEras)
        return isOpen ? grant.permission : .none
    }

    // MARK: Who is in

    /// Whether a participant is in the share, as the user who accepted.
    package func isIn(_ participant: Participant) -> Bool {
        guard participant.hasAccepted else { return false }
        guard participant.role == .publicUser else { return true }
        // A public user who was removed in this era can't return by an invitation of its own.
        let grant = publicGrant
        return publicPermission != .none
            && (participant.era == grant.era || broken.contains(.publicEras))
            && (participant.removedEra != grant.era || broken.contains(.removedEras))
    }

    /// Whether a participant is shown and counted: it is invited, or joined in the present era.
    ///
    /// Users who joined in a former era stay in the entries, but no list names them.
    package func isListed(_ participant: Participant) -> Bool {
        participant.role == .publicUser ? isIn(participant) : participant.isInvited
    }

    /// What a participant who is in may do.
    package func permission(of participant: Participant) -> ShareParticipant.Permission {
        guard participant.role == .publicUser, !broken.contains(.publicPermissions) else {
            return participant.permission
        }
        return publicPermission
    }

    /// What a user may do by this share; nil if the user is not in it.
    package func permission(of user: String) -> ShareParticipant.Permission? {
        participants.filter { $0.user == user && isIn($0) }.map(permission(of:)).max()
    }

    /// Whether a user who is in the share may invite and remove others.
    package func isAdministrator(_ user: String) -> Bool {
        participants.contains { $0.user == user && isIn($0) && $0.role == .administrator }
    }

    /// Users who ever accepted, by record name.
    package var users: Set<String> { Set(participants.compactMap(\.user)) }

    /// Record names of users who may do something by this share.
    var usersLetIn: Set<String> {
        let letIn = participants.filter { isIn($0) && permission(of: $0) > .none }
        return Set(letIn.compactMap(\.user))
    }
}

extension AccessEntries.Participant {
    /// The values were checked when they were read, so this can't fail.
    fileprivate mutating func take(_ field: AccessEntries.Field, _ value: Bytes) {
        switch field {
        case .role:
            guard let grant = try? AccessEntries.RoleGrant(value: value) else { return }
            (invitation, roleVersion) = (grant.invitation, grant.version)
            (role, name, added, era) = (grant.role, grant.name, grant.added, grant.era)
        case .permission:
            guard let grant = try? AccessEntries.PermissionGrant(value: value) else { return }
            (permission, permissionVersion) = (grant.permission, grant.version)
        case .removed:
            removed = (try? AccessEntries.Numbers(value, count: 1).numbers[0]) ?? 0
        case .removedEra:
            removedEra = (try? AccessEntries.Numbers(value, count: 1).numbers[0]) ?? 0
        case .left:
            left = (try? AccessEntries.Numbers(value, count: 1).numbers[0]) ?? 0
        case .accepted:
            guard let acceptance = try? AccessEntries.Acceptance(value: value) else { return }
            (accepted, user) = (acceptance.invitation, acceptance.user)
        }
    }
}
