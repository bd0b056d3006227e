// A participant of a share: invited by the owner, or joined by the URL.

public import CumulusModel
import CumulusWire

extension Share {
    /// A person with whom something is shared.
    ///
    /// To invite a person, make one from an e-mail address, a telephone number or a user record,
    /// and add it to the share.
    public struct Participant: Hashable, Identifiable, Sendable {
        /// What a participant may do with the shared records.
        public typealias Permission = ShareParticipant.Permission
        /// The role of a participant in a share.
        public typealias Role = ShareParticipant.Role
        /// How far an invitation has come.
        public typealias AcceptanceStatus = ShareParticipant.AcceptanceStatus

        package var details: ShareDetails.Participant

        package init(_ details: ShareDetails.Participant) {
            self.details = details
        }

        /// A person to invite by a handle, whether or not a user has it yet, or by a user record.
        ///
        /// The user who holds the handle when it accepts is the one who is meant.
        public init(
            lookupInfo: UserIdentity.LookupInfo,
            permission: Permission = .readOnly,
            role: Role = .privateUser
        ) {
            details = ShareDetails.Participant(role: role, permission: permission)
            if let handle = lookupInfo.handle {
                details.handle = ShareDetails.Participant.Handle(
                    kind: handle.kind,
                    text: String(decoding: handle.value, as: UTF8.self)
                )
            } else if case .userRecordID(let id) = lookupInfo {
                details.user = id.recordName
            }
        }

        /// A user to be invited.
        ///
        /// - Parameters:
        ///   - userRecordID: The id that ``Container/userRecordID()`` returned to that user.
        ///   - permission: What the user may do with what is shared.
        ///   - role: `privateUser`, or `administrator` for one who may invite and remove others.
        public init(
            userRecordID: Record.ID,
            permission: Permission = .readOnly,
            role: Role = .privateUser
        ) {
            details = ShareDetails.Participant(
                user: userRecordID.recordName,
                role: role,
                permission: permission
            )
        }

        /// Names the participant in its share; the server gives it.
        public var id: String {
            details.id.isEmpty ? details.handle?.text ?? details.user : details.id.hex
        }

        /// The user's record; nil before the invitation is accepted, or if it is not told.
        public var userRecordID: Record.ID? {
            details.user.isEmpty ? nil : Record.ID(recordName: details.user)
        }

        /// The address by which the participant was invited; nil if by its user record.
        public var lookupInfo: UserIdentity.LookupInfo? {
            details.handle.flatMap {
                UserIdentity.LookupInfo(WireHandle(kind: $0.kind, value: Bytes($0.text.utf8)))
            }
        }

        /// The role of the participant.
        ///
        /// It is a private user, or an administrator, who may invite and remove others.
        public var role: Role {
            get { details.role }
            set { details.role = newValue }
        }

        /// What the participant may do; for a public user it is the share's public permission.
        public var permission: Permission {
            get { details.permission }
            set { details.permission = newValue }
        }

        /// How far the invitation has come.
        public var acceptanceStatus: AcceptanceStatus { details.status }

        /// When the participant was invited or joined; nil if that is not saved yet.
        public var dateAddedToShare: Timestamp? {
            details.added == 0 ? nil : Timestamp(millisecondsSince1970: details.added)
        }

        /// Whether it is the caller.
        public var isCurrentUser: Bool { details.isCaller }
    }
}
