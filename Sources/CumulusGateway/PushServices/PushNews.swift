// What a device is told in one push, in the form of CloudKit's: `aps` and `ck`.
//
// Made by `PushCourier` of what a feed tells. A push tells the newest of several notifications, and
// says by `p` that there is more: the app fetches it. What is too large for a service loses parts,
// in CloudKit's order.

package import CumulusModel

package struct PushNews: Hashable, Sendable {
    package enum Subject: Hashable, Sendable {
        /// - Parameter isWide: Its subscription is one to a whole database.
        case notification(FeedNotification, isWide: Bool)
        /// The feed can't tell all that happened.
        ///
        /// - Parameter token: The token of the page that says so.
        case reset(FeedReset, token: Bytes)
    }

    package var subject: Subject
    package var container: String
    /// User record name.
    package var user: String
    /// Whether other notifications are told with it.
    package var hasMore: Bool
    /// The number on the app's icon.
    package var badge: Int64
    /// Whether a notification that is told with it sets the number.
    package var setsBadge: Bool
    /// Whether a notification that is told with it wakes the app.
    package var wakes: Bool

    package init(
        _ subject: Subject,
        container: String,
        user: String,
        hasMore: Bool = false,
        badge: Int64 = 1,
        setsBadge: Bool = false,
        wakes: Bool = false
    ) {
        self.subject = subject
        self.container = container
        self.user = user
        self.hasMore = hasMore
        self.badge = badge
        self.setsBadge = setsBadge
        self.wakes = wakes
    }

    /// What stands in a push.
    struct Content: Sendable {
        var info: Subscription.NotificationInfo
        var aps: JSON
        var ck: JSON

        /// Whether the device shows or plays anything by itself.
        var isShown: Bool { info.shows }

        /// The text of both parts.
        var text: Bytes {
            JSON.object([JSON.Member("aps", aps), JSON.Member("ck", ck)]).bytes
        }
    }

    /// The same for each attempt to tell it.
    package var id: String {
        switch subject {
        case .notification(let notification, _): notification.id.description
        case .reset(_, let token): WebNotification.id(ofReset: token)
        }
    }

    /// Makes a body of the content, which loses parts until the body has at most so many bytes.
    func body(limit: Int, _ make: (Content) -> Bytes) -> (body: Bytes, content: Content) {
        let content: Content
        switch subject {
        case .notification(var notification, let isWide):
            notification.prune { make(self.content($0, isWide: isWide)).count > limit }
            content = self.content(notification, isWide: isWide)
        case .reset(let reset, let token):
            let whole = self.content(reset, token)
            content = make(whole).count > limit ? self.content(.all, token) : whole
        }
        return (make(content), content)
    }

    private func content(_ reset: FeedReset, _ token: Bytes) -> Content {
        var info = Subscription.NotificationInfo()
        info.shouldSendContentAvailable = true
        return Content(
            info: info,
            aps: WebNotification.aps(info),
            ck: WebNotification.ck(reset, token, in: container)
        )
    }

    private func content(_ notification: FeedNotification, isWide: Bool) -> Content {
        var info = notification.notificationInfo ?? Subscription.NotificationInfo()
        if setsBadge { info.shouldBadge = true }
        // A push that shows nothing is there to wake the app.
        if wakes || !info.shows { info.shouldSendContentAvailable = true }
        return Content(
            info: info,
            aps: WebNotification.aps(info, badge: badge),
            ck: ck(notification, isWide: isWide)
        )
    }

    private func ck(_ notification: FeedNotification, isWide: Bool) -> JSON {
        var notification = notification
        if case .zones(let zones, let more) = notification.news, zones.count > 1 || more {
            notification.isPruned = true
        }
        if hasMore { notification.isPruned = true }
        return WebNotification.parts(notification, in: container, user: user, isWide: isWide)
            .first?.ck ?? .object([])
    }
}

extension Subscription.NotificationInfo {
    /// Whether a device shows or plays anything by itself.
    package var shows: Bool {
        let texts = [
            alertBody, alertLocalizationKey, title, titleLocalizationKey, subtitle,
            subtitleLocalizationKey, soundName,
        ]
        return shouldBadge || texts.contains { $0 != nil }
    }

    /// Whether a push is sent for it: it shows something, or wakes the app.
    package var wakes: Bool { shows || shouldSendContentAvailable }

    /// Keeps only whether it wakes the app.
    mutating func hide() {
        var rest = Subscription.NotificationInfo()
        rest.shouldSendContentAvailable = shouldSendContentAvailable
        self = rest
    }
}
