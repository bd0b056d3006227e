// The details of a share's record besides its fields: what it shares, and with whom.
//
// Part of `Record` in the client library, which shows it as a `Share`, and of `RecordView.Sharing`
// on the node. Decoded and encoded by CumulusWire.

package struct ShareDetails: Hashable, Sendable {
    /// A person with whom it is shared; the owner is not among them.
    package struct Participant: Hashable, Sendable {
        /// An e-mail address or a telephone number.
        package struct Handle: Hashable, Sendable {
            /// `HandleKind` of `accounts.proto`, or a number that this release doesn't know.
            package var kind: UInt32
            package var text: String

            package init(kind: UInt32, text: String) {
                self.kind = kind
                self.text = text
            }
        }

        /// Opaque; empty: the node makes it of `user` or `handle`.
        package var id: Bytes
        /// User record name; empty: not known, or not told.
        package var user: String
        package var handle: Handle?
        package var role: ShareParticipant.Role
        package var permission: ShareParticipant.Permission
        package var status: ShareParticipant.AcceptanceStatus
        /// Milliseconds since 1970 UTC; 0: not yet.
        package var added: Int64
        package var isCaller: Bool

        package init(
            id: Bytes = [],
            user: String = "",
            handle: Handle? = nil,
            role: ShareParticipant.Role = .privateUser,
            permission: ShareParticipant.Permission = .readOnly,
            status: ShareParticipant.AcceptanceStatus = .pending,
            added: Int64 = 0,
            isCaller: Bool = false
        ) {
            self.id = id
            self.user = user
            self.handle = handle
            self.role = role
            self.permission = permission
            self.status = status
            self.added = added
            self.isCaller = isCaller
        }
    }

    /// Record name; empty: the zone.
    package var root: String
    package var publicPermission: ShareParticipant.Permission
    package var participants: [Participant]
    /// User record name; empty before the first save.
    package var owner: String
    /// Empty before the first save.
    package var url: String

    package init(
        root: String,
        publicPermission: ShareParticipant.Permission = .none,
        participants: [Participant] = [],
        owner: String = "",
        url: String = ""
    ) {
        self.root = root
        self.publicPermission = publicPermission
        self.participants = participants
        self.owner = owner
        self.url = url
    }
}
