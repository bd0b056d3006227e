// What a node counts at one moment, as JSON for the console's plots.
//
// The same numbers as /metrics, with their names and what they mean; and how long requests of web
// services took, in the same steps.

import CumulusModel
package import CumulusNode

package struct LiveNumbers: Sendable {
    private let metrics: [MetricsText.Metric]
    private let web: WebMeter.Sums

    package init(of node: Node, _ meter: WebMeter) {
        metrics = MetricsText.metrics(of: node)
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
        let bounds = WebMeter.boundMicroseconds.map { JSON.count($0) } + [.null]
        let steps = zip(bounds, web.counts).map { bound, count -> JSON in
            ["microseconds": bound, "requests": .integer(Int64(count))]
        }
        return [
            .init("metrics", .array(list)),
            .init(
                "web",
                [
                    "requests": .integer(Int64(web.requests)),
                    "refused": .integer(Int64(web.refused)),
                    "failed": .integer(Int64(web.failed)),
                    "microseconds": .count(web.microseconds), "steps": .array(steps),
                ]
            ),
        ]
    }
}
