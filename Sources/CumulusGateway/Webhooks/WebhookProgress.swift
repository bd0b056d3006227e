// How far a webhook has come: what of a page was sent and taken, when the next attempt is due, and
// when the feed is to be marked as read.
//
// Kept by `WebhookCourier` for as long as its node delivers. It is synchronous and does no I/O;
// what it forgets when the node ends, the webhook's mark in the store knows.

package import CumulusModel
package import CumulusWire

package struct WebhookProgress: Sendable {
    /// The token behind the last page that was taken as a whole; nil means that the mark was not
    /// asked yet.
    package private(set) var feed: Bytes?
    /// Notifications after `feed` that were taken, by their ids.
    private var taken: Set<String> = []
    /// The last notification that was sent about each record since the last finished page, whether
    /// or not the endpoint took it.
    private var sent: [Subject: FeedNotification] = [:]
    /// Whether anything was taken since the feed was marked as read.
    private var isMarkOwed = false
    /// Attempts since the last one that succeeded.
    package private(set) var failures = 0
    /// When the feed was marked as read, in milliseconds since 1970 UTC.
    private var marked: Int64?

    /// The pause after a first failure; it doubles with each further one.
    package static let firstPause: Int64 = 1_000
    package static let longestPause: Int64 = 300_000
    /// How old the mark of a feed without news may become, in milliseconds: a mark that is older
    /// than what feeds keep would make the next node reset the feed.
    package static let markInterval: Int64 = 3_600_000

    /// The subject of a notification: a record, by one subscription.
    private struct Subject: Hashable {
        var subscription: SubscriptionName
        var record: Record.ID

        /// nil if the notification is not about a record.
        init?(_ notification: FeedNotification) {
            guard case .record(let news) = notification.news else { return nil }
            subscription = notification.subscriptionName
            record = news.recordID
        }
    }

    package init() {}

    /// The mark is known.
    package mutating func begin(at feed: Bytes) { self.feed = feed }

    /// Whether the endpoint is still to be told.
    package func owes(_ notification: WebNotification) -> Bool {
        !taken.contains(notification.id)
    }

    /// The endpoint is about to be told, and may know of the record even if the attempt fails.
    package mutating func send(_ notification: FeedNotification) {
        if let subject = Subject(notification) { sent[subject] = notification }
    }

    /// Sent notifications about records that are missing from the page which was read again.
    package func untold(by page: WireFeedPage) -> [FeedNotification] {
        guard page.isCheckpoint else { return [] }
        let told = Set(page.notifications.compactMap(Subject.init))
        return sent.filter { !told.contains($0.key) }.map(\.value)
    }

    /// The endpoint has taken a notification.
    package mutating func take(_ notification: WebNotification) {
        taken.insert(notification.id)
        isMarkOwed = true
        failures = 0
    }

    /// An attempt has failed; returns the pause until the next one, in milliseconds.
    package mutating func fail() -> Int64 {
        failures += 1
        let doublings = min(failures - 1, 20)
        return min(WebhookProgress.firstPause << doublings, WebhookProgress.longestPause)
    }

    /// Whether the feed is to be marked as read up to a page whose notifications were all taken.
    ///
    /// A page in the middle of a read does not move the mark.
    package func isMarkDue(behind page: WireFeedPage, now: Int64) -> Bool {
        guard page.isCheckpoint else { return false }
        let isOld = marked.map { now - $0 >= WebhookProgress.markInterval } ?? true
        return isOld || isMarkOwed || page.reset != nil
    }

    /// The feed was marked as read.
    package mutating func mark(now: Int64) {
        marked = now
        isMarkOwed = false
    }

    /// All of a page was taken.
    package mutating func finish(_ page: WireFeedPage) {
        feed = page.token
        taken = []
        if page.isCheckpoint {
            sent = [:]
        } else {
            for subject in page.notifications.compactMap(Subject.init) { sent[subject] = nil }
        }
        failures = 0
    }
}
