// A photo app as it stands on Apple's systems: operations with the blocks of the first years.

import CloudKit
import CoreLocation
import Foundation

class Photo {
    let record: CKRecord

    init(record: CKRecord) {
        self.record = record
    }

    convenience init(title: String, file: URL, place: CLLocation) {
        let record = CKRecord(recordType: "Photo")
        record["title"] = title as CKRecordValue
        record["image"] = CKAsset(fileURL: file)
        record["date"] = NSDate()
        record.setObject(place, forKey: "place")
        self.init(record: record)
    }

    // swift-format-ignore: NeverForceUnwrap
    var title: String { record["title"] as! String }
    var imageURL: URL? { (record["image"] as? CKAsset)?.fileURL }
    var place: CLLocation? { record.object(forKey: "place") as? CLLocation }
}

class PhotoManager {
    private let container = CKContainer.default()
    private lazy var database = container.publicCloudDatabase
    private let subscriptionID = "photos-changed"
    private(set) var photos = [Photo]()
    private var cursor: CKQueryOperation.Cursor?

    var hasMore: Bool { return cursor != nil }

    func query(prefix: String?, near place: CLLocation?) -> CKQuery {
        var predicates = [NSPredicate]()
        if let prefix = prefix {
            predicates.append(NSPredicate(format: "title BEGINSWITH %@", prefix))
        }
        if let place = place {
            predicates.append(
                NSPredicate(
                    format: "distanceToLocation:fromLocation:(%K, %@) < %f",
                    "place",
                    place,
                    10_000.0
                )
            )
        }
        let lastDays = Date().addingTimeInterval(-5 * 24 * 60 * 60)
        predicates.append(NSPredicate(format: "date > %@", lastDays as NSDate))
        let query = CKQuery(
            recordType: "Photo",
            predicate: NSCompoundPredicate(andPredicateWithSubpredicates: predicates)
        )
        query.sortDescriptors = [NSSortDescriptor(key: "date", ascending: false)]
        return query
    }

    func fetch(_ query: CKQuery, limit: Int, completion: @escaping (Error?) -> Void) {
        run(CKQueryOperation(query: query), limit, completion)
    }

    func fetchMore(limit: Int, completion: @escaping (Error?) -> Void) {
        guard let cursor = cursor else { return completion(nil) }
        run(CKQueryOperation(cursor: cursor), limit, completion)
    }

    private func run(
        _ operation: CKQueryOperation,
        _ limit: Int,
        _ completion: @escaping (Error?) -> Void
    ) {
        var found = [Photo]()
        operation.resultsLimit = limit
        operation.recordFetchedBlock = { record in
            found.append(Photo(record: record))
        }
        operation.queryCompletionBlock = { [weak self] cursor, error in
            self?.photos += found
            self?.cursor = cursor
            completion(error)
        }
        database.add(operation)
    }

    func save(_ photo: Photo, completion: @escaping (Error?) -> Void) {
        let operation = CKModifyRecordsOperation(
            recordsToSave: [photo.record],
            recordIDsToDelete: nil
        )
        var share = 0.0
        operation.perRecordProgressBlock = { _, progress in share = progress }
        operation.modifyRecordsCompletionBlock = { saved, _, error in
            if let error = error as? CKError, error.code == .partialFailure {
                completion(error.partialErrorsByItemID?[photo.record.recordID])
            } else {
                completion(share == 1.0 ? error : CKError(.internalError))
            }
        }
        operation.qualityOfService = .userInitiated
        database.add(operation)
    }

    func deleteAll(completion: @escaping (Int, Error?) -> Void) {
        let operation = CKModifyRecordsOperation(
            recordsToSave: nil,
            recordIDsToDelete: photos.map { $0.record.recordID }
        )
        operation.modifyRecordsCompletionBlock = { _, deleted, error in
            completion(deleted?.count ?? 0, error)
        }
        database.add(operation)
    }

    func subscribe(completion: @escaping (Error?) -> Void) {
        let subscription = CKQuerySubscription(
            recordType: "Photo",
            predicate: NSPredicate(value: true),
            subscriptionID: subscriptionID,
            options: [.firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion]
        )
        let info = CKNotificationInfo()
        info.shouldSendContentAvailable = true
        info.desiredKeys = ["title"]
        subscription.notificationInfo = info
        database.fetch(withSubscriptionID: subscriptionID) { [database] existing, _ in
            guard existing == nil else { return completion(nil) }
            database.save(subscription) { _, error in completion(error) }
        }
    }

    func handle(_ userInfo: [AnyHashable: Any]) -> String? {
        let notification = CKNotification(fromRemoteNotificationDictionary: userInfo)
        guard let query = notification as? CKQueryNotification, let id = query.recordID else {
            return nil
        }
        switch query.queryNotificationReason {
        case .recordCreated: return "added \(id.recordName)"
        case .recordUpdated: return "changed \(id.recordName)"
        case .recordDeleted: return "removed \(id.recordName)"
        }
    }
}
