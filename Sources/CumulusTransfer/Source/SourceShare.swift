// What a record of type `cloudkit.share` says beside its fields.
//
// The words of the live service, of CloudKit JS and of the printed reference are read alike.

package import CumulusModel

package struct SourceShare: Hashable, Sendable {
    package struct Participant: Hashable, Sendable {
        /// User record name; empty until the invitation is accepted, or if it is not told.
        package var user: String
        package var emailAddress: String?
        package var phoneNumber: String?
        package var role: ShareParticipant.Role
        package var permission: ShareParticipant.Permission
        package var hasAccepted: Bool

        package init(
            user: String = "",
            emailAddress: String? = nil,
            phoneNumber: String? = nil,
            role: ShareParticipant.Role = .privateUser,
            permission: ShareParticipant.Permission = .readOnly,
            hasAccepted: Bool = false
        ) {
            self.user = user
            self.emailAddress = emailAddress
            self.phoneNumber = phoneNumber
            self.role = role
            self.permission = permission
            self.hasAccepted = hasAccepted
        }
    }

    /// Record name of the root; empty: the zone is shared, or the service does not say it here.
    package var root: String
    package var publicPermission: ShareParticipant.Permission
    /// Without the owner, and without those who were removed.
    package var participants: [Participant]

    package init(
        root: String,
        publicPermission: ShareParticipant.Permission = .none,
        participants: [Participant] = []
    ) {
        self.root = root
        self.publicPermission = publicPermission
        self.participants = participants
    }

    /// - Parameter object: The record of the share.
    init(_ object: SourceObject) throws(SourceProblem) {
        root = try object.object("forRecord")?.needed("recordName") ?? ""
        publicPermission = try SourceShare.permission(object, "publicPermission")
        participants = []
        for (index, json) in try object.list("participants").enumerated() {
            let place = "\(object.place("participants"))[\(index)]"
            let participant = try SourceObject(json, at: place)
            if let read = try Participant(participant) { participants.append(read) }
        }
    }

    fileprivate static func permission(
        _ object: SourceObject,
        _ key: String
    ) throws(SourceProblem) -> ShareParticipant.Permission {
        switch try object.string(key) {
        case nil, "NONE", "UNKNOWN": return .none
        case "READ_ONLY": return .readOnly
        case "READ_WRITE": return .readWrite
        case let word?:
            throw SourceProblem(object.place(key), "is the unknown permission '\(word)'")
        }
    }
}

extension SourceShare.Participant {
    /// nil for the owner, and for one who was removed.
    fileprivate init?(_ object: SourceObject) throws(SourceProblem) {
        switch try object.string("type") {
        case "OWNER": return nil
        case "ADMINISTRATOR": role = .administrator
        case "PUBLIC_USER": role = .publicUser
        case nil, "USER", "PRIVATE_USER", "UNKNOWN": role = .privateUser
        case let word?:
            throw SourceProblem(object.place("type"), "is the unknown type '\(word)'")
        }
        switch try object.string("acceptanceStatus") {
        case "REMOVED": return nil
        case "ACCEPTED": hasAccepted = true
        default: hasAccepted = false
        }
        permission = try SourceShare.permission(object, "permission")
        let identity = try object.object("userIdentity")
        let lookup = try identity?.object("lookupInfo")
        let (known, looked) = (
            try identity?.string("userRecordName"), try lookup?.string("userRecordName")
        )
        user = known ?? looked ?? ""
        emailAddress = try lookup?.string("emailAddress")
        phoneNumber = try lookup?.string("phoneNumber")
    }
}
