// Counts the gateway's requests: how many, with which status, and their durations.
//
// Written by `WebGateway` once per request, and by `HTTPServer` for requests that it refuses; read
// by `OperatorPages`. Few names are counted apart, whatever strangers ask for: endpoints that
// exist, and one for everything else.

import CoreMetrics
package import CumulusNode
import Synchronization

package final class WebMeter: Sendable {
    private struct Key: Hashable {
        var endpoint: String
        var status: Int
    }

    private struct Handles {
        var requests: [Key: Counter] = [:]
        var times: [String: Timer] = [:]
    }

    private static let elsewhere = "none"

    private let registry = PrometheusRegistry([.httpRequests, .httpTimes])
    private let handles = Mutex(Handles())

    package init() {}

    /// Counts a request that was answered.
    ///
    /// - Parameter endpoint: nil if its URL leads to none.
    package func note(_ endpoint: WebEndpoint?, status: Int, microseconds: UInt64) {
        note(endpoint?.rawValue ?? WebMeter.elsewhere, status: status, microseconds: microseconds)
    }

    /// The same of what is no endpoint, by its name.
    func note(_ name: String, status: Int, microseconds: UInt64) {
        let (counter, timer) = handles.withLock { handles -> (Counter, Timer) in
            let key = Key(endpoint: name, status: status)
            return (self.counter(key, &handles.requests), self.timer(name, &handles.times))
        }
        counter.increment()
        timer.recordMicroseconds(microseconds)
    }

    private func counter(_ key: Key, _ counters: inout [Key: Counter]) -> Counter {
        if let counter = counters[key] { return counter }
        let counter = Counter(
            label: MetricDescription.httpRequests.name,
            dimensions: [("endpoint", key.endpoint), ("status", "\(key.status)")],
            factory: registry
        )
        counters[key] = counter
        return counter
    }

    private func timer(_ endpoint: String, _ timers: inout [String: Timer]) -> Timer {
        if let timer = timers[endpoint] { return timer }
        let timer = Timer(
            label: MetricDescription.httpTimes.name,
            dimensions: [("endpoint", endpoint)],
            factory: registry
        )
        timers[endpoint] = timer
        return timer
    }

    // MARK: Reading

    /// The sums over all endpoints.
    struct Sums: Sendable {
        var requests = 0
        /// Requests with a status from 400 to 499.
        var refused = 0
        /// Requests with a status of 500 or more.
        var failed = 0
    }

    var sums: Sums {
        var sums = Sums()
        for sample in metrics[0].samples {
            let count = Int(sample.value)
            let status = sample.labels.first { $0.name == "status" }.flatMap { Int($0.value) } ?? 0
            sums.requests += count
            if status >= 500 { sums.failed += count }
            if (400..<500).contains(status) { sums.refused += count }
        }
        return sums
    }

    /// Requests by endpoint and status, and their times by endpoint.
    package var metrics: [MetricFamily] { registry.families }
}

extension MetricDescription {
    fileprivate static let httpRequests = MetricDescription(
        "cumulus_http_requests_total",
        .counter,
        "Requests that were answered, by endpoint and status."
    )
    fileprivate static let httpTimes = MetricDescription(
        "cumulus_http_request_duration_seconds",
        .histogram,
        "Time from a whole request to its answer.",
        bounds: [
            1_000_000, 5_000_000, 25_000_000, 100_000_000, 500_000_000, 2_500_000_000,
            10_000_000_000,
        ]
    )
}
