// A share: a record that says which part of a zone is shared, and with whom.
//
// Made by apps, or of a record that was fetched; saved with `Database.save(_:rootRecord:)`. A value
// around its record, which is all that is stored.
//
// Folder: sharing with other users. Read `Share`, then `Share+Participant`, `Database+Sharing` and
// `Container+Sharing`.

public import CumulusModel
public import CumulusSystem

/// A record of type `cloudkit.share`, which says what is shared with other users, and with whom.
///
/// A share is of a whole custom zone of the private database, or of a record there and all records
/// below it by `Record.parent`. The others find it in their shared database once they have
/// accepted it by its ``url``.
///
/// ```swift
/// let database = container.privateCloudDatabase
/// var share = Share(recordZoneID: RecordZone.ID(zoneName: "Trips"))
/// share.title = "Our trips"
/// share.addParticipant(
///     Share.Participant(lookupInfo: .emailAddress("ada@example.org"), permission: .readWrite)
/// )
/// share = try await database.save(share)
/// print(share.url!)
/// ```
public struct Share: Hashable, Sendable {
    /// The type of a share's record.
    public static let recordType = Names.shareType
    /// The name of a share's record that shares its zone.
    public static let zoneWideRecordName = Names.zoneShare

    /// Names of fields that sharing has a meaning for.
    public enum SystemFieldKey {
        /// The title, for people: a STRING.
        public static let title = "cloudkit.title"
        /// A small picture of it: BYTES.
        public static let thumbnailImageData = "cloudkit.thumbnailImageData"
        /// The app's type of the share: a STRING.
        public static let shareType = "cloudkit.type"
    }

    /// The record that holds the share.
    ///
    /// Its fields are the share's; save it by ``Database/save(_:rootRecord:)``.
    public private(set) var record: Record

    /// A share of a record and all records below it, to be saved with the record.
    ///
    /// - Parameters:
    ///   - rootRecord: In a custom zone of the private database.
    ///   - shareID: The id of the share's record, in the same zone; nil means a random name.
    public init(rootRecord: Record, shareID: Record.ID? = nil) {
        let zone = rootRecord.recordID.zoneID
        record = Record(
            recordType: Share.recordType,
            recordID: shareID ?? Record.ID(zoneID: zone)
        )
        record.shareDetails = ShareDetails(root: rootRecord.recordID.recordName)
    }

    /// A share of everything in a zone, now and later.
    public init(recordZoneID: RecordZone.ID) {
        record = Record(
            recordType: Share.recordType,
            recordID: Record.ID(recordName: Share.zoneWideRecordName, zoneID: recordZoneID)
        )
        record.shareDetails = ShareDetails(root: "")
    }

    /// The share that a fetched record holds; nil if it holds none.
    public init?(_ record: Record) {
        guard record.recordType == Share.recordType, record.shareDetails != nil else { return nil }
        self.record = record
    }

    var details: ShareDetails {
        get { record.shareDetails ?? ShareDetails(root: "") }
        set { record.shareDetails = newValue }
    }

    // MARK: What is shared

    /// The name of the share's record.
    public var recordID: Record.ID { record.recordID }

    /// The record that is shared with all below it; nil if the zone is shared.
    public var rootRecordID: Record.ID? {
        guard !details.root.isEmpty else { return nil }
        return Record.ID(recordName: details.root, zoneID: recordID.zoneID)
    }

    /// The value of a field of the share's record; nil if the field is not set.
    public subscript(key: String) -> FieldValue? {
        get { record[key] }
        set { record[key] = newValue }
    }

    /// The title, for people.
    public var title: String? {
        get { record[SystemFieldKey.title]?.string }
        set { record[SystemFieldKey.title] = newValue.map { .string($0) } }
    }

    /// The URL at which others accept it; nil before the first save.
    ///
    /// It is the same for the same root, on every node. It is an address and no key: it admits only
    /// people whom the share admits.
    public var url: URL? { details.url.isEmpty ? nil : URL(string: details.url) }

    // MARK: With whom

    /// What all who have the URL may do; `none` means that only participants may join.
    ///
    /// Opening a share drops participants who have not accepted; setting it to `none` drops all who
    /// joined by the URL alone. While it is not `none`, nobody can be invited or removed by name.
    public var publicPermission: Participant.Permission {
        get { details.publicPermission }
        set { details.publicPermission = newValue }
    }

    /// The owner, and the participants whom the caller may see.
    ///
    /// Users who joined by the URL alone see the owner and themselves; others see all.
    public var participants: [Participant] {
        (owner.map { [$0] } ?? []) + details.participants.map(Participant.init)
    }

    /// The owner of its zone; nil before the first save.
    public var owner: Participant? {
        guard !details.owner.isEmpty else { return nil }
        return Participant(
            ShareDetails.Participant(
                user: details.owner,
                role: .owner,
                permission: .readWrite,
                status: .accepted,
                isCaller: isOwned
            )
        )
    }

    /// The caller, as the share sees it; nil if the caller is not in it.
    public var currentUserParticipant: Participant? {
        participants.first(where: \.isCurrentUser)
    }

    private var isOwned: Bool {
        recordID.zoneID.ownerName == RecordZone.ID.currentUserName
    }

    /// Adds a participant, or changes the role and permission of one who is in already.
    ///
    /// The owner stays as it is.
    public mutating func addParticipant(_ participant: Participant) {
        guard participant.role != .owner else { return }
        let added = participant.details
        if let index = details.participants.firstIndex(where: added.isSame) {
            details.participants[index].role = added.role
            details.participants[index].permission = added.permission
        } else {
            details.participants.append(added)
        }
    }

    /// Removes a participant; the owner stays.
    public mutating func removeParticipant(_ participant: Participant) {
        details.participants.removeAll { participant.details.isSame(as: $0) }
    }

    /// Whether a participant is in it; the owner is not among them.
    package func holds(_ participant: Participant) -> Bool {
        details.participants.contains(where: participant.details.isSame)
    }

    /// Whether both hold the same state of the same share.
    public static func == (left: Share, right: Share) -> Bool { left.record == right.record }

    /// Hashes the name of its record.
    public func hash(into hasher: inout Hasher) { hasher.combine(recordID) }
}

extension ShareDetails.Participant {
    /// Whether both are the same person, as far as is known.
    fileprivate func isSame(as other: Self) -> Bool {
        if !id.isEmpty, !other.id.isEmpty { return id == other.id }
        if let handle, let others = other.handle { return handle == others }
        return !user.isEmpty && user == other.user
    }
}
