// Converts the notifications of a feed to a push service's.
//
// Called by `CKNotificationReceiver` and by the history of notifications.

internal import Cumulus
internal import CumulusModel

extension NotificationPayload {
    /// The payload that CloudKit would send for a feed's notification.
    ///
    /// - Parameter zone: The zone of the subscription, if it is one to a zone.
    init(_ notification: FeedNotification, subscribedZone zone: RecordZone.ID?) {
        self.init(
            Self.news(of: notification, zone),
            in: notification.databaseScope.scope,
            of: notification.subscriptionID
        )
        id = notification.id.description
        isPruned = notification.isPruned
        isRead = notification.isRead
        info = notification.notificationInfo ?? info
    }

    /// The payload that CloudKit would send if a feed can't tell what changed: ask anew.
    init(resetOf subscription: Subscription, in scope: DatabaseScope) {
        let news: News =
            switch subscription.kind {
            case .query: .query(QueryNews())
            case .zone(let zone, _): .zone(CKRecordZoneID(zone))
            case .database: .database
            }
        self.init(news, in: scope.scope, of: subscription.id)
        isPruned = true
        info = subscription.notificationInfo ?? info
    }

    private static func news(of notification: FeedNotification, _ zone: RecordZone.ID?) -> News {
        switch notification.news {
        case .record(let news):
            .query(
                QueryNews(
                    reason: Int(news.reason.rawValue),
                    recordID: CKRecordID(news.recordID),
                    fields: news.fields
                )
            )
        case .zoneDeleted:
            // All of the query's records in that zone are gone; CloudKit names none then.
            .query(QueryNews(reason: CKQueryNotification.Reason.recordDeleted.rawValue))
        case .zones:
            // A database's notification names no zones: fetching its changes finds them.
            if let zone { .zone(CKRecordZoneID(zone)) } else { .database }
        }
    }
}

extension DatabaseScope {
    var scope: CKDatabase.Scope {
        switch self {
        case .public: .public
        case .private: .private
        case .shared: .shared
        }
    }
}
