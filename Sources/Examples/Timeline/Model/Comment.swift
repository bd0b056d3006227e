// A comment on an entry; it goes with its entry.
//
// Made by `TimelineController` for a new comment, and by `SyncEngine` from records.

import CloudKit

final class Comment: CloudKitSyncable, Codable {
    static let recordType = "Comment"

    enum Key {
        static let text = "text"
        static let timestamp = "timestamp"
        static let entry = "entry"
    }

    let name: String
    let text: String
    let timestamp: Date
    /// The record name of the entry.
    let entryName: String
    var isSynced: Bool

    init(text: String, on entry: Entry, timestamp: Date = Date()) {
        self.name = UUID().uuidString
        self.text = text
        self.timestamp = timestamp
        self.entryName = entry.name
        self.isSynced = false
    }

    init?(record: CKRecord) {
        guard record.recordType == Comment.recordType,
            let text = record[Key.text] as? String,
            let timestamp = record[Key.timestamp] as? Date,
            let entry = record[Key.entry] as? CKRecord.Reference
        else { return nil }
        self.name = record.recordID.recordName
        self.text = text
        self.timestamp = timestamp
        self.entryName = entry.recordID.recordName
        self.isSynced = true
    }

    var recordID: CKRecord.ID { return CKRecord.ID(recordName: name) }

    func makeRecord() -> CKRecord {
        let record = CKRecord(recordType: Comment.recordType, recordID: recordID)
        record[Key.text] = text as CKRecordValue
        record[Key.timestamp] = timestamp as CKRecordValue
        let entryID = CKRecord.ID(recordName: entryName)
        record[Key.entry] = CKRecord.Reference(recordID: entryID, action: .deleteSelf)
        return record
    }
}
