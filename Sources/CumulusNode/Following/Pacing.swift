// How soon a stream that is followed goes on after a ring of the bell: a change that comes alone
// at once, changes that come in a burst a few milliseconds later and together.
//
// Held by `OpenCall` for each follower. Synchronous, on the times that it is given.

import CumulusWire

struct Pacing: Sendable {
    /// How long the changes of a burst are gathered, in milliseconds.
    var window: Int64 = 2
    /// After so many milliseconds in which nothing was told, a change is no part of a burst.
    var quiet: Int64 = 20
    private var lastTold: Instant?

    /// A page was told.
    mutating func told(now: Instant) { lastTold = now }

    /// When the page is to be read that a ring calls for.
    func readTime(now: Instant) -> Instant {
        guard let lastTold, now - lastTold < quiet else { return now }
        return now + window
    }
}
