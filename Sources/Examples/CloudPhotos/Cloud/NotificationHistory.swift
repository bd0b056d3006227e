// Notifications that came while the app did not run, and the marks of read ones.
//
// Used by `AppDelegate` at its start, and by `PhotosController`.

import CloudKit

final class NotificationHistory {
    private let container = CKContainer.default()
    /// Notifications that no device of the user has marked as read.
    private(set) var unread: [CKNotification.ID] = []

    /// Fetches all that the server still knows, and returns the token of the last one.
    func fetch(completion: @escaping (CKServerChangeToken?, Error?) -> Void) {
        let operation = CKFetchNotificationChangesOperation(previousServerChangeToken: nil)
        var found: [CKNotification.ID] = []
        operation.notificationChangedBlock = { notification in
            guard notification.notificationType != .readNotification else { return }
            if let id = notification.notificationID { found.append(id) }
        }
        operation.fetchNotificationChangesCompletionBlock = { token, error in
            DispatchQueue.main.async {
                if error == nil { self.unread = found }
                completion(token, error)
            }
        }
        container.add(operation)
    }

    /// Counts a notification that has just arrived.
    func received(_ notification: CKNotification) {
        guard let id = notification.notificationID, !unread.contains(id) else { return }
        unread.append(id)
    }

    /// Marks all of them as read, and resets the number on the app's icon.
    func markAllRead(completion: @escaping (Int, Error?) -> Void) {
        let operation = CKMarkNotificationsReadOperation(notificationIDsToMarkRead: unread)
        operation.markNotificationsReadCompletionBlock = { marked, error in
            DispatchQueue.main.async {
                if error == nil { self.unread = [] }
                completion(marked?.count ?? 0, error)
            }
        }
        container.add(operation)
        container.add(CKModifyBadgeOperation(badgeValue: 0))
    }
}
