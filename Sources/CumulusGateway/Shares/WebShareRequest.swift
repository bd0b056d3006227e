// What a save says of a share besides its fields: what it shares, and with whom.
//
// Read from the record of an operation of records/modify. What it leaves out stays as it is stored;
// the list of participants is a whole one, and who is missing in it is removed.

package import CumulusModel

package struct WebShareRequest: Sendable {
    /// A user who is in, or is to be invited.
    private struct Participant: Sendable {
        var id: Bytes
        var user: String
        var handle: ShareDetails.Participant.Handle?
        /// nil leaves it as it is.
        var role: ShareParticipant.Role?
        var permission: ShareParticipant.Permission?
    }

    /// The name of the record that it shares; nil: not said.
    package private(set) var root: String?
    /// That record's change tag, as the caller knows it.
    package private(set) var rootTag: String?
    private var publicPermission: ShareParticipant.Permission?
    private var participants: [Participant]?

    /// - Parameter object: The record of an operation.
    package init(_ object: WebObject) throws(WebError) {
        if let record = try object.object("forRecord") {
            root = try record.needed("recordName")
            rootTag = try record.string("recordChangeTag")
        }
        publicPermission = try WebShareRequest.permission(object, "publicPermission")
        guard let elements = try object.array("participants") else { return }
        var participants: [Participant] = []
        for (index, element) in elements.enumerated() {
            let place = "\(object.place("participants"))[\(index)]"
            let item = try WebObject(element, at: place)
            if let participant = try WebShareRequest.participant(item) {
                participants.append(participant)
            }
        }
        self.participants = participants
    }

    /// Whether anything is said.
    package var isEmpty: Bool { root == nil && publicPermission == nil && participants == nil }

    /// The share as it should be.
    ///
    /// - Parameter stored: As it is; nil for a new share.
    package func details(over stored: ShareDetails?) -> ShareDetails {
        var details = ShareDetails(root: stored?.root ?? root ?? "")
        details.publicPermission = publicPermission ?? stored?.publicPermission ?? .none
        guard let participants else {
            details.participants = stored?.participants ?? []
            return details
        }
        details.participants = participants.map { participant in
            let known = stored?.participants.first { known in
                participant.id.isEmpty
                    ? participant.user == known.user && !known.user.isEmpty
                        || participant.handle == known.handle && known.handle != nil
                    : participant.id == known.id
            }
            return ShareDetails.Participant(
                id: participant.id,
                user: participant.user,
                handle: participant.handle,
                role: participant.role ?? known?.role ?? .privateUser,
                permission: participant.permission ?? known?.permission ?? .readOnly
            )
        }
        return details
    }

    // MARK: Participants

    /// nil for an entry that saves leave out: the owner's, and those of users who were removed.
    private static func participant(_ item: WebObject) throws(WebError) -> Participant? {
        let role = try role(item)
        let status = try item.string("acceptanceStatus")
        if role == .owner || status == "REMOVED" { return nil }
        var participant = Participant(id: [], user: "", role: role)
        participant.permission = try permission(item, "permission")
        if let text = try item.string("participantId"), !text.isEmpty {
            guard let id = Bytes(hex: text) else {
                throw .badRequest(
                    "'\(item.place("participantId"))' is no id that the server gave; leave it out"
                )
            }
            participant.id = id
        }
        if let identity = try item.object("userIdentity") {
            let info = try identity.object("lookupInfo")
            let (own, looked) = (
                try identity.string("userRecordName"), try info?.string("userRecordName")
            )
            participant.user = own ?? looked ?? ""
            if let address = try info?.string("emailAddress") {
                participant.handle = .init(kind: 1, text: address)
            } else if let number = try info?.string("phoneNumber") {
                participant.handle = .init(kind: 2, text: number)
            }
        }
        let isNamed = !participant.id.isEmpty || !participant.user.isEmpty
        guard isNamed || participant.handle != nil else {
            throw .badRequest(
                "'\(item.path)' doesn't say who it is: give a participantId, or a userIdentity "
                    + "with a userRecordName or a lookupInfo"
            )
        }
        return participant
    }

    private static func role(_ item: WebObject) throws(WebError) -> ShareParticipant.Role? {
        switch try item.string("type") {
        case nil, "UNKNOWN"?: return nil
        case "OWNER"?: return .owner
        case "ADMINISTRATOR"?: return .administrator
        // What CloudKit JS says.
        case "USER"?, "PRIVATE_USER"?: return .privateUser
        case "PUBLIC_USER"?: return .publicUser
        case let type?:
            throw .badRequest(
                "'\(item.place("type"))' must be OWNER, ADMINISTRATOR, USER or PUBLIC_USER, not "
                    + "'\(type)'"
            )
        }
    }

    private static func permission(
        _ object: WebObject,
        _ key: String
    ) throws(WebError) -> ShareParticipant.Permission? {
        switch try object.string(key) {
        case nil, "UNKNOWN"?: return nil
        case "NONE"?: return ShareParticipant.Permission.none
        case "READ_ONLY"?: return .readOnly
        case "READ_WRITE"?: return .readWrite
        case let text?:
            throw .badRequest(
                "'\(object.place(key))' must be NONE, READ_ONLY or READ_WRITE, not '\(text)'"
            )
        }
    }
}
