// A record in an archive: what the server knows of it, and its fields.
//
// The system fields are the client library's, as JSON. Fields are objects, as apps read them.

internal import CumulusFoundation
internal import CumulusModel
public import Foundation

extension CKRecord {
    private enum Key {
        static let system = "systemFields"
        static let fields = "fields"
        static let encrypted = "encryptedFields"
        static let changed = "changedKeys"
        static let parentChanged = "parentChanged"
        static let share = "share"
    }

    /// Objects that fields may hold.
    private static let classes: [AnyClass] = [
        NSDictionary.self, NSArray.self, NSString.self, NSNumber.self, NSDate.self, NSData.self,
        CLLocation.self, CKReference.self, CKAsset.self,
    ]

    /// Archives what the server knows of the record, without its fields.
    ///
    /// A record that is made from such an archive has no fields. Fields that are set in it are
    /// saved if the record did not change on the server since then.
    public func encodeSystemFields(with coder: NSCoder) {
        let fields = read(\.systemFields)
        guard let data = try? JSONEncoder().encode(fields) else { return }
        coder.encode(data as NSData, forKey: Key.system)
        // A share without its participants would remove them with the next save.
        guard let details = read(\.shareDetails).map(ShareArchive.init),
            let share = try? JSONEncoder().encode(details)
        else { return }
        coder.encode(share as NSData, forKey: Key.share)
    }

    func encodeFields(with coder: NSCoder) {
        let record = read { $0 }
        let secret = encryptedValues
        coder.encode(NSDictionary(dictionary: CKRecord.objects(self)), forKey: Key.fields)
        coder.encode(NSDictionary(dictionary: CKRecord.objects(secret)), forKey: Key.encrypted)
        coder.encode(NSArray(array: record.changedKeys()), forKey: Key.changed)
        coder.encode(record.changedParent != nil, forKey: Key.parentChanged)
    }

    private static func objects(_ fields: any CKRecordKeyValueSetting) -> [String: Any] {
        fields.allKeys().reduce(into: [:]) { $0[$1] = fields.object(forKey: $1) }
    }

    /// The content of an archive; nil if it holds no record.
    static func content(from coder: NSCoder) -> Content? {
        guard let data = coder.decodeBytes(forKey: Key.system),
            let system = try? JSONDecoder().decode(Record.SystemFields.self, from: data)
        else { return nil }
        var record = Record(system)
        let isNew = record.recordChangeTag == nil
        record.shareDetails =
            coder.decodeBytes(forKey: Key.share)
            .flatMap { try? JSONDecoder().decode(ShareArchive.self, from: $0) }?.details
        let changed = coder.decode(
            [NSArray.self, NSString.self],
            forKey: Key.changed
        )
        let changedKeys = Set(changed as? [String] ?? [])
        for (key, value) in values(under: Key.fields, coder) {
            if changedKeys.contains(key) {
                record[key] = value
            } else {
                record.receive(value, for: key)
            }
        }
        let secret = values(under: Key.encrypted, coder)
        for (key, value) in secret {
            if changedKeys.contains(key) {
                record.encryptedValues[key] = value
            } else {
                record.receive(encrypted: .open(value), for: key)
            }
        }
        // A removed field has no value; whether it was encrypted makes no difference to a save.
        for key in changedKeys where record[key] == nil && secret[key] == nil {
            record[key] = nil
        }
        if coder.decodeBool(forKey: Key.parentChanged) { record.parent = record.parent }
        return Content(record: record, fetched: isNew ? nil : Record(system))
    }

    private static func values(under key: String, _ coder: NSCoder) -> [String: FieldValue] {
        let objects = coder.decode(classes, forKey: key) as? [String: Any] ?? [:]
        return objects.compactMapValues { FieldValue(foundation: $0) }
    }
}
