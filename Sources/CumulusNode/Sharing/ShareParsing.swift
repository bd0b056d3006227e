// Reads a share from a save: its participants, and what each may do.
//
// Called by `RequestParser` for each saved record that has such parts. Whether the caller may
// change them is for the operation to say.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

extension RequestParser {
    func share(_ wire: WireShareParts) throws(ServiceError) -> WantedShare {
        // The owner may be among them. A longer list is refused before the writer sees it.
        let count = wire.participants.count
        guard count <= limits.participantsPerShare + 1 else {
            throw WantedShare.tooMany(count, of: limits.participantsPerShare)
        }
        var root: String?
        if !wire.root.isEmpty {
            root = try Names.checkIdentifier(wire.root[...], "root's record name")
        }
        return WantedShare(
            root: root,
            publicPermission: try permission(wire.publicPermission),
            members: try wire.participants.map(member)
        )
    }

    private func member(
        _ wire: WireShareParts.Participant
    ) throws(ServiceError) -> WantedShare.Member {
        let (id, name) = try identity(of: wire)
        return WantedShare.Member(
            id: id,
            name: name,
            role: try role(wire.role),
            permission: try permission(wire.permission)
        )
    }

    /// The id of a participant and the name that was given; the name is empty if the save does not
    /// repeat it.
    private func identity(
        of wire: WireShareParts.Participant
    ) throws(ServiceError) -> (ParticipantID, name: String) {
        let handle = try wire.handle.map { (wire) throws(ServiceError) in try Handle(wire) }
        let user = wire.user.isEmpty ? nil : try userName(wire.user)
        if wire.id.isEmpty {
            if let handle { return (ParticipantID(handle), handle.text) }
            guard let user else {
                throw invalid(
                    "a participant has no id, no handle and no user record name; give one of them"
                )
            }
            return (ParticipantID(user: user), user)
        }
        guard let id = ParticipantID(wholeBytes: wire.id) else {
            throw invalid("a participant's id has 17 bytes; send the one that the server gave")
        }
        // A participant who accepted by a handle has a user record name too.
        let (named, name) =
            id.kind == .user
            ? (user.map { ParticipantID(user: $0) }, user)
            : (handle.map { ParticipantID($0) }, handle?.text)
        guard named == nil || named == id else {
            throw invalid(
                "a participant's id belongs to somebody else than its name; leave the id out"
            )
        }
        return (id, name ?? "")
    }

    private func userName(_ bytes: Bytes) throws(ServiceError) -> String {
        let name = try Names.checkText(bytes[...], "user record name of a participant")
        if name == Names.currentUser { return caller.user }
        guard Names.isUserRecordName(name) else {
            throw invalid(
                """
                '\(name)' is not a user record name: an underscore and 32 hexadecimal digits; \
                'cumulus sign-in' shows a user its own
                """
            )
        }
        return name
    }

    private func permission(
        _ number: UInt32
    ) throws(ServiceError) -> ShareParticipant.Permission {
        guard let number = UInt8(exactly: number),
            let permission = ShareParticipant.Permission(rawValue: number)
        else {
            throw invalid("\(number) is not a permission; use 0 (none), 1 (read) or 2 (write)")
        }
        return permission
    }

    private func role(_ number: UInt32) throws(ServiceError) -> ShareParticipant.Role {
        guard let number = UInt8(exactly: number),
            let role = ShareParticipant.Role(rawValue: number)
        else {
            throw invalid(
                """
                \(number) is not a role; use 0 (public user), 1 (private user) or 2 (administrator)
                """
            )
        }
        return role
    }

    private func invalid(_ message: String) -> ServiceError {
        ServiceError(.invalidArguments, .invalidValue, message)
    }
}
