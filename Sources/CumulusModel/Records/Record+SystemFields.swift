// The system fields of a record, for an app to keep beside its own copy of the values.
//
// Part of the client's surface.

extension Record {
    /// A record's name, type and change tag, and what else the server says of a record.
    ///
    /// An app that keeps its own copy of a record keeps these with it. A record made from them has
    /// no fields. Fields that are set in it are saved if the record did not change on the server
    /// since then:
    ///
    /// ```swift
    /// note.systemFields = try JSONEncoder().encode(record.systemFields)
    /// // ... later ...
    /// var record = Record(try JSONDecoder().decode(Record.SystemFields.self, from: fields))
    /// record["title"] = .string(note.title)
    /// ```
    public struct SystemFields: Hashable, Sendable, Codable {
        private var name: String
        private var zone: String
        private var owner: String
        private var type: String
        private var tag: String?
        private var created: Int64?
        private var createdBy: String?
        private var modified: Int64?
        private var modifiedBy: String?
        private var parent: String?
        private var share: String?

        fileprivate init(_ record: Record) {
            name = record.recordID.recordName
            zone = record.recordID.zoneID.zoneName
            owner = record.recordID.zoneID.ownerName
            type = record.recordType
            tag = record.recordChangeTag
            created = record.creationDate?.millisecondsSince1970
            createdBy = record.creatorUserRecordName
            modified = record.modificationDate?.millisecondsSince1970
            modifiedBy = record.lastModifiedUserRecordName
            parent = record.parent?.recordName
            share = record.share?.recordName
        }

        fileprivate var record: Record {
            let zoneID = RecordZone.ID(zoneName: zone, ownerName: owner)
            var record = Record(
                recordType: type,
                recordID: ID(recordName: name, zoneID: zoneID)
            )
            record.recordChangeTag = tag
            record.creationDate = created.map(Timestamp.init(millisecondsSince1970:))
            record.creatorUserRecordName = createdBy
            record.modificationDate = modified.map(Timestamp.init(millisecondsSince1970:))
            record.lastModifiedUserRecordName = modifiedBy
            record.receive(parent: parent.map { Reference(recordName: $0) })
            record.share = share.map { Reference(recordName: $0) }
            return record
        }
    }

    /// The system fields of this record, to be kept.
    public var systemFields: SystemFields { SystemFields(self) }

    /// A record as the server knows it, without its fields.
    public init(_ systemFields: SystemFields) {
        self = systemFields.record
    }
}
