// The subscription to all photos.
//
// Used by `PhotosController`.

import CloudKit

final class PhotoSubscription {
    enum Outcome {
        case registered
        case wasRegistered
    }

    private static let id = "photos"

    private let database = CKContainer.default().publicCloudDatabase

    /// Subscribes, unless that was done before, perhaps on another device of the user.
    func register(completion: @escaping (Outcome, Error?) -> Void) {
        database.fetch(withSubscriptionID: PhotoSubscription.id) { existing, error in
            if existing != nil {
                DispatchQueue.main.async { completion(.wasRegistered, nil) }
            } else if let error = error as? CKError, error.code != .unknownItem {
                DispatchQueue.main.async { completion(.registered, error) }
            } else {
                self.save(completion)
            }
        }
    }

    private func save(_ completion: @escaping (Outcome, Error?) -> Void) {
        let subscription = CKQuerySubscription(
            recordType: Photo.recordType,
            predicate: NSPredicate(value: true),
            subscriptionID: PhotoSubscription.id,
            options: [.firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion]
        )
        let info = CKSubscription.NotificationInfo()
        info.alertBody = "There are news of photos."
        info.shouldSendContentAvailable = true
        info.desiredKeys = [Photo.Key.title]
        subscription.notificationInfo = info
        database.save(subscription) { _, error in
            DispatchQueue.main.async { completion(.registered, error) }
        }
    }

    /// Ends the subscription, on all devices of the user.
    func remove(completion: @escaping (Error?) -> Void) {
        database.delete(withSubscriptionID: PhotoSubscription.id) { _, error in
            DispatchQueue.main.async { completion(error) }
        }
    }
}
