// The progress of browsers' notifications in the memory of this node: how far each feed was read,
// and the notifications that were read and not delivered yet.
//
// `WebGateway` keeps it and `WebCourier` uses it. A feed is read a page at a time, and a browser
// gets one notification at a time: the others of a page wait here. After this node has forgotten a
// feed, it is told again from where the browser registered.

package import CumulusModel
import Synchronization

package final class CourierBoard: Sendable {
    private struct Entry {
        /// The feed's token behind all waiting notifications.
        var feed: Bytes
        var waiting: [WebNotification] = []
        var used: Int64
    }

    private struct State {
        var entries: [UInt64: Entry] = [:]
        /// The poll that waits, by the first station of its token.
        var polls: [UInt64: (number: UInt64, end: AsyncStream<Never>.Continuation)] = [:]
        var lastPoll: UInt64 = 0

        /// Forgets browsers that did not ask for long.
        mutating func makeRoom(now: Int64) {
            guard entries.count >= CourierBoard.mostEntries else { return }
            entries = entries.filter { now - $0.value.used < CourierBoard.time }
            guard entries.count >= CourierBoard.mostEntries else { return }
            let oldest = entries.min { ($0.value.used, $0.key) < ($1.value.used, $1.key) }
            if let oldest { entries[oldest.key] = nil }
        }
    }

    /// Notifications that wait for one browser; the oldest go.
    package static let mostWaiting = 100
    /// How long a browser is remembered that does not ask, in milliseconds.
    package static let time: Int64 = 24 * 3_600_000
    private static let mostEntries = 10_000

    private let state = Mutex(State())

    package init() {}

    // MARK: Feeds

    /// The token from which a station's feed goes on.
    package func feed(of station: CourierToken.Station) -> Bytes {
        state.withLock { $0.entries[station.id]?.feed } ?? station.feed
    }

    /// A page of a feed was taken.
    ///
    /// - Parameters:
    ///   - feed: The token behind the page.
    ///   - now: Milliseconds since 1970 UTC.
    package func take(
        _ notifications: [WebNotification],
        _ feed: Bytes,
        of station: CourierToken.Station,
        now: Int64
    ) {
        state.withLock { state in
            if state.entries[station.id] == nil { state.makeRoom(now: now) }
            var entry = state.entries[station.id] ?? Entry(feed: feed, used: now)
            entry.feed = feed
            entry.used = now
            entry.waiting += notifications
            entry.waiting.removeFirst(max(0, entry.waiting.count - CourierBoard.mostWaiting))
            state.entries[station.id] = entry
        }
    }

    /// The next notification of a station; it waits until its delivery is known.
    package func next(of station: CourierToken.Station) -> WebNotification? {
        state.withLock { $0.entries[station.id]?.waiting.first }
    }

    /// A browser was told a notification.
    package func told(_ notification: String, of station: UInt64) {
        state.withLock { state in
            guard state.entries[station]?.waiting.first?.id == notification else { return }
            state.entries[station]?.waiting.removeFirst()
        }
    }

    // MARK: Polls

    /// Begins a poll, and ends the one before it: a browser that asks again has given that up.
    ///
    /// - Returns: Ends when the next one begins.
    func begin(_ station: UInt64) -> (number: UInt64, replaced: AsyncStream<Never>) {
        let (stream, end) = AsyncStream<Never>.makeStream()
        let (number, older) = state.withLock { state in
            state.lastPoll += 1
            let older = state.polls.updateValue((state.lastPoll, end), forKey: station)
            return (state.lastPoll, older?.end)
        }
        older?.finish()
        return (number, stream)
    }

    func end(_ number: UInt64, _ station: UInt64) {
        state.withLock { state in
            if state.polls[station]?.number == number { state.polls[station] = nil }
        }
    }
}
