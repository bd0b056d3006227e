// A token bucket: so many tokens come per second, up to a burst, and what happens costs tokens.
//
// A value without a clock: the time is a parameter. Its numbers are whole, so a rate is exact over
// any time. Held by `CallerUse`. hot: a few steps per call.

import CumulusWire

struct TokenBucket: Equatable, Sendable {
    /// Tokens that come per second; 0 means there is no limit.
    private let rate: Int
    /// Thousandths of a token that are kept at most.
    private let capacity: Int
    /// Thousandths of a token; below zero after more was spent than there was.
    private var level: Int
    private var time: Instant

    /// A full bucket.
    init(rate: Int, burst: Int, now: Instant) {
        self.rate = rate
        capacity = burst * 1_000
        level = capacity
        time = now
    }

    /// Milliseconds until so many tokens are there, 0 if they are.
    ///
    /// A cost above the burst is allowed when the bucket is full, and leaves a debt.
    mutating func wait(for cost: Int, now: Instant) -> Int64 {
        guard rate > 0 else { return 0 }
        refill(now)
        let missing = min(cost * 1_000, capacity) - level
        return missing > 0 ? Int64((missing + rate - 1) / rate) : 0
    }

    /// Takes tokens; the bucket may go into debt.
    mutating func spend(_ cost: Int) {
        if rate > 0 { level -= cost * 1_000 }
    }

    /// Whether it is as good as a new one.
    mutating func isFull(now: Instant) -> Bool {
        refill(now)
        return level == capacity
    }

    /// A token per second is a thousandth per millisecond.
    private mutating func refill(_ now: Instant) {
        guard rate > 0, now > time else { return }
        let milliseconds = now - time
        time = now
        // The product of a long rest would not fit into a number.
        let untilFull = Int64((capacity - level) / rate + 1)
        level = milliseconds >= untilFull ? capacity : level + Int(milliseconds) * rate
    }
}
