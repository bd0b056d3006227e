// A photo of the app, and the record that keeps it.
//
// Made by `PhotosController` for a new photo, and by `PhotoManager` from records.
//
// Folder: what the app is about, without calls. Read `Photo`, then `PhotoFilter`.

import CloudKit
import CoreLocation

/// A photo that everybody can see.
final class Photo {
    static let recordType = "Photo"

    enum Key {
        static let title = "title"
        static let image = "image"
        static let date = "date"
        static let place = "place"
    }

    private(set) var record: CKRecord

    /// The photo that a record keeps; nil if it is no photo's.
    init?(record: CKRecord) {
        guard record.recordType == Photo.recordType, record[Key.title] is String else { return nil }
        self.record = record
    }

    /// A new photo, which is not saved yet.
    init(title: String, imageURL: URL, place: CLLocation?) {
        record = CKRecord(recordType: Photo.recordType)
        record[Key.title] = title as CKRecordValue
        record[Key.image] = CKAsset(fileURL: imageURL)
        record[Key.date] = Date() as CKRecordValue
        record[Key.place] = place
    }

    var recordID: CKRecord.ID { return record.recordID }

    var title: String {
        get { return record[Key.title] as? String ?? "" }
        set { record[Key.title] = newValue as CKRecordValue }
    }

    var date: Date? { return record[Key.date] as? Date }

    var place: CLLocation? { return record[Key.place] as? CLLocation }

    /// The file of the downloaded picture.
    var imageURL: URL? { return (record[Key.image] as? CKAsset)?.fileURL }

    /// Whether the signed-in user added it: only the owner may change it.
    func isOwned(by user: CKRecord.ID?) -> Bool {
        guard let creator = record.creatorUserRecordID, let user = user else { return false }
        return creator.recordName == CKCurrentUserDefaultName
            || creator.recordName == user.recordName
    }
}
