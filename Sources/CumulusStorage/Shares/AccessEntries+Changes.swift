// Makes the entries that change a share. Each change raises a number that it saw, so it beats what
// was there, and loses only to a change that allows less or knows more.
//
// Saving, accepting and leaving a share call it. A change of several things is several of these,
// each made from the result of the previous one.

package import CumulusModel

extension AccessEntries {
    /// Sets the share's root; once.
    package static func root(_ root: Root) -> [Entry] {
        [Entry(key: rootKey, value: root.value)]
    }

    /// Invites a person, also one who left or was removed.
    ///
    /// - Parameters:
    ///   - name: A user record name or a handle, for display.
    ///   - now: Milliseconds since 1970 UTC.
    package func inviting(
        _ id: ParticipantID,
        named name: String,
        as role: ShareParticipant.Role,
        _ permission: ShareParticipant.Permission,
        now: Int64
    ) -> [Entry] {
        entries(of: id, nextInvitation(of: id), name, role, permission, now, era: 0)
    }

    /// Gives a participant another role.
    package func setting(_ role: ShareParticipant.Role, of participant: Participant) -> [Entry] {
        let grant = RoleGrant(
            invitation: participant.invitation,
            version: participant.roleVersion.next,
            role: role,
            name: participant.name,
            added: participant.added,
            era: participant.era
        )
        return [Entry(key: AccessEntries.key(participant.id, .role), value: grant.value)]
    }

    /// Gives a participant another permission.
    package func setting(
        _ permission: ShareParticipant.Permission,
        of participant: Participant
    ) -> [Entry] {
        let grant = PermissionGrant(
            invitation: participant.invitation,
            version: participant.permissionVersion.next,
            permission: permission
        )
        return [Entry(key: AccessEntries.key(participant.id, .permission), value: grant.value)]
    }

    /// Removes every invitation up to the present one, and all others of this public era.
    package func removing(_ participant: Participant) -> [Entry] {
        let (invitation, era) = (Numbers(participant.invitation), Numbers(publicGrant.era))
        return [
            Entry(key: AccessEntries.key(participant.id, .removed), value: invitation.value),
            Entry(key: AccessEntries.key(participant.id, .removedEra), value: era.value),
        ]
    }

    /// Gives back the present invitation.
    package func leaving(_ participant: Participant) -> [Entry] {
        let numbers = Numbers(participant.invitation)
        return [Entry(key: AccessEntries.key(participant.id, .left), value: numbers.value)]
    }

    /// Accepts the present invitation.
    package func accepting(_ participant: Participant, by user: String) -> [Entry] {
        [acceptance(of: participant.id, participant.invitation, by: user)]
    }

    /// Joins an open share by its URL alone.
    package func joining(_ user: String, now: Int64) -> [Entry] {
        let id = ParticipantID(user: user)
        let invitation = nextInvitation(of: id)
        let era = publicGrant.era
        return entries(of: id, invitation, user, .publicUser, publicPermission, now, era: era)
            + [acceptance(of: id, invitation, by: user)]
    }

    /// Opens the share for all who have the URL, changes their permission, or closes it.
    package func settingPublic(_ permission: ShareParticipant.Permission) -> [Entry] {
        var grant = publicGrant
        let isOpen = publicPermission != .none
        var changes: [Entry] = []
        if permission == .none {
            guard isOpen else { return [] }
            let closed = Numbers(grant.era)
            changes.append(Entry(key: AccessEntries.closedKey, value: closed.value))
            grant.version = grant.version.next
        } else if isOpen {
            guard permission != grant.permission else { return [] }
            grant.version = grant.version.next
        } else {
            grant.era = max(grant.era, closedEra).next
            grant.version = 1
        }
        grant.permission = permission
        return [Entry(key: AccessEntries.publicKey, value: grant.value)] + changes
    }

    // MARK: Parts

    private func nextInvitation(of id: ParticipantID) -> UInt32 {
        guard let known = participant(id) else { return 1 }
        return max(known.invitation, known.removed, known.left).next
    }

    private func acceptance(
        of id: ParticipantID,
        _ invitation: UInt32,
        by user: String
    ) -> Entry {
        let acceptance = Acceptance(invitation: invitation, user: user)
        return Entry(key: AccessEntries.key(id, .accepted), value: acceptance.value)
    }

    private func entries(
        of id: ParticipantID,
        _ invitation: UInt32,
        _ name: String,
        _ role: ShareParticipant.Role,
        _ permission: ShareParticipant.Permission,
        _ now: Int64,
        era: UInt32
    ) -> [Entry] {
        let role = RoleGrant(
            invitation: invitation,
            version: 1,
            role: role,
            name: name,
            added: now,
            era: era
        )
        let grant = PermissionGrant(invitation: invitation, version: 1, permission: permission)
        return [
            Entry(key: AccessEntries.key(id, .role), value: role.value),
            Entry(key: AccessEntries.key(id, .permission), value: grant.value),
        ]
    }
}

extension UInt32 {
    /// The next number; it stops at the largest one, which is out of reach.
    fileprivate var next: UInt32 { self == .max ? self : self + 1 }
}
