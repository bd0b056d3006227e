// The details of a share's record besides its fields, in an archive.
//
// Used by `CKRecord`'s archives and by `CKShareParticipant`. JSON; a later release may add keys,
// which this one passes over.

internal import CumulusModel
internal import Foundation

struct ShareArchive: Codable {
    struct Participant: Codable {
        private var id: Data
        private var user: String
        private var handleKind: UInt32?
        private var handle: String?
        private var role: UInt8
        private var permission: UInt8
        private var status: UInt8
        private var added: Int64
        private var isCaller: Bool

        init(_ details: ShareDetails.Participant) {
            id = Data(details.id)
            user = details.user
            handleKind = details.handle?.kind
            handle = details.handle?.text
            role = details.role.rawValue
            permission = details.permission.rawValue
            status = details.status.rawValue
            added = details.added
            isCaller = details.isCaller
        }

        /// Numbers that this release doesn't know mean the least right.
        var details: ShareDetails.Participant {
            var named: ShareDetails.Participant.Handle?
            if let handleKind, let handle { named = .init(kind: handleKind, text: handle) }
            return ShareDetails.Participant(
                id: Bytes(id),
                user: user,
                handle: named,
                role: ShareParticipant.Role(rawValue: role) ?? .privateUser,
                permission: ShareParticipant.Permission(rawValue: permission) ?? .none,
                status: ShareParticipant.AcceptanceStatus(rawValue: status) ?? .unknown,
                added: added,
                isCaller: isCaller
            )
        }
    }

    private var root: String
    private var publicPermission: UInt8
    private var participants: [Participant]
    private var owner: String
    private var url: String

    init(_ details: ShareDetails) {
        root = details.root
        publicPermission = details.publicPermission.rawValue
        participants = details.participants.map(Participant.init)
        owner = details.owner
        url = details.url
    }

    var details: ShareDetails {
        ShareDetails(
            root: root,
            publicPermission: ShareParticipant.Permission(rawValue: publicPermission) ?? .none,
            participants: participants.map(\.details),
            owner: owner,
            url: url
        )
    }
}
