// How soon a followed stream reads after a ring of the bell. A single change is told at once; the
// changes of a burst are told together, a few milliseconds later.
//
// Held by `OpenCall` for each follower.

import CumulusWire

struct Pacing: Sendable {
    /// How long the changes of a burst are gathered, in milliseconds.
    var window: Int64 = 2
    /// A change is part of a burst if a page was told less than this many milliseconds before.
    var quiet: Int64 = 20
    private var lastTold: Instant?

    /// Notes that a page was told.
    mutating func told(now: Instant) { lastTold = now }

    /// When to read the next page after a ring.
    func readTime(now: Instant) -> Instant {
        guard let lastTold, now - lastTold < quiet else { return now }
        return now + window
    }
}
