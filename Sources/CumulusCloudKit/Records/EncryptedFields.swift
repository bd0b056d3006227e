// The encrypted fields of a record, for apps to read and set.
//
// Made by `CKRecord.encryptedValues` each time; the values are in the record.

internal import CumulusFoundation
internal import CumulusModel

final class EncryptedFields: CKRecordKeyValueSetting, Sendable {
    private let record: CKRecord

    init(of record: CKRecord) {
        self.record = record
    }

    subscript(key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
        get {
            record.read { $0.encryptedValues[key]?.object(in: $0.recordID.zoneID) }
        }
        set { record.set(newValue, for: key) { $0.encryptedValues[key] = $1 } }
    }

    func allKeys() -> [CKRecord.FieldKey] { record.read { $0.encryptedValues.allKeys() } }

    func changedKeys() -> [CKRecord.FieldKey] {
        record.read { $0.encryptedValues.changed.sorted() }
    }
}
