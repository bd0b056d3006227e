// A share's details besides its fields: its participants, and what each may do.
//
// They are written into the records of shares, and into the answers of records/resolve and
// records/accept. The words are the ones of CloudKit JS, with which apps compare; `WebShareRequest`
// also reads the words of the printed reference.
//
// Folder: shares. Read `WebShare` for what answers say, and `WebShareRequest` for what saves say.

import Crypto
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
        case .privateUser: "PRIVATE_USER"
        case .administrator: "ADMINISTRATOR"
        case .owner: "OWNER"
        }
    }

    static func status(_ status: ShareParticipant.AcceptanceStatus) -> JSON {
        switch status {
        case .unknown: "UNKNOWN"
        case .pending: "PENDING"
        case .accepted: "ACCEPTED"
        case .removed: "REMOVED"
        }
    }

    /// The id of a share in URLs and requests: the last part of its URL.
    package static func shortGUID(of details: ShareDetails) -> String? {
        details.url.split(separator: "/").last.map { String($0) }
    }

    /// The members of a share's record beside the members of every record.
    ///
    /// - Parameter user: The caller's user record name; empty: no user is signed in.
    package static func members(of details: ShareDetails, user: String) -> [JSON.Member] {
        let participants = [owner(details, user: user)] + details.participants
        var members = [
            JSON.Member("publicPermission", permission(details.publicPermission)),
            JSON.Member("participants", .array(participants.map(json))),
            JSON.Member("owner", json(participants[0])),
        ]
        if let own = participants.first(where: \.isCaller) {
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

    /// The owner as a participant, which nodes leave out of their lists.
    private static func owner(_ details: ShareDetails, user: String) -> ShareDetails.Participant {
        let name = WebZone.owner(details.owner, user)
        return ShareDetails.Participant(
            id: ownerID(name),
            user: name,
            role: .owner,
            permission: .readWrite,
            status: .accepted,
            isCaller: !user.isEmpty && name == user
                && !details.participants.contains(where: \.isCaller)
        )
    }

    /// The participant id of an owner, which is the same in all shares of that owner.
    static func ownerID(_ user: String) -> Bytes {
        Bytes(SHA256.hash(data: Bytes("owner \(user)".utf8)).prefix(16))
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
