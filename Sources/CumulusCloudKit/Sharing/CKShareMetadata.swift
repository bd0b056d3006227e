// The target of a share's URL: the share, and the signed-in user's part in it.
//
// Made by `CKContainer+Sharing` of what a node answers. Never changes.

internal import Cumulus
public import Foundation

/// A share as a user with its URL sees it, before and after accepting: `CKShare.Metadata`.
public final class CKShareMetadata: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The container of the share.
    public let containerIdentifier: String
    /// The share.
    public let share: CKShare
    /// The record that is shared with all below it; nil if the zone is shared.
    public let hierarchicalRootRecordID: CKRecord.ID?
    /// The root, if it was asked for; nil if the zone is shared.
    public let rootRecord: CKRecord?
    /// The user's role in the share, or the role that the user would get.
    public let participantRole: CKShare.ParticipantRole
    /// Whether the user has accepted.
    public let participantStatus: CKShare.ParticipantAcceptanceStatus
    /// The user's permission, or the permission that the user would get.
    public let participantPermission: CKShare.ParticipantPermission
    /// The URL by which it was found, and is accepted.
    let url: URL

    init(_ metadata: Share.Metadata) {
        containerIdentifier = metadata.containerIdentifier
        share = CKShare(metadata.share)
        hierarchicalRootRecordID = metadata.hierarchicalRootRecordID.map { CKRecord.ID($0) }
        rootRecord = metadata.rootRecord.map { CKRecord.object(for: $0) }
        participantRole = CKShare.ParticipantRole(metadata.participantRole)
        participantStatus = CKShare.ParticipantAcceptanceStatus(metadata.participantStatus)
        participantPermission = CKShare.ParticipantPermission(metadata.participantPermission)
        url = metadata.url
    }

    /// The owner of the zone.
    public var ownerIdentity: CKUserIdentity { share.owner.userIdentity }

    /// The old form of `hierarchicalRootRecordID`; the share itself if the zone is shared.
    public var rootRecordID: CKRecord.ID { hierarchicalRootRecordID ?? share.recordID }

    /// The old name of `participantRole`.
    public var participantType: CKShare.ParticipantType { participantRole }

    /// Whether both say the same of the same share.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKShareMetadata else { return false }
        return other.url == url && other.participantRole == participantRole
            && other.participantStatus == participantStatus
            && other.participantPermission == participantPermission
            && other.share.recordChangeTag == share.recordChangeTag
    }

    /// Equal for equal metadata.
    public override var hash: Int { url.hashValue }

    /// The metadata itself, since it never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Archives the metadata.
    public func encode(with coder: NSCoder) {
        coder.encode(containerIdentifier as NSString, forKey: "containerIdentifier")
        coder.encode(share, forKey: "share")
        if let hierarchicalRootRecordID {
            coder.encode(hierarchicalRootRecordID, forKey: "root")
        }
        if let rootRecord { coder.encode(rootRecord, forKey: "rootRecord") }
        coder.encode(Int64(participantRole.rawValue), forKey: "role")
        coder.encode(Int64(participantStatus.rawValue), forKey: "status")
        coder.encode(Int64(participantPermission.rawValue), forKey: "permission")
        coder.encode(url.absoluteString as NSString, forKey: "url")
    }

    /// Metadata from an archive; nil if it holds none.
    public init?(coder: NSCoder) {
        func number(_ key: String) -> Int { Int(coder.decodeInt64(forKey: key)) }
        guard let container = coder.decodeText(forKey: "containerIdentifier"),
            let share = coder.decode(CKShare.self, forKey: "share"),
            let url = coder.decodeText(forKey: "url").flatMap({ URL(string: $0) })
        else { return nil }
        containerIdentifier = container
        self.share = share
        hierarchicalRootRecordID = coder.decode(CKRecord.ID.self, forKey: "root")
        rootRecord = coder.decode(CKRecord.self, forKey: "rootRecord")
        participantRole = CKShare.ParticipantRole(rawValue: number("role")) ?? .unknown
        participantStatus =
            CKShare.ParticipantAcceptanceStatus(rawValue: number("status")) ?? .unknown
        participantPermission =
            CKShare.ParticipantPermission(rawValue: number("permission")) ?? .unknown
        self.url = url
    }
}
