// How far a device has come: what is to be told with the next push, when that is due, and when the
// feed is to be marked as told.
//
// Kept by `PushCourier` for as long as its node pushes. It is synchronous and does no I/O; what it
// forgets when the node ends, the address's mark in the store knows.

package import CumulusModel
package import CumulusWire

package struct PushProgress: Sendable {
    /// The token behind everything that was told; nil means that the mark was not asked yet.
    package private(set) var feed: Bytes?
    /// What the pages since then tell that is worth a push.
    private var pending = Pending()
    /// The number on the app's icon.
    private var badge: Int64 = 0
    /// When the last push was sent, in milliseconds since 1970 UTC.
    private var pushed: Int64?
    /// When the feed was marked as told, or the courier began; the same unit.
    private var marked: Int64
    /// Whether anything was told since then.
    private var isMarkOwed = false
    /// When a mark that failed is tried again; the same unit.
    private var nextMark: Int64 = 0
    /// Marks that failed since the last one that did not.
    package private(set) var failedMarks = 0
    /// Attempts since the last one that succeeded.
    package private(set) var failures = 0
    /// Pushes in a row that the service will never take.
    private var refusals = 0
    /// When the first of them was refused; the same unit.
    private var refused: Int64 = 0
    /// Whether the service has refused any push since the courier began.
    package private(set) var wasRefused = false

    /// The least time between two pushes to a device, in milliseconds.
    package static let interval: Int64 = 1_000
    /// The pause after a first failure; it doubles with each further one.
    package static let firstPause: Int64 = 1_000
    package static let longestPause: Int64 = 300_000
    /// The longest pause that a service gets which asks for one.
    package static let longestWish: Int64 = 3_600_000
    /// An address is over after so many refusals in a row, if they took at least so long.
    package static let mostRefusals = 5
    package static let refusalTime: Int64 = 60_000
    /// How old a mark may become: older than what feeds keep would make the next node wake the
    /// device for nothing.
    package static let markInterval: Int64 = 3_600_000

    private struct Pending {
        /// The newest notification that shows something, or else the newest of all.
        var newest: FeedNotification?
        var count = 0
        var badges: Int64 = 0
        /// Whether any of them wakes the app.
        var wakes = false
        var reset: (what: FeedReset, token: Bytes)?
        /// When the oldest change happened, in milliseconds since 1970 UTC.
        var since: Int64?
    }

    /// - Parameters:
    ///   - now: Milliseconds since 1970 UTC.
    ///   - dice: A random number, so that not all devices are marked at the same time.
    package init(now: Int64, dice: UInt64) {
        marked = now - Int64(dice % UInt64(PushProgress.markInterval))
    }

    /// The mark is known.
    package mutating func begin(at feed: Bytes) { self.feed = feed }

    /// The feed is followed anew, from what was told.
    package mutating func restart() { pending = Pending() }

    /// A page has come.
    ///
    /// What the user has read elsewhere is not shown any more, but still wakes the app.
    ///
    /// - Parameter heedsReset: Whether a reset of the page is worth a push.
    package mutating func take(_ page: WireFeedPage, heedsReset: Bool = true) {
        for var notification in page.notifications {
            if notification.isRead { notification.notificationInfo?.hide() }
            guard let info = notification.notificationInfo, info.wakes else { continue }
            pending.count += 1
            if info.shouldBadge { pending.badges += 1 }
            if info.shouldSendContentAvailable { pending.wakes = true }
            let changed = notification.changedAt.millisecondsSince1970
            pending.since = min(changed, pending.since ?? changed)
            if info.shows || pending.newest?.notificationInfo?.shows != true {
                pending.newest = notification
            }
        }
        if heedsReset, let reset = page.reset { pending.reset = (reset, page.token) }
    }

    /// What is to be told; nil if nothing is worth a push.
    package var news: News? {
        guard pending.newest != nil || pending.reset != nil else { return nil }
        return News(
            notification: pending.newest,
            reset: pending.reset?.what,
            resetToken: pending.reset?.token ?? [],
            hasMore: pending.count > 1 || pending.newest != nil && pending.reset != nil,
            badge: badge + max(1, pending.badges),
            setsBadge: pending.badges > 0,
            wakes: pending.wakes || pending.reset != nil,
            since: pending.since
        )
    }

    package struct News: Hashable, Sendable {
        /// nil if there is only a reset.
        package var notification: FeedNotification?
        package var reset: FeedReset?
        package var resetToken: Bytes
        /// Whether it is not all that is told by the push.
        package var hasMore: Bool
        package var badge: Int64
        /// Whether the icon gets the number.
        package var setsBadge: Bool
        /// Whether the app is woken, whatever the device shows.
        package var wakes: Bool
        /// When the oldest change happened, in milliseconds since 1970 UTC.
        package var since: Int64?
    }

    /// How long the next push has to wait, in milliseconds; 0 if it is due.
    ///
    /// What changes meanwhile is told with it.
    package func wait(now: Int64) -> Int64 {
        guard let pushed, now >= pushed else { return 0 }
        return max(0, pushed + PushProgress.interval - now)
    }

    /// A push is about to be sent.
    package mutating func send(now: Int64) { pushed = now }

    /// The service has taken the push.
    package mutating func take() {
        badge += pending.badges
        isMarkOwed = true
        (failures, refusals) = (0, 0)
    }

    /// The service will never take the push; returns whether it takes none at this address.
    package mutating func refuse(now: Int64) -> Bool {
        isMarkOwed = true
        failures = 0
        wasRefused = true
        if refusals == 0 || now < refused { refused = now }
        refusals += 1
        return refusals >= PushProgress.mostRefusals && now - refused >= PushProgress.refusalTime
    }

    /// An attempt has failed; returns the pause until the next one, in milliseconds.
    ///
    /// - Parameters:
    ///   - wish: How long the service wants to be left alone.
    ///   - dice: A random number, so that not all devices come back at the same time.
    package mutating func fail(wish: Int64? = nil, dice: UInt64) -> Int64 {
        failures += 1
        let pause = PushProgress.pause(failures, dice)
        return max(pause, min(wish ?? 0, PushProgress.longestWish))
    }

    private static func pause(_ failures: Int, _ dice: UInt64) -> Int64 {
        let pause = min(firstPause << min(failures - 1, 20), longestPause)
        return pause / 2 + Int64(dice % UInt64(pause / 2 + 1))
    }

    /// Whether the feed is to be marked as told up to `feed`.
    package func isMarkDue(now: Int64) -> Bool {
        guard isMarkOwed || now - marked >= PushProgress.markInterval else { return false }
        // A clock that was set back holds nothing up.
        return now >= nextMark || nextMark - now > PushProgress.longestPause
    }

    /// How long to wait until a failed mark is tried again, in milliseconds; nil if no mark has
    /// failed.
    package func markPause(now: Int64) -> Int64? {
        guard isMarkOwed, failedMarks > 0 else { return nil }
        return min(max(nextMark - now, 0), PushProgress.longestPause)
    }

    /// The feed was marked as told.
    package mutating func mark(now: Int64) {
        marked = now
        isMarkOwed = false
        (nextMark, failedMarks) = (0, 0)
    }

    /// The node did not take the mark: it is owed, and nothing is pushed again because of it.
    package mutating func failMark(now: Int64, dice: UInt64) {
        isMarkOwed = true
        failedMarks += 1
        nextMark = now + PushProgress.pause(failedMarks, dice)
    }

    /// All up to a page was told; a page in the middle of a read ends nothing.
    package mutating func finish(_ page: WireFeedPage) {
        guard page.isCheckpoint else { return }
        feed = page.token
        pending = Pending()
        failures = 0
    }
}
