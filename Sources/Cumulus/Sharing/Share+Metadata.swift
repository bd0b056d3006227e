// The target of a share's URL: the share, and the caller's part in it.

public import CumulusModel
public import CumulusSystem
import CumulusWire

extension Share {
    /// A share as a user with its URL sees it, before and after accepting.
    public struct Metadata: Hashable, Sendable {
        /// The container of the share.
        public let containerIdentifier: String
        /// The share.
        public let share: Share
        /// The root, if it was asked for; nil if the zone is shared.
        public let rootRecord: Record?
        /// The caller's role in the share, or the role that it would get.
        public let participantRole: Participant.Role
        /// The caller's permission, or the permission that it would get.
        public let participantPermission: Participant.Permission
        /// Whether the caller has accepted.
        public let participantStatus: Participant.AcceptanceStatus
        /// The URL by which it was found.
        public let url: URL

        init(_ answer: [Bytes], of url: URL, in container: Container) throws {
            let wire = try decoding { try WireShareMetadata(wire: Database.only(answer)) }
            guard let share = Share(container.core.keyring.opening(wire.share)) else {
                throw ServiceError(.internalError, "the server's answer holds no share")
            }
            containerIdentifier = container.containerIdentifier
            self.share = share
            rootRecord = wire.rootRecord.map { container.core.keyring.opening($0) }
            participantRole = wire.role
            participantPermission = wire.permission
            participantStatus = wire.status
            self.url = url
        }

        /// The zone that holds what is shared, with its owner: for the shared database.
        public var zoneID: RecordZone.ID { share.recordID.zoneID }
        /// The record that is shared with all below it; nil if the zone is shared.
        public var hierarchicalRootRecordID: Record.ID? { share.rootRecordID }
        /// The owner's user record; nil if the server did not tell it.
        public var ownerUserRecordID: Record.ID? { share.owner?.userRecordID }

        /// Whether both say the same of the same share.
        public static func == (left: Metadata, right: Metadata) -> Bool {
            left.share == right.share && left.rootRecord == right.rootRecord
                && left.participantRole == right.participantRole
                && left.participantPermission == right.participantPermission
                && left.participantStatus == right.participantStatus
        }

        /// Hashes the URL.
        public func hash(into hasher: inout Hasher) { hasher.combine(url) }
    }
}
