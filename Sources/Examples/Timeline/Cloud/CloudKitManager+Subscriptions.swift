// The facade's calls about subscriptions and what they told of.

import CloudKit

extension CloudKitManager {
    func subscribe(
        toType type: String,
        predicate: NSPredicate = NSPredicate(value: true),
        subscriptionID: String,
        options: CKQuerySubscription.Options,
        desiredKeys: [String],
        completion: @escaping (_ error: Error?) -> Void
    ) {
        let subscription = CKQuerySubscription(
            recordType: type,
            predicate: predicate,
            subscriptionID: subscriptionID,
            options: options
        )
        let notificationInfo = CKSubscription.NotificationInfo()
        notificationInfo.shouldSendContentAvailable = true
        notificationInfo.desiredKeys = desiredKeys
        subscription.notificationInfo = notificationInfo
        publicDatabase.save(subscription) { _, error in
            DispatchQueue.main.async { completion(error) }
        }
    }

    func unsubscribe(
        _ subscriptionID: String,
        completion: @escaping (_ error: Error?) -> Void
    ) {
        publicDatabase.delete(withSubscriptionID: subscriptionID) { _, error in
            DispatchQueue.main.async { completion(error) }
        }
    }

    func fetchSubscriptions(
        completion: @escaping (_ subscriptions: [CKSubscription], _ error: Error?) -> Void
    ) {
        publicDatabase.fetchAllSubscriptions { subscriptions, error in
            DispatchQueue.main.async { completion(subscriptions ?? [], error) }
        }
    }

    /// Fetches the notifications since a token, and the token of the last one.
    func fetchNotifications(
        since token: CKServerChangeToken?,
        completion:
            @escaping (
                _ notifications: [CKNotification], _ token: CKServerChangeToken?, _ error: Error?
            ) -> Void
    ) {
        var notifications: [CKNotification] = []
        let operation = CKFetchNotificationChangesOperation(previousServerChangeToken: token)
        operation.notificationChangedBlock = { notifications.append($0) }
        operation.fetchNotificationChangesCompletionBlock = { token, error in
            DispatchQueue.main.async { completion(notifications, token, error) }
        }
        container.add(operation)
    }
}
