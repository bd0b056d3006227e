// Counters side by side, and histograms of times made of them.
//
// Added to by any thread, without a lock: a time costs two additions. Read now and then by
// `Node+Metrics`, which may see one addition of a time before the other. hot: once per call.

import Synchronization

/// A fixed number of counters.
final class Counters: @unchecked Sendable {
    // The cells are atomic, and stay where they are until the end.
    private let cells: UnsafeMutableBufferPointer<Atomic<Int>>

    init(count: Int) {
        cells = .allocate(capacity: count)
        for index in 0..<count { cells.initializeElement(at: index, to: Atomic(0)) }
    }

    deinit {
        cells.deinitialize()
        cells.deallocate()
    }

    func add(_ amount: Int, at index: Int) {
        precondition(cells.indices.contains(index), "there is no counter \(index)")
        cells[index].add(amount)
    }

    func values(in range: Range<Int>) -> [Int] {
        range.map { index in
            precondition(cells.indices.contains(index), "there is no counter \(index)")
            return cells[index].value
        }
    }
}

/// How the counters of one histogram of times stand side by side: the sum of the times, then how
/// many were at most as long as each bound and longer than the one before.
enum TimeBuckets {
    /// In nanoseconds, two or three for each power of ten.
    ///
    /// They reach from a read that is in memory to a call that is near its deadline.
    static let bounds: [UInt64] = [
        100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000,
        50_000_000, 100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000,
        10_000_000_000,
    ]

    /// The last bucket holds the times beyond all bounds.
    static let size = 1 + bounds.count + 1

    static func add(_ nanoseconds: UInt64, to counters: Counters, from start: Int) {
        counters.add(Int(clamping: nanoseconds), at: start)
        let bucket = bounds.firstIndex { nanoseconds <= $0 } ?? bounds.count
        counters.add(1, at: start + 1 + bucket)
    }

    static func times(_ counters: Counters, from start: Int) -> Times {
        let values = counters.values(in: start..<start + size)
        return Times(sum: values[0], counts: Array(values.dropFirst()))
    }
}

/// What a histogram of times holds at one moment.
struct Times: Equatable {
    /// Nanoseconds.
    var sum: Int
    /// By bucket.
    var counts: [Int]

    var count: Int { counts.reduce(0, +) }
}

/// One histogram of times.
final class TimeHistogram: Sendable {
    private let counters = Counters(count: TimeBuckets.size)

    func note(nanoseconds: UInt64) {
        TimeBuckets.add(nanoseconds, to: counters, from: 0)
    }

    var times: Times { TimeBuckets.times(counters, from: 0) }
}
