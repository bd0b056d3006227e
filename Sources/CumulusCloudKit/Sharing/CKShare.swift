// A share as apps written for CloudKit hold it: a record with participants.
//
// Its content is a `Share` of the client library, kept as that share's record. It is saved, fetched
// and deleted as any other record.
//
// Folder: sharing with other users. Read `CKShare`, then `CKShareParticipant`, `CKShareMetadata`
// and `CKContainer+Sharing`.
//
// swift-format-ignore-file: AlwaysUseLowerCamelCase

internal import Cumulus
internal import CumulusModel
public import Foundation
internal import Synchronization

/// The name of the record that shares a whole zone.
public let CKRecordNameZoneWideShare = Share.zoneWideRecordName

/// A record that says which part of a zone is shared, and with whom.
///
/// A new share of a record is saved in one batch with the record. A save sends the participants as
/// they stand in the share: a missing one is removed.
open class CKShare: CKRecord, @unchecked Sendable {
    /// A person with whom it is shared.
    public typealias Participant = CKShareParticipant
    /// A share as a user with its URL sees it.
    public typealias Metadata = CKShareMetadata
    /// Somebody who asks for access.
    public typealias AccessRequester = CKShareAccessRequester
    /// Somebody who may not ask for access any more.
    public typealias BlockedIdentity = CKShareBlockedIdentity
    /// How far an invitation has come.
    public typealias ParticipantAcceptanceStatus = CKShareParticipantAcceptanceStatus
    /// What a participant may do.
    public typealias ParticipantPermission = CKShareParticipantPermission
    /// The role of a participant in a share.
    public typealias ParticipantRole = CKShareParticipantRole
    /// The old name of `ParticipantRole`.
    public typealias ParticipantType = CKShareParticipantRole

    /// Names of fields that sharing has a meaning for.
    public enum SystemFieldKey {
        /// The title, for people: a text.
        public static let title: CKRecord.FieldKey = Share.SystemFieldKey.title
        /// A small picture of it: data.
        public static let thumbnailImageData: CKRecord.FieldKey = Share.SystemFieldKey
            .thumbnailImageData
        /// The app's type of the share: a text.
        public static let shareType: CKRecord.FieldKey = Share.SystemFieldKey.shareType
    }

    /// A share of a record and of all records below it by `parent`.
    ///
    /// - Parameters:
    ///   - rootRecord: In a custom zone of the private database.
    ///   - shareID: Names the share's record, in the same zone.
    public init(rootRecord: CKRecord, shareID: CKRecord.ID) {
        let share = Share(rootRecord: rootRecord.read { $0 }, shareID: shareID.model)
        super.init(Content(record: share.record))
    }

    /// A share of a record and of all records below it, with a new random name.
    public convenience init(rootRecord: CKRecord) {
        let zone = rootRecord.recordID.zoneID
        self.init(rootRecord: rootRecord, shareID: CKRecord.ID(zoneID: zone))
    }

    /// A share of all that is and will be in a zone.
    public init(recordZoneID: CKRecordZone.ID) {
        super.init(Content(record: Share(recordZoneID: recordZoneID.model).record))
    }

    override init(_ content: Content) {
        super.init(content)
    }

    /// A share that came from the server.
    convenience init(_ share: Share) {
        self.init(Content(record: share.record, fetched: share.record))
    }

    /// A share from an archive of all of it, or of its system fields; nil if it holds no share.
    public required init?(coder: NSCoder) {
        super.init(coder: coder)
        guard model != nil else { return nil }
    }

    /// Another share with the same content.
    open override func copy(with zone: NSZone? = nil) -> Any {
        CKShare(content.withLock { $0 })
    }

    /// The client library's share; there is one for the record of every share.
    private var model: Share? { read { Share($0) } }

    private func change(_ body: (inout Share) -> Void) {
        content.withLock { content in
            guard var share = Share(content.record) else { return }
            body(&share)
            content.record = share.record
        }
    }

    // MARK: - What the share says

    /// Where others accept it; nil before the first save.
    ///
    /// The same whenever the same root is shared.
    public var url: URL? { model?.url }

    /// What all who have the URL may do; `none` means that only participants may join.
    ///
    /// While it is not `none`, participants can't be invited or removed by name.
    public var publicPermission: ParticipantPermission {
        get { model.map { ParticipantPermission($0.publicPermission) } ?? .unknown }
        set { change { $0.publicPermission = newValue.model } }
    }

    // MARK: - With whom

    /// The owner of its zone: the signed-in user before the first save.
    public var owner: Participant {
        Participant(model?.owner ?? .unsavedOwner, in: self)
    }

    /// The owner, and the participants whom the signed-in user may see.
    ///
    /// Setting a participant's permission or role sets it in this share.
    public var participants: [Participant] {
        let others = (model?.participants ?? []).filter { $0.role != .owner }
        return [owner] + others.map { Participant($0, in: self) }
    }

    /// The signed-in user, as the share sees it; nil if it is not in the share.
    public var currentUserParticipant: Participant? {
        participants.first { $0.isCurrentUser }
    }

    /// Adds a participant, or changes the role and permission of one who is in already.
    public func addParticipant(_ participant: Participant) {
        change { $0.addParticipant(participant.model) }
        participant.join(self)
    }

    /// Removes a participant; the owner stays.
    public func removeParticipant(_ participant: Participant) {
        change { $0.removeParticipant(participant.model) }
        participant.join(nil)
    }

    /// Takes over what was set in one of the share's participants.
    func update(_ participant: Share.Participant) {
        change { share in
            if share.holds(participant) { share.addParticipant(participant) }
        }
    }

    // MARK: - What nodes don't have

    /// False, whatever is set: nodes take no requests for access.
    public var allowsAccessRequests: Bool {
        get { false }
        set {}
    }

    /// Empty: nodes take no requests for access.
    public var requesters: [AccessRequester] { [] }

    /// Empty: there are no requests to block.
    public var blockedIdentities: [BlockedIdentity] { [] }

    /// Has no effect: nodes take no requests for access.
    public func denyRequesters(_ requesters: [AccessRequester]) {}

    /// Has no effect: nodes take no requests for access.
    public func blockRequesters(_ requesters: [AccessRequester]) {}

    /// Has no effect: nodes take no requests for access.
    public func unblockIdentities(_ identities: [BlockedIdentity]) {}

    /// nil: nodes give no URLs that work once.
    public func oneTimeURL(for participantID: Participant.ID) -> URL? { nil }
}
