// What the gateway counts of requests: how many, with which status, and how long they took.
//
// Written by `WebGateway` once per request, read by `OperatorPages`. Few names are counted apart,
// whatever strangers ask for: endpoints that exist, and one for everything else.

package import CumulusNode
import Synchronization

package final class WebMeter: Sendable {
    private struct Key: Hashable {
        var endpoint: String
        var status: Int
    }

    private struct Times {
        /// Requests that took at most as long as each bound, and longer than the one before.
        var counts = [Int](repeating: 0, count: WebMeter.boundMicroseconds.count + 1)
        var microseconds: UInt64 = 0
    }

    private struct State {
        var requests: [Key: Int] = [:]
        var times: [String: Times] = [:]
    }

    private static let boundMicroseconds: [UInt64] = [
        1_000, 5_000, 25_000, 100_000, 500_000, 2_500_000, 10_000_000,
    ]
    private static let elsewhere = "none"

    private let state = Mutex(State())

    package init() {}

    /// Counts a request that was answered.
    ///
    /// - Parameter endpoint: nil if its URL leads to none.
    package func note(_ endpoint: WebEndpoint?, status: Int, microseconds: UInt64) {
        note(endpoint?.rawValue ?? WebMeter.elsewhere, status: status, microseconds: microseconds)
    }

    /// The same of what is no endpoint, by its name.
    func note(_ name: String, status: Int, microseconds: UInt64) {
        let place = WebMeter.boundMicroseconds.firstIndex { microseconds <= $0 }
        state.withLock { state in
            state.requests[Key(endpoint: name, status: status), default: 0] += 1
            let last = WebMeter.boundMicroseconds.count
            state.times[name, default: Times()].counts[place ?? last] += 1
            state.times[name, default: Times()].microseconds += microseconds
        }
    }

    /// What was counted of all endpoints together.
    struct Sums: Sendable {
        var requests = 0
        /// With a status from 400 to 499.
        var refused = 0
        /// With a status of 500 or more.
        var failed = 0
    }

    var sums: Sums {
        let state = state.withLock { $0 }
        var sums = Sums()
        for (key, count) in state.requests {
            sums.requests += count
            if key.status >= 500 { sums.failed += count }
            if (400..<500).contains(key.status) { sums.refused += count }
        }
        return sums
    }

    /// Requests by endpoint and status, and their times by endpoint.
    package var metrics: [MetricFamily] {
        let state = state.withLock { $0 }
        var requests = MetricFamily(
            "cumulus_http_requests_total",
            .counter,
            "Requests that were answered, by endpoint and status."
        )
        let counts = state.requests.sorted {
            ($0.key.endpoint, $0.key.status) < ($1.key.endpoint, $1.key.status)
        }
        for (key, count) in counts {
            requests.add(Double(count), ("endpoint", key.endpoint), ("status", "\(key.status)"))
        }
        var times = MetricFamily(
            "cumulus_http_request_duration_seconds",
            .histogram,
            "Time from a whole request to its answer."
        )
        for (endpoint, time) in state.times.sorted(by: { $0.key < $1.key }) {
            times.add(
                bounds: WebMeter.boundMicroseconds.map { Double($0) / 1e6 },
                counts: time.counts,
                sum: Double(time.microseconds) / 1e6,
                [("endpoint", endpoint)]
            )
        }
        return [requests, times]
    }
}
