// The rules of a token bucket, with made time.

import CumulusWire
import Testing

@testable import CumulusNode

@Suite struct TokenBucketTests {
    private static let start = Instant(milliseconds: 1_000_000)

    private func bucket(rate: Int, burst: Int) -> TokenBucket {
        TokenBucket(rate: rate, burst: burst, now: Self.start)
    }

    /// Takes tokens if they are there; returns how long to wait for them.
    private func take(_ cost: Int, from bucket: inout TokenBucket, after time: Int64) -> Int64 {
        let wait = bucket.wait(for: cost, now: Self.start + time)
        if wait == 0 { bucket.spend(cost) }
        return wait
    }

    @Test func aBurstIsThereAtOnceAndNoMore() {
        var bucket = bucket(rate: 10, burst: 3)
        let waits = (0..<4).map { _ in take(1, from: &bucket, after: 0) }
        #expect(waits == [0, 0, 0, 100])
    }

    @Test func theWaitThatIsNamedIsTheShortest() {
        var bucket = bucket(rate: 3, burst: 1)
        #expect(take(1, from: &bucket, after: 0) == 0)
        #expect(take(1, from: &bucket, after: 0) == 334)
        #expect(take(1, from: &bucket, after: 333) == 1)
        #expect(take(1, from: &bucket, after: 334) == 0)
    }

    /// Parts of a token are not lost, however often the bucket is asked.
    @Test func theRateIsExact() {
        var bucket = bucket(rate: 7, burst: 2)
        var taken = 0
        for time in 1...60_000 as ClosedRange<Int64>
        where take(1, from: &bucket, after: time) == 0 {
            taken += 1
        }
        // 2 were there, and a minute brings 420, but for what the first millisecond found no room
        // for.
        #expect(taken == 421)
    }

    @Test func noMoreThanTheBurstIsKept() {
        var bucket = bucket(rate: 1_000, burst: 2)
        let afterAYear: Int64 = 365 * 86_400_000
        let waits = (0..<3).map { _ in take(1, from: &bucket, after: afterAYear) }
        #expect(waits == [0, 0, 1])
    }

    @Test func whatCostsMoreThanTheBurstLeavesADebt() {
        var bucket = bucket(rate: 100, burst: 10)
        #expect(take(50, from: &bucket, after: 0) == 0)
        // 40 are owed, and one is to be there.
        #expect(take(1, from: &bucket, after: 0) == 410)
        #expect(take(1, from: &bucket, after: 410) == 0)
        #expect(take(50, from: &bucket, after: 410) == 100)
        #expect(take(50, from: &bucket, after: 510) == 0)
    }

    @Test func theLongestRestAndTheLargestNumbersFit() {
        var bucket = bucket(rate: 1 << 40, burst: 5 << 40)
        bucket.spend(9 << 40)
        #expect(bucket.wait(for: 0, now: Self.start) == 4_000)
        #expect(bucket.wait(for: 5 << 40, now: Instant(milliseconds: .max / 2)) == 0)
    }

    @Test func aClockThatStandsBehindBringsNothing() {
        var bucket = bucket(rate: 1_000, burst: 1)
        #expect(take(1, from: &bucket, after: 0) == 0)
        #expect(take(1, from: &bucket, after: -500) == 1)
    }

    @Test func withoutARateThereIsNoLimit() {
        var bucket = bucket(rate: 0, burst: 0)
        let waits = (0..<1_000).map { _ in take(1_000, from: &bucket, after: 0) }
        #expect(waits.allSatisfy { $0 == 0 })
        let isFull = bucket.isFull(now: Self.start)
        #expect(isFull)
    }

    @Test func aBucketIsAsGoodAsNewWhenItIsFull() {
        var bucket = bucket(rate: 10, burst: 5)
        bucket.spend(1)
        let early = bucket.isFull(now: Self.start + 99)
        let onTime = bucket.isFull(now: Self.start + 100)
        #expect(!early && onTime)
    }
}
