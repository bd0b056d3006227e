// Delays of followers: a single change is told at once, the changes of a burst together.

import CumulusWire
import Testing

@testable import CumulusNode

@Suite struct PacingTests {
    private func time(_ milliseconds: Int64) -> Instant { Instant(milliseconds: milliseconds) }

    @Test func theFirstChangeIsToldAtOnce() {
        #expect(Pacing().readTime(now: time(5)) == time(5))
    }

    @Test func aBurstIsGathered() {
        var pacing = Pacing()
        pacing.told(now: time(100))
        #expect(pacing.readTime(now: time(100)) == time(102))
        #expect(pacing.readTime(now: time(119)) == time(121))
        pacing.told(now: time(121))
        #expect(pacing.readTime(now: time(122)) == time(124))
    }

    @Test func afterAPauseAChangeIsToldAtOnce() {
        var pacing = Pacing()
        pacing.told(now: time(100))
        #expect(pacing.readTime(now: time(120)) == time(120))
        #expect(pacing.readTime(now: time(10_000)) == time(10_000))
    }

    @Test func withoutAWindowNothingWaits() {
        var pacing = Pacing()
        pacing.window = 0
        pacing.told(now: time(100))
        #expect(pacing.readTime(now: time(101)) == time(101))
    }
}
