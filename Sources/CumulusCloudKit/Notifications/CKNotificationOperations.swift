// The history of notifications, marks of read notifications, and the badge.
//
// Apple's CloudKit has dropped these operations; feeds offer what they need.

internal import Cumulus
internal import CumulusModel
internal import Foundation

/// Fetches the notifications of all subscriptions of the user since a token.
///
/// A notification that the user marked as read on any device has the type `readNotification`.
open class CKFetchNotificationChangesOperation: CKOperation, @unchecked Sendable {
    /// The token of the last fetch; nil means from the oldest notification that the server knows.
    @_Guarded public var previousServerChangeToken: CKServerChangeToken? = nil
    /// Has no effect: all notifications are fetched.
    @_Guarded public var resultsLimit = 0
    /// False: all notifications are fetched.
    public var moreComing: Bool { false }
    /// Called for each notification.
    @_Block
    public var notificationChangedBlock: ((CKNotification) -> Void)? = nil
    /// Called at the end, with the token for the next fetch.
    @_Block
    public var fetchNotificationChangesCompletionBlock:
        ((CKServerChangeToken?, (any Error)?) -> Void)? = nil

    @_Guarded private var token: CKServerChangeToken? = nil

    /// Fetches all notifications that the server knows.
    public override init() {}

    /// Fetches the notifications since a token.
    public convenience init(previousServerChangeToken: CKServerChangeToken?) {
        self.init()
        self.previousServerChangeToken = previousServerChangeToken
    }

    override func run() async throws {
        let client = try usedContainer.client.container()
        let subscriptions = SubscribedZones(client)
        let since = try previousServerChangeToken?.notifications()
        for try await page in client.notificationHistory(since: since) {
            for notification in page.notifications {
                let zone = await subscriptions.zone(of: notification)
                var payload = NotificationPayload(notification, subscribedZone: zone)
                payload.container = usedContainer.containerIdentifier
                notificationChangedBlock?(CKNotification.notification(payload))
            }
            if page.isUpToDate { token = CKServerChangeToken(page.token) }
        }
    }

    override func conclude(_ error: CKError?) {
        fetchNotificationChangesCompletionBlock?(token, error)
    }
}

/// Marks notifications as read, for all devices of the user.
open class CKMarkNotificationsReadOperation: CKOperation, @unchecked Sendable {
    /// The notifications to mark.
    @_Guarded public var notificationIDs: [CKNotification.ID] = []
    /// Called at the end, with the ids that were marked.
    @_Block
    public var markNotificationsReadCompletionBlock:
        (([CKNotification.ID]?, (any Error)?) -> Void)? = nil

    /// An operation without inputs.
    public override init() {}

    /// Marks these notifications.
    public convenience init(notificationIDsToMarkRead notificationIDs: [CKNotification.ID]) {
        self.init()
        self.notificationIDs = notificationIDs
    }

    override func run() async throws {
        let ids = notificationIDs.compactMap { FeedNotification.ID($0.text) }
        let client = usedContainer.client
        try await CallSettings.run(settings) {
            try await client.container().markNotificationsRead(ids)
        }
    }

    override func conclude(_ error: CKError?) {
        markNotificationsReadCompletionBlock?(error == nil ? notificationIDs : nil, error)
    }
}

/// Sets the number on the app's icon, which notifications with `shouldBadge` count up.
///
/// The number is kept in this process: `CKNotificationReceiver` counts on from it.
open class CKModifyBadgeOperation: CKOperation, @unchecked Sendable {
    /// The number.
    @_Guarded public var badgeValue = 0
    /// Called at the end.
    @_Block
    public var modifyBadgeCompletionBlock: (((any Error)?) -> Void)? = nil

    /// Sets the number to 0.
    public override init() {}

    /// Sets the number.
    public convenience init(badgeValue: Int) {
        self.init()
        self.badgeValue = badgeValue
    }

    override func run() async throws {
        usedContainer.client.setBadge(badgeValue)
    }

    override func conclude(_ error: CKError?) {
        modifyBadgeCompletionBlock?(error)
    }
}
