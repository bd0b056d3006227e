// The order of writes, and the clock that makes it.

import CumulusModel
import CumulusTesting
import Testing

@Suite struct StampTests {
    private static func stamp(_ time: UInt64, _ incarnation: UInt64, _ seq: UInt64) -> Stamp {
        Stamp(HybridTime(time), Dot(Incarnation(incarnation), seq))
    }

    @Test func timeDecidesThenIncarnationThenNumber() {
        let ascending = [
            Stamp.zero, Self.stamp(0, 1, 0), Self.stamp(1, 9, 9), Self.stamp(2, 0, 5),
            Self.stamp(2, 1, 1), Self.stamp(2, 1, 2), Self.stamp(.max, 0, 0),
        ]
        for (left, right) in zip(ascending, ascending.dropFirst()) { #expect(left < right) }
        #expect(ascending.shuffled().sorted() == ascending)
    }

    @Test func aTimeHoldsMillisecondsAndACounter() {
        #expect(HybridTime(milliseconds: 1_750_000_000_123).milliseconds == 1_750_000_000_123)
        #expect(HybridTime(HybridTime(milliseconds: 5).value + 0xFFFF).milliseconds == 5)
        #expect(HybridTime(milliseconds: -1).value == 0)
    }

    @Test func theClockFollowsTheWallAndNeverGoesBack() {
        var clock = HybridClock(latest: HybridTime(0))
        #expect(clock.tick(now: 1_000) == HybridTime(milliseconds: 1_000))
        #expect(clock.tick(now: 1_000).value == HybridTime(milliseconds: 1_000).value + 1)
        #expect(clock.tick(now: 10).value == HybridTime(milliseconds: 1_000).value + 2)
        #expect(clock.tick(now: 1_001) == HybridTime(milliseconds: 1_001))
    }

    @Test func theClockPassesWhatItHasSeen() {
        var clock = HybridClock(latest: HybridTime(milliseconds: 50))
        clock.observe(HybridTime(milliseconds: 70))
        clock.observe(HybridTime(milliseconds: 60))
        #expect(clock.tick(now: 10).value == HybridTime(milliseconds: 70).value + 1)
    }

    @Test(arguments: UInt64(1)...4)
    func ticksAscendStrictlyWhateverTheWallClockDoes(seed: UInt64) {
        var dice = SeededGenerator(seed: seed)
        var clock = HybridClock(latest: HybridTime(0))
        var last = clock.latest
        for _ in 0..<1_000 {
            if Bool.random(using: &dice) {
                clock.observe(HybridTime(milliseconds: .random(in: 0...500, using: &dice)))
            }
            last = max(last, clock.latest)
            let now = Int64.random(in: -10...500, using: &dice)
            let next = clock.tick(now: now)
            #expect(next > last)
            #expect(next.milliseconds >= now)
            last = next
        }
    }
}
