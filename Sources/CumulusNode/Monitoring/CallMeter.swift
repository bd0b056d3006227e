// Counts the calls of a node: by method and result code, with their durations.
//
// Written by `OpenCalls` when a call ends, or is refused before it begins. A call that is answered
// costs three additions and no lock; errors are counted behind one. hot: once per call.

import CoreMetrics
import CumulusModel
import CumulusWire
import Synchronization

final class CallMeter: Sendable {
    private struct Failure: Hashable {
        var row: Int
        var code: ServiceError.Code
    }

    private let factory: any MetricsFactory
    // A row for each number of a method; row 0 for methods that this release does not know.
    private let answered = LazyHandles<Counter>(count: rowCount)
    private let times = LazyHandles<Timer>(count: rowCount)
    private let failures = Mutex<[Failure: Counter]>([:])

    private static let rowCount = 1 + Int(Method.allCases.map(\.rawValue).max() ?? 0)

    init(_ factory: any MetricsFactory) {
        self.factory = factory
    }

    /// Counts a call that ended.
    ///
    /// - Parameters:
    ///   - method: nil means a method that this release does not know.
    ///   - code: nil means that the call was answered.
    ///   - nanoseconds: nil means that the time says nothing: the call never began, or its caller
    ///     decided how long it went on.
    func note(_ method: Method?, _ code: ServiceError.Code?, nanoseconds: UInt64?) {
        let row = Int(method?.rawValue ?? 0)
        if let code {
            failure(Failure(row: row, code: code), method).increment()
        } else {
            answered.handle(at: row) { counter(method, "ok") }.increment()
        }
        if let nanoseconds {
            times.handle(at: row) { timer(method) }
                .recordNanoseconds(Int64(clamping: nanoseconds))
        }
    }

    // MARK: Handles

    private func failure(_ failure: Failure, _ method: Method?) -> Counter {
        failures.withLock { failures in
            if let counter = failures[failure] { return counter }
            let counter = counter(method, "\(failure.code)")
            failures[failure] = counter
            return counter
        }
    }

    private func counter(_ method: Method?, _ code: String) -> Counter {
        Counter(
            label: MetricDescription.callsEnded.name,
            dimensions: [CallMeter.label(method), ("code", code)],
            factory: factory
        )
    }

    private func timer(_ method: Method?) -> Timer {
        Timer(
            label: MetricDescription.callTimes.name,
            dimensions: [CallMeter.label(method)],
            factory: factory
        )
    }

    private static func label(_ method: Method?) -> (String, String) {
        ("method", method?.protocolName ?? "unknown")
    }
}

/// A row of handles, each made at its first use: events that never happened are not shown.
private final class LazyHandles<Handle: AnyObject & Sendable>: @unchecked Sendable {
    // The slots are atomic, and stay where they are until the end.
    private let slots: UnsafeMutableBufferPointer<AtomicLazyReference<Handle>>

    init(count: Int) {
        slots = .allocate(capacity: count)
        for index in slots.indices { slots.initializeElement(at: index, to: .init()) }
    }

    deinit {
        slots.deinitialize()
        slots.deallocate()
    }

    /// - Parameter make: Two threads may call it at once; what one of them made is dropped.
    func handle(at index: Int, make: () -> Handle) -> Handle {
        precondition(slots.indices.contains(index), "there is no handle \(index)")
        if let handle = slots[index].load() { return handle }
        return slots[index].storeIfNil(make())
    }
}
