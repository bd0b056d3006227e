// What a share's record says besides its fields: who is in it, and what each may do.
//
// Written into the records of shares, and into the answers of records/resolve and records/accept.
//
// Folder: shares. Read `WebShare` for what answers say, and `WebShareRequest` for what saves say.

package import CumulusModel

package enum WebShare {
    static func permission(_ permission: ShareParticipant.Permission) -> JSON {
        switch permission {
        case .none: "NONE"
        case .readOnly: "READ_ONLY"
        case .readWrite: "READ_WRITE"
        }
    }

    static func type(_ role: ShareParticipant.Role) -> JSON {
        switch role {
        case .publicUser: "PUBLIC_USER"
        case .privateUser: "USER"
        case .administrator: "ADMINISTRATOR"
        case .owner: "OWNER"
        }
    }

    static func status(_ status: ShareParticipant.AcceptanceStatus) -> JSON {
        switch status {
        case .unknown: "UNKNOWN"
        case .pending: "INVITED"
        case .accepted: "ACCEPTED"
        case .removed: "REMOVED"
        }
    }

    /// What identifies a share in URLs and requests: the last part of its URL.
    package static func shortGUID(of details: ShareDetails) -> String? {
        details.url.split(separator: "/").last.map { String($0) }
    }

    /// What the record of a share has beside what every record has.
    package static func members(of details: ShareDetails, user: String) -> [JSON.Member] {
        let participants = details.participants.map(json)
        var members = [
            JSON.Member("publicPermission", permission(details.publicPermission)),
            JSON.Member("participants", .array(participants)),
            JSON.Member("owner", owner(details, user: user)),
        ]
        if let own = details.participants.first(where: \.isCaller) {
            members.append(JSON.Member("currentUserParticipant", json(own)))
        }
        if !details.root.isEmpty {
            let root = JSON.string(details.root)
            members.append(JSON.Member("forRecord", ["recordName": root]))
        }
        if let text = shortGUID(of: details) {
            members.append(JSON.Member("shortGUID", .string(text)))
        }
        return members
    }

    private static func owner(_ details: ShareDetails, user: String) -> JSON {
        if let owner = details.participants.first(where: { $0.role == .owner }) {
            return json(owner)
        }
        let name = WebZone.owner(details.owner, user)
        return [
            "type": type(.owner), "permission": permission(.readWrite),
            "acceptanceStatus": status(.accepted),
            "userIdentity": ["userRecordName": .string(name)],
        ]
    }

    private static func json(_ participant: ShareDetails.Participant) -> JSON {
        var identity: [JSON.Member] = []
        if !participant.user.isEmpty {
            identity.append(JSON.Member("userRecordName", .string(participant.user)))
        }
        if let handle = participant.handle {
            let key = handle.kind == 2 ? "phoneNumber" : "emailAddress"
            let info = JSON.object([JSON.Member(key, .string(handle.text))])
            identity.append(JSON.Member("lookupInfo", info))
        }
        return [
            "participantId": .string(participant.id.hex), "type": type(participant.role),
            "permission": permission(participant.permission),
            "acceptanceStatus": status(participant.status), "userIdentity": .object(identity),
        ]
    }
}
