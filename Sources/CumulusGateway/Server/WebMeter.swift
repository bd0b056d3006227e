// What the gateway counts of requests: how many, with which status, and how long they took.
//
// Written by `WebGateway` once per request, read by `OperatorPages`. Few names are counted apart,
// whatever strangers ask for: endpoints that exist, and one for everything else.

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
        1_000, 5_000, 25_000, 100_000, 500_000, 2_500_000,
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

    /// In the text form that Prometheus reads.
    package var text: String {
        let state = state.withLock { $0 }
        let requests = state.requests.sorted {
            ($0.key.endpoint, $0.key.status) < ($1.key.endpoint, $1.key.status)
        }
        var lines = [
            "# HELP cumulus_http_requests_total Requests, by endpoint and status.",
            "# TYPE cumulus_http_requests_total counter",
        ]
        for (key, count) in requests {
            let labels = #"endpoint="\#(key.endpoint)",status="\#(key.status)""#
            lines.append("cumulus_http_requests_total{\(labels)} \(count)")
        }
        lines += [
            "# HELP cumulus_http_request_seconds Time from a whole request to its answer.",
            "# TYPE cumulus_http_request_seconds histogram",
        ]
        for (endpoint, times) in state.times.sorted(by: { $0.key < $1.key }) {
            lines += WebMeter.lines(of: times, endpoint)
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func lines(of times: Times, _ endpoint: String) -> [String] {
        let name = "cumulus_http_request_seconds"
        var sum = 0
        var lines: [String] = []
        for (index, count) in times.counts.enumerated() {
            sum += count
            let isLast = index == boundMicroseconds.count
            let bound = isLast ? "+Inf" : "\(Double(boundMicroseconds[index]) / 1_000_000)"
            lines.append(#"\#(name)_bucket{endpoint="\#(endpoint)",le="\#(bound)"} \#(sum)"#)
        }
        let seconds = Double(times.microseconds) / 1_000_000
        lines.append(#"\#(name)_sum{endpoint="\#(endpoint)"} \#(seconds)"#)
        lines.append(#"\#(name)_count{endpoint="\#(endpoint)"} \#(sum)"#)
        return lines
    }
}
