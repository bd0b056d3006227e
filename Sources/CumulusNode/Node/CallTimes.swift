// How long calls took, counted in steps: for the distribution in /metrics and in the console.
//
// Held by `NodeMeter`; written by connections where a call ends, from their own threads. hot: once
// per call.

import Synchronization

package final class CallTimes: Sendable {
    private final class Counter: Sendable {
        let value = Atomic<Int>(0)
    }

    /// The ends of the steps, in microseconds; one more step holds all above the last.
    package static let bounds: [UInt64] = [
        100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 500_000, 2_500_000,
    ]

    private let counters: [Counter]
    private let sum = Atomic<UInt64>(0)

    init() {
        counters = (0...CallTimes.bounds.count).map { _ in Counter() }
    }

    func note(microseconds: UInt64) {
        let step = CallTimes.bounds.firstIndex { microseconds <= $0 } ?? CallTimes.bounds.count
        counters[step].value.add(1)
        sum.wrappingAdd(microseconds, ordering: .relaxed)
    }

    /// How many calls took as long as each step says, and no less.
    package var counts: [Int] { counters.map { $0.value.value } }

    /// Of all calls together.
    package var microseconds: UInt64 { sum.load(ordering: .relaxed) }
}
