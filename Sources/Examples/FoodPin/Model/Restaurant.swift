// A restaurant, without its image: that is loaded when it is to be shown.
//
// Made by `RestaurantCloudStore` from records.
//
// Folder: what the app is about, without calls. Read `Restaurant`.

import CloudKit

/// A restaurant that everybody can discover.
struct Restaurant: Identifiable, Hashable, Sendable {
    static let recordType: CKRecord.RecordType = "Restaurant"

    enum Key {
        static let name = "name"
        static let type = "type"
        static let location = "location"
        static let image = "image"
    }

    /// The fields that a list shows.
    static let listKeys: [CKRecord.FieldKey] = [Key.name, Key.type, Key.location]

    let id: CKRecord.ID
    let name: String
    let type: String
    let location: String
    /// The server gives the record another one with each change.
    let changeTag: String

    /// The restaurant that a record keeps; nil if it is no restaurant's.
    init?(record: CKRecord) {
        guard record.recordType == Self.recordType,
            let name = record[Key.name] as? String,
            let changeTag = record.recordChangeTag
        else { return nil }
        id = record.recordID
        self.name = name
        type = record[Key.type] as? String ?? ""
        location = record[Key.location] as? String ?? ""
        self.changeTag = changeTag
    }
}
