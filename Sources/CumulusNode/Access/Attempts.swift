// Limits attempts to sign in: a few at once, then ever more slowly.
//
// `Node` holds it; `SignInCalls` and `LocalEntrance` ask it. Each way to sign in has buckets of its
// own, so wrong passwords lock out no caller with a token. The buckets are in memory only: n nodes
// allow n times as many attempts, but a flood writes nothing. No bucket is per name alone, because
// a stranger could then lock a user out. The code is synchronous and works on the times that it is
// given.

import CumulusModel
import CumulusWire
import Synchronization

final class Attempts: Sendable {
    /// A way to get in.
    enum Way: Hashable, Sendable {
        /// A password of the user with that name or id.
        case password(of: Bytes)
        case registration
        case idToken
        /// Tokens of links can't be guessed either; counted because each may cost a hash.
        case resetLink
        /// Only wrong tokens are counted: tokens can't be guessed, and the right one always works.
        case operatorToken
    }

    /// The attempts from one address that are counted together.
    private enum Kind: Hashable {
        /// All passwords, without the passwords of users who signed in from there before.
        case passwords
        case way(Way)

        var rule: Rule {
            switch self {
            case .way(.password), .way(.registration): .strict
            case .passwords, .way(.idToken), .way(.resetLink), .way(.operatorToken): .shared
            }
        }
    }

    private struct Key: Hashable {
        var kind: Kind
        /// The network, as `CallerNetwork` gives it.
        var network: Bytes
    }

    private struct State {
        var buckets: [Key: Bucket] = [:]

        /// Forgets all but the newest so many.
        mutating func forget(allBut kept: Int) {
            let newest = buckets.sorted { $0.value.last > $1.value.last }.prefix(kept)
            buckets = Dictionary(uniqueKeysWithValues: newest.map { ($0.key, $0.value) })
        }

        /// The buckets that an attempt is taken from.
        func keys(_ way: Way, _ address: Bytes) -> [Key] {
            let network = CallerNetwork.of(address)
            let own = Key(kind: .way(way), network: network)
            guard case .password = way, buckets[own]?.hasSucceeded != true else { return [own] }
            return [Key(kind: .passwords, network: network), own]
        }
    }

    private let state = Mutex(State())
    /// Beyond so many, those are forgotten that have not tried for longest.
    private let mostBuckets: Int

    init(mostBuckets: Int = 20_000) {
        self.mostBuckets = mostBuckets
    }

    /// Counts an attempt; throws if there were too many.
    ///
    /// - Parameter address: The caller's address, 4 or 16 bytes.
    func begin(_ way: Way, from address: Bytes, now: Instant) throws(ServiceError) {
        let wait = state.withLock { state -> Int64? in
            if state.buckets.count >= mostBuckets { state.forget(allBut: mostBuckets / 2) }
            let keys = state.keys(way, address)
            let wait = keys.compactMap { state.buckets[$0]?.wait(now: now) }.max()
            if let wait { return wait }
            for key in keys {
                state.buckets[key, default: Bucket(key.kind.rule, now: now)].take(now: now)
            }
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
    ///
    /// Counts the user's later passwords from this address apart from the passwords of others.
    func succeed(_ way: Way, from address: Bytes) {
        state.withLock { state in
            for key in state.keys(way, address) {
                switch key.kind {
                case .way(.password): state.buckets[key]?.succeed()
                case .passwords, .way: state.buckets[key]?.giveBack()
                }
            }
        }
    }

    /// How many attempts a bucket holds, and when further ones come.
    private struct Rule {
        var most: Int64
        /// Milliseconds until the first further one; doubled whenever none is left.
        var shortest: Int64
        var longest: Int64

        /// The rule for the passwords of one user, and for registrations.
        static let strict = Rule(most: 10, shortest: 10_000, longest: 900_000)
        /// The rule for all callers behind one address: a few must not stop the others for long.
        static let shared = Rule(most: 30, shortest: 10_000, longest: 60_000)
    }

    /// A number of attempts, and one more after a while that doubles whenever none is left.
    private struct Bucket {
        private let rule: Rule
        private var left: Int64
        /// Milliseconds until there is one more.
        private var interval: Int64
        private(set) var last: Instant
        private var wasEmpty = false
        private(set) var hasSucceeded = false

        init(_ rule: Rule, now: Instant) {
            self.rule = rule
            left = rule.most
            interval = rule.shortest
            last = now
        }

        /// How many are left at a time.
        private func left(now: Instant) -> Int64 {
            min(rule.most, left + (now - last) / interval)
        }

        /// Milliseconds until there is one; nil: now.
        func wait(now: Instant) -> Int64? {
            left(now: now) > 0 ? nil : max(1, interval - (now - last))
        }

        mutating func take(now: Instant) {
            let gained = left(now: now)
            if gained == rule.most {
                refill()
                last = now
            }
            // The part of the next interval that has passed still counts.
            if gained != left { last = last + (gained - left) * interval }
            left = gained - 1
            guard left == 0 else { return }
            last = now
            if wasEmpty { interval = min(2 * interval, rule.longest) }
            wasEmpty = true
        }

        mutating func giveBack() {
            left = min(rule.most, left + 1)
        }

        /// All attempts are there again.
        mutating func succeed() {
            refill()
            hasSucceeded = true
        }

        private mutating func refill() {
            left = rule.most
            interval = rule.shortest
            wasEmpty = false
        }
    }
}
