// The requirements of values that the sync engine keeps equal on all devices.
//
// Folder: what the app is about, without calls. Read `CloudKitSyncable`, `Entry`, `Comment`, then
// `TimelineStore`.

import CloudKit

/// Something that is kept as a record.
protocol CloudKitSyncable: AnyObject {
    static var recordType: String { get }

    /// The thing that a record keeps; nil if it is another one's record.
    init?(record: CKRecord)

    /// Its name on all devices, given when it is made: to send it twice makes no second one.
    var recordID: CKRecord.ID { get }

    /// Whether the server has it.
    var isSynced: Bool { get set }

    /// The record to save.
    func makeRecord() -> CKRecord
}
