// What a node counts at one moment, as JSON for the console's plots.
//
// The same numbers as /metrics, with their names and what they mean; how long calls took, in steps;
// and what became of requests of web services.

import CumulusModel
package import CumulusNode

package struct LiveNumbers: Sendable {
    private let metrics: [MetricsText.Metric]
    /// By the steps of `CallTimes`.
    private let calls: [Int]
    private let web: WebMeter.Sums

    package init(of node: Node, _ meter: WebMeter) {
        metrics = MetricsText.metrics(of: node)
        calls = node.meter.callTimes.counts
        web = meter.sums
    }

    var members: [JSON.Member] {
        let list = metrics.map { metric -> JSON in
            [
                "name": .string(metric.name), "kind": .string(metric.kind.rawValue),
                "help": .string(metric.help), "value": .integer(Int64(metric.value)),
            ]
        }
        // The last step has no end.
        let bounds = CallTimes.bounds.map { JSON.count($0) } + [.null]
        let steps = zip(bounds, calls).map { bound, count -> JSON in
            ["microseconds": bound, "calls": .integer(Int64(count))]
        }
        return [
            .init("metrics", .array(list)), .init("steps", .array(steps)),
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
}
