// What a share says besides its fields: what it shares, and with whom.
//
// Made by operations for each share record that is shown, as its caller may see it; encoded by
// CumulusWire.

package struct ShareView: Hashable, Sendable {
    /// A user with whom it is shared, beside the owner.
    package struct Member: Hashable, Sendable {
        /// Kind and 16 bytes.
        package var id: Bytes
        /// User record name; nil before a handle is accepted, or where it is not to be told.
        package var user: String?
        /// As it was invited; empty if by the user record name.
        package var handle: String
        package var role: ShareParticipant.Role
        package var permission: ShareParticipant.Permission
        package var status: ShareParticipant.AcceptanceStatus
        /// Milliseconds since 1970 UTC.
        package var added: Int64
        /// Whether it is the caller.
        package var isCaller: Bool

        package init(
            id: Bytes,
            user: String?,
            handle: String = "",
            role: ShareParticipant.Role,
            permission: ShareParticipant.Permission,
            status: ShareParticipant.AcceptanceStatus,
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

    /// 16 bytes, of which the node makes the URL.
    package var share: Bytes
    /// Record name of the root; nil: the zone.
    package var root: String?
    package var publicPermission: ShareParticipant.Permission
    /// User record name.
    package var owner: String
    package var members: [Member]

    package init(
        share: Bytes,
        root: String?,
        publicPermission: ShareParticipant.Permission,
        owner: String,
        members: [Member]
    ) {
        self.share = share
        self.root = root
        self.publicPermission = publicPermission
        self.owner = owner
        self.members = members
    }
}
