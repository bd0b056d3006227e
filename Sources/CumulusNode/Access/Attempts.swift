// How often somebody may try a password: ten times at once, then ever more slowly, counted per name
// and address and per address.
//
// Held by `Node`, asked by `SignInCalls`. In memory only: n nodes allow n times as many, but a
// flood writes nothing. Not per name alone: a stranger could shut somebody out. Synchronous, on the
// times that it is given.

import CumulusModel
import CumulusWire
import Synchronization

final class Attempts: Sendable {
    private struct State {
        var buckets: [Key: Bucket] = [:]

        /// Forgets all but the newest so many.
        mutating func forget(allBut kept: Int) {
            let newest = buckets.sorted { $0.value.last > $1.value.last }.prefix(kept)
            buckets = Dictionary(uniqueKeysWithValues: newest.map { ($0.key, $0.value) })
        }
    }

    /// Who tries: an address, and a name or an id if it is about one user.
    private struct Key: Hashable {
        var user: Bytes
        var address: Bytes
    }

    private let state = Mutex(State())
    /// Beyond so many, those are forgotten that have not tried for longest.
    private let mostBuckets: Int

    init(mostBuckets: Int = 20_000) {
        self.mostBuckets = mostBuckets
    }

    /// Counts an attempt; throws if there were too many.
    ///
    /// - Parameters:
    ///   - user: Its name, or its id; empty if the attempt is about no user.
    ///   - address: Of the caller, 4 or 16 bytes.
    func begin(_ user: Bytes, from address: Bytes, now: Instant) throws(ServiceError) {
        let wait = state.withLock { state -> Int64? in
            if state.buckets.count >= mostBuckets { state.forget(allBut: mostBuckets / 2) }
            let keys = Attempts.keys(user, address)
            let wait = keys.compactMap { state.buckets[$0]?.wait(now: now) }.max()
            if let wait { return wait }
            for key in keys { state.buckets[key, default: Bucket(now: now)].take(now: now) }
            return nil
        }
        guard let wait else { return }
        var error = ServiceError(
            .requestRateLimited,
            "too many attempts to sign in; try again in \((wait + 999) / 1_000) seconds"
        )
        error.retryAfterMilliseconds = UInt32(clamping: wait)
        throw error
    }

    /// The attempt succeeded: it was no guess.
    func succeed(_ user: Bytes, from address: Bytes) {
        state.withLock { state in
            for key in Attempts.keys(user, address) {
                if key.user.isEmpty {
                    state.buckets[key]?.giveBack()
                } else {
                    state.buckets[key] = nil
                }
            }
        }
    }

    private static func keys(_ user: Bytes, _ address: Bytes) -> [Key] {
        let network = network(of: address)
        let whole = Key(user: [], address: network)
        return user.isEmpty ? [whole] : [whole, Key(user: user, address: network)]
    }

    /// What one caller can't change at will: an IPv4 address, or the first half of an IPv6 one.
    private static func network(of address: Bytes) -> Bytes {
        guard address.count == 16 else { return address }
        let isMapped = address.prefix(12) == Bytes(repeating: 0, count: 10) + [0xFF, 0xFF]
        return Bytes(isMapped ? address.suffix(4) : address.prefix(8))
    }

    /// So many attempts, and one more after a while that doubles whenever none is left.
    private struct Bucket {
        private static let most: Int64 = 10
        private static let shortest: Int64 = 10_000
        private static let longest: Int64 = 900_000
        private var left = most
        /// Milliseconds until there is one more.
        private var interval = shortest
        private(set) var last: Instant
        private var wasEmpty = false

        init(now: Instant) {
            last = now
        }

        /// How many are left at a time.
        private func left(now: Instant) -> Int64 {
            min(Bucket.most, left + (now - last) / interval)
        }

        /// Milliseconds until there is one; nil: now.
        func wait(now: Instant) -> Int64? {
            left(now: now) > 0 ? nil : max(1, interval - (now - last))
        }

        mutating func take(now: Instant) {
            let gained = left(now: now)
            if gained == Bucket.most { self = Bucket(now: now) }
            // What has passed of the next interval counts on.
            if gained != left { last = last + (gained - left) * interval }
            left = gained - 1
            guard left == 0 else { return }
            last = now
            if wasEmpty { interval = min(2 * interval, Bucket.longest) }
            wasEmpty = true
        }

        mutating func giveBack() {
            left = min(Bucket.most, left + 1)
        }
    }
}
