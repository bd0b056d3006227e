// The cells behind metrics: a count, a gauge, a sum of values, a histogram of times.
//
// Made by `PrometheusRegistry` and added to by any thread through the handles of swift-metrics,
// without a lock. A reader may see one of the two additions of a value before the other.
// hot: once per call.

import CoreMetrics
import Synchronization

/// The numbers of one series.
protocol MetricCell: AnyObject, Sendable {
    /// Adds its samples to a family.
    func write(to family: inout MetricFamily, _ labels: [MetricFamily.Label])
}

final class CountCell: MetricCell, CounterHandler {
    private let count = Atomic<Int>(0)

    var value: Int { count.value }

    func increment(by amount: Int64) { count.add(Int(amount)) }

    func reset() { count.store(0, ordering: .relaxed) }

    func write(to family: inout MetricFamily, _ labels: [MetricFamily.Label]) {
        family.add(Double(value), labels)
    }
}

final class GaugeCell: MetricCell, RecorderHandler, MeterHandler {
    private let current = AtomicDouble()

    func record(_ value: Int64) { current.value = Double(value) }

    func record(_ value: Double) { current.value = value }

    func set(_ value: Int64) { current.value = Double(value) }

    func set(_ value: Double) { current.value = value }

    func increment(by amount: Double) { current.add(amount) }

    func decrement(by amount: Double) { current.add(-amount) }

    func write(to family: inout MetricFamily, _ labels: [MetricFamily.Label]) {
        family.add(current.value, labels)
    }
}

/// How many values there were, and their sum: which buckets would suit them is not known.
final class SummaryCell: MetricCell, RecorderHandler {
    private let count = Atomic<Int>(0)
    private let sum = AtomicDouble()

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        sum.add(value)
        count.add(1)
    }

    func write(to family: inout MetricFamily, _ labels: [MetricFamily.Label]) {
        family.add(count: count.value, sum: sum.value, labels)
    }
}

/// A histogram of times; a time costs two additions.
final class TimesCell: MetricCell, TimerHandler, @unchecked Sendable {
    /// Nanoseconds, ascending.
    private let bounds: [UInt64]
    /// The sum of the times in nanoseconds, then how many were at most as long as each bound and
    /// longer than the one before, then those beyond all bounds.
    ///
    /// They are atomic, and stay where they are until the end.
    private let cells: UnsafeMutableBufferPointer<Atomic<Int>>

    init(bounds: [UInt64]) {
        self.bounds = bounds
        cells = .allocate(capacity: bounds.count + 2)
        for index in cells.indices { cells.initializeElement(at: index, to: Atomic(0)) }
    }

    deinit {
        cells.deinitialize()
        cells.deallocate()
    }

    func recordNanoseconds(_ duration: Int64) {
        cells[0].add(Int(max(0, duration)))
        let bucket = bounds.firstIndex { duration <= $0 } ?? bounds.count
        cells[1 + bucket].add(1)
    }

    func write(to family: inout MetricFamily, _ labels: [MetricFamily.Label]) {
        family.add(
            bounds: bounds.map { Double($0) / 1e9 },
            counts: (1..<cells.count).map { cells[$0].value },
            sum: Double(cells[0].value) / 1e9,
            labels
        )
    }
}

private final class AtomicDouble: Sendable {
    private let bits = Atomic<UInt64>(0)

    var value: Double {
        get { Double(bitPattern: bits.load(ordering: .relaxed)) }
        set { bits.store(newValue.bitPattern, ordering: .relaxed) }
    }

    func add(_ amount: Double) {
        var old = bits.load(ordering: .relaxed)
        while true {
            let new = (Double(bitPattern: old) + amount).bitPattern
            let (isDone, now) = bits.weakCompareExchange(
                expected: old,
                desired: new,
                ordering: .relaxed
            )
            if isDone { return }
            old = now
        }
    }
}
