// Converts the pages of a feed to web services' notifications.
//
// Called by `WebCourier`, `WebhookCourier` and `PushCourier`, which follow feeds as native clients
// do.

import CumulusModel
import CumulusWire

enum WebNews {
    static func page(_ message: Bytes) throws(ServiceError) -> WireFeedPage {
        do throws(MalformedMessage) {
            return try WireFeedPage(wire: message)
        } catch {
            throw ServiceError(.internalError, .protocolError, error.message)
        }
    }

    /// The notifications that web services make from one of a feed.
    static func told(
        by notification: FeedNotification,
        in container: String,
        _ calls: any WebCalls
    ) async throws(ServiceError) -> [WebNotification] {
        var isWide = false
        if case .zones = notification.news,
            case .database? = try await subscription(of: notification, calls)?.kind
        {
            isWide = true
        }
        return WebNotification.all(
            notification,
            in: container,
            user: calls.user,
            isWide: isWide
        )
    }

    /// Whether a reset is about a subscription that shows something or wakes the app.
    static func wakes(
        _ reset: FeedReset?,
        _ calls: any WebCalls
    ) async throws(ServiceError) -> Bool {
        guard let reset else { return false }
        for database in DatabaseScope.allCases {
            let call = FetchSubscriptionsRequest(database: database, ids: nil)
            for message in try await calls.read(.subscriptionsFetch, call.encoded()) {
                let results = (try? FetchSubscriptionsResponse(wire: message).results) ?? []
                for subscription in results.compactMap({ try? $0.get() }) {
                    let name = SubscriptionName(
                        databaseScope: database,
                        subscriptionID: subscription.id
                    )
                    if case .subscriptions(let names) = reset, !names.contains(name) { continue }
                    if subscription.notificationInfo?.wakes == true { return true }
                }
            }
        }
        return false
    }

    /// The subscription that tells a notification, as it is now; nil if it was deleted.
    static func subscription(
        of notification: FeedNotification,
        _ calls: any WebCalls
    ) async throws(ServiceError) -> Subscription? {
        let call = FetchSubscriptionsRequest(
            database: notification.databaseScope,
            ids: [Bytes(notification.subscriptionID.utf8)]
        )
        let messages = try await calls.read(.subscriptionsFetch, call.encoded())
        let results = messages.flatMap { message in
            (try? FetchSubscriptionsResponse(wire: message).results) ?? []
        }
        return try? results.first?.get()
    }
}
