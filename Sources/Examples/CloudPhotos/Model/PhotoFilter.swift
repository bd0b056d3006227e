// The photos that the user wants to see, and the query that finds them.
//
// Chosen in `PhotosController`, run by `PhotoManager`.

import CloudKit
import CoreLocation

enum PhotoFilter {
    case all
    case titlePrefix(String)
    case near(CLLocation, kilometers: Double)
    case mine(CKRecord.ID)
    case lastFiveDays

    private var predicate: NSPredicate {
        switch self {
        case .all:
            return NSPredicate(value: true)
        case .titlePrefix(let prefix):
            return NSPredicate(format: "%K BEGINSWITH %@", Photo.Key.title, prefix)
        case .near(let place, let kilometers):
            return NSPredicate(
                format: "distanceToLocation:fromLocation:(%K, %@) < %f",
                Photo.Key.place,
                place,
                kilometers * 1000
            )
        case .mine(let user):
            let reference = CKRecord.Reference(recordID: user, action: .none)
            return NSPredicate(format: "creatorUserRecordID == %@", reference)
        case .lastFiveDays:
            let start = Date().addingTimeInterval(-5 * 24 * 60 * 60)
            return NSPredicate(format: "%K > %@", Photo.Key.date, start as NSDate)
        }
    }

    /// The newest photos first.
    var query: CKQuery {
        let query = CKQuery(recordType: Photo.recordType, predicate: predicate)
        query.sortDescriptors = [NSSortDescriptor(key: Photo.Key.date, ascending: false)]
        return query
    }
}
