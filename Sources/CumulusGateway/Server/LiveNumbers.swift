// A node's counters at one moment, as JSON for the console's plots.
//
// The same numbers as /metrics, each summed over its labels, with their names and what they mean;
// how long calls took, in steps; and what became of calls and of requests of web services.

import CumulusModel
package import CumulusNode

package struct LiveNumbers: Sendable {
    private let metrics: [MetricFamily]
    private let web: WebMeter.Sums

    package init(of node: Node, _ meter: WebMeter) {
        metrics = node.metrics(nil)
        web = meter.sums
    }

    var members: [JSON.Member] {
        let list = metrics.filter { $0.kind != .histogram && !$0.samples.isEmpty }
            .map { metric -> JSON in
                [
                    "name": .string(metric.name), "kind": .string(metric.kind.rawValue),
                    "help": .string(metric.help), "value": .decimal(metric.sum),
                ]
            }
        return [
            .init("metrics", .array(list)), .init("steps", .array(steps)),
            .init("failed", .integer(failedCalls)),
            .init(
                "web",
                [
                    "requests": .integer(Int64(web.requests)),
                    "refused": .integer(Int64(web.refused)),
                    "failed": .integer(Int64(web.failed)),
                ]
            ),
        ]
    }

    /// Calls that ended with an error, without calls that their callers cancelled.
    private var failedCalls: Int64 {
        let ended = metrics.first { $0.name == "cumulus_calls_total" }?.samples ?? []
        let failed = ended.filter { sample in
            sample.labels.contains {
                $0.name == "code" && $0.value != "ok" && $0.value != "operationCancelled"
            }
        }
        return Int64(failed.reduce(0) { $0 + $1.value })
    }

    /// How many calls took at most so long, and longer than the step before; the last has no end.
    private var steps: [JSON] {
        var sums: [(end: Double?, calls: Double)] = []
        let times = metrics.first { $0.name == "cumulus_call_duration_seconds" }?.samples ?? []
        for sample in times where sample.suffix == "_bucket" {
            let end = sample.labels.first { $0.name == "le" }.flatMap { Double($0.value) }
            let bound = end == .infinity ? nil : end
            if let index = sums.firstIndex(where: { $0.end == bound }) {
                sums[index].calls += sample.value
            } else {
                sums.append((bound, sample.value))
            }
        }
        var before = 0.0
        return sums.map { end, calls in
            defer { before = calls }
            return [
                "microseconds": end.map { .integer(Int64(($0 * 1e6).rounded())) } ?? .null,
                "calls": .integer(Int64(calls - before)),
            ]
        }
    }
}

extension MetricFamily {
    fileprivate var sum: Double { samples.reduce(0) { $0 + $1.value } }
}
