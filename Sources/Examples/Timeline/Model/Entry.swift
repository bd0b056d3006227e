// An entry of the timeline.
//
// Made by `TimelineController` for a new entry, and by `SyncEngine` from records.

import CloudKit

final class Entry: CloudKitSyncable, Codable {
    static let recordType = "Entry"

    enum Key {
        static let text = "text"
        static let timestamp = "timestamp"
    }

    let name: String
    let text: String
    let timestamp: Date
    /// The record name of who wrote it; nil until the server has said so.
    private(set) var author: String?
    var isSynced: Bool

    init(text: String, timestamp: Date = Date()) {
        self.name = UUID().uuidString
        self.text = text
        self.timestamp = timestamp
        self.isSynced = false
    }

    init?(record: CKRecord) {
        guard record.recordType == Entry.recordType,
            let text = record[Key.text] as? String,
            let timestamp = record[Key.timestamp] as? Date
        else { return nil }
        self.name = record.recordID.recordName
        self.text = text
        self.timestamp = timestamp
        self.author = record.creatorUserRecordID?.recordName
        self.isSynced = true
    }

    var recordID: CKRecord.ID { return CKRecord.ID(recordName: name) }

    func makeRecord() -> CKRecord {
        let record = CKRecord(recordType: Entry.recordType, recordID: recordID)
        record[Key.text] = text as CKRecordValue
        record[Key.timestamp] = timestamp as CKRecordValue
        return record
    }
}
