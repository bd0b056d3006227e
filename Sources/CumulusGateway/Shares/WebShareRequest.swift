// A share's details in a save: what it shares, and with whom.
//
// They are read from the record of an operation of records/modify. Omitted parts stay as they are
// stored. The list of participants is complete: a missing participant is removed.

package import CumulusModel

package struct WebShareRequest: Sendable {
    /// A user who is in, or is to be invited.
    private struct Participant: Sendable {
        /// The place in the request, for errors.
        let place: String
        var id: Bytes
        var user: String
        var handle: ShareDetails.Participant.Handle?
        /// nil leaves it as it is.
        var role: ShareParticipant.Role?
        var permission: ShareParticipant.Permission?

        func means(_ known: ShareDetails.Participant) -> Bool {
            if !id.isEmpty { return id == known.id }
            return user == known.user && !known.user.isEmpty
                || handle == known.handle && known.handle != nil
        }
    }

    /// The name of the record that it shares; nil: not said.
    package private(set) var root: String?
    /// That record's zone; nil means the zone of the share.
    package private(set) var rootZone: RecordZone.ID?
    /// The change tag of that record that the caller knows.
    package private(set) var rootTag: String?
    private var publicPermission: ShareParticipant.Permission?
    private var participants: [Participant]?
    /// The caller's user record name; empty: no user is signed in.
    private let user: String

    /// - Parameters:
    ///   - object: The record of an operation.
    ///   - user: The caller's user record name; empty: no user is signed in.
    package init(_ object: WebObject, for user: String) throws(WebError) {
        self.user = user
        if let record = try object.object("forRecord") {
            root = try record.needed("recordName")
            rootTag = try record.string("recordChangeTag")
            rootZone = try WebZone.id(in: record, for: user)
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
    /// - Parameter stored: The stored details; nil for a new share.
    package func details(over stored: ShareDetails?) throws(WebError) -> ShareDetails {
        var details = ShareDetails(root: stored?.root ?? root ?? "")
        details.publicPermission = publicPermission ?? stored?.publicPermission ?? .none
        guard let participants else {
            details.participants = stored?.participants ?? []
            return details
        }
        for participant in participants {
            let known = stored?.participants.first { participant.means($0) }
            if participant.role == .owner {
                try checkOwner(participant, known, stored?.owner ?? "")
                continue
            }
            details.participants.append(
                ShareDetails.Participant(
                    id: participant.id,
                    user: participant.user,
                    handle: participant.handle,
                    role: participant.role ?? known?.role ?? .privateUser,
                    permission: participant.permission ?? known?.permission ?? .readOnly
                )
            )
        }
        return details
    }

    /// Refuses an owner's entry that means another user: that user would be removed.
    private func checkOwner(
        _ participant: Participant,
        _ known: ShareDetails.Participant?,
        _ owner: String
    ) throws(WebError) {
        let names = [WebZone.owner(owner, user), "_defaultOwner", ""]
        let isOwner = names.contains(participant.user) && participant.handle == nil
        if isOwner, known == nil || known?.role == .owner { return }
        throw .badRequest(
            "'\(participant.place)' has the type OWNER and is not the share's owner, who stays the "
                + "same; give it another type"
        )
    }

    // MARK: Participants

    /// nil for the entry of a user who was removed.
    private static func participant(_ item: WebObject) throws(WebError) -> Participant? {
        let role = try role(item)
        if try isRemoved(item) { return nil }
        var participant = Participant(place: item.path, id: [], user: "", role: role)
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
            let (address, number) = (
                try info?.string("emailAddress"), try info?.string("phoneNumber")
            )
            let isSomebody = own == nil || looked == nil || own == looked
            guard isSomebody, address == nil || number == nil else {
                throw .badRequest("'\(identity.path)' names two users; name one")
            }
            participant.user = own ?? looked ?? ""
            let email = address.map { ShareDetails.Participant.Handle(kind: 1, text: $0) }
            let phone = number.map { ShareDetails.Participant.Handle(kind: 2, text: $0) }
            participant.handle = email ?? phone
        }
        let isNamed = !participant.id.isEmpty || !participant.user.isEmpty
        guard isNamed || participant.handle != nil || role == .owner else {
            throw .badRequest(
                "'\(item.path)' doesn't say who it is: give a participantId, or a userIdentity "
                    + "with a userRecordName or a lookupInfo"
            )
        }
        return participant
    }

    /// The server decides who has accepted; only removal is a wish.
    private static func isRemoved(_ item: WebObject) throws(WebError) -> Bool {
        switch try item.string("acceptanceStatus") {
        case nil, "UNKNOWN"?, "INVITED"?, "PENDING"?, "ACCEPTED"?: return false
        case "REMOVED"?: return true
        case let status?:
            throw .badRequest(
                "'\(item.place("acceptanceStatus"))' must be INVITED, ACCEPTED, REMOVED or "
                    + "UNKNOWN, not '\(status)'"
            )
        }
    }

    private static func role(_ item: WebObject) throws(WebError) -> ShareParticipant.Role? {
        switch try item.string("type") {
        case nil, "UNKNOWN"?: return nil
        case "OWNER"?: return .owner
        case "ADMINISTRATOR"?: return .administrator
        // CloudKit JS uses these words.
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
