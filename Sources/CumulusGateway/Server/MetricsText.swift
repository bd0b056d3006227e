// What a node counts, in the text form that Prometheus reads.
//
// Names end in their unit, and in `_total` where they only grow.

package import CumulusNode

package enum MetricsText {
    package enum Kind: String {
        case counter
        case gauge
    }

    /// One number with its name and what it means.
    package struct Metric {
        var name: String
        var kind: Kind
        var help: String
        var value: Int

        package init(_ name: String, _ kind: Kind, _ help: String, _ value: Int) {
            self.name = name
            self.kind = kind
            self.help = help
            self.value = value
        }
    }

    package static func of(_ node: Node) -> String {
        let times = node.meter.callTimes
        return text(metrics(of: node)) + callSeconds(times.counts, microseconds: times.microseconds)
    }

    /// How long calls took.
    ///
    /// - Parameter counts: Calls by the steps of `CallTimes`.
    package static func callSeconds(_ counts: [Int], microseconds: UInt64) -> String {
        let name = "cumulus_call_seconds"
        var lines = [
            "# HELP \(name) Time from a call to the end of its answer, but for endless streams.",
            "# TYPE \(name) histogram",
        ]
        var sum = 0
        for (index, count) in counts.enumerated() {
            sum += count
            let isLast = index == CallTimes.bounds.count
            let bound = isLast ? "+Inf" : "\(Double(CallTimes.bounds[index]) / 1_000_000)"
            lines.append(#"\#(name)_bucket{le="\#(bound)"} \#(sum)"#)
        }
        lines += ["\(name)_sum \(Double(microseconds) / 1_000_000)", "\(name)_count \(sum)"]
        return lines.joined(separator: "\n") + "\n"
    }

    static func metrics(of node: Node) -> [Metric] {
        let meter = node.meter
        return [
            Metric(
                "cumulus_ready",
                .gauge,
                "1 if the node is ready, 0 if not.",
                node.state == "ready" ? 1 : 0
            ),
            Metric(
                "cumulus_connections",
                .gauge,
                "Connections of callers, also those inside this process.",
                meter.connections.value
            ),
            Metric("cumulus_calls_total", .counter, "Calls that began.", meter.calls.value),
            Metric(
                "cumulus_calls_in_progress",
                .gauge,
                "Calls that began and have not ended.",
                meter.callsInProgress.value
            ),
            Metric(
                "cumulus_failed_calls_total",
                .counter,
                "Calls that ended with an error, but for those that were cancelled.",
                meter.failedCalls.value
            ),
            Metric(
                "cumulus_held_bytes",
                .gauge,
                "Bytes of requests in progress and of answers that were not taken yet.",
                meter.heldBytes.value
            ),
            Metric("cumulus_commits_total", .counter, "Commits made here.", meter.commits.value),
            Metric("cumulus_flushes_total", .counter, "Flushes to disk.", meter.flushes.value),
            Metric(
                "cumulus_received_commits_total",
                .counter,
                "Commits that other nodes sent.",
                meter.receivedCommits.value
            ),
            Metric(
                "cumulus_engine_calls_total",
                .counter,
                "Reads and writes that reached the store.",
                meter.engineCalls.value
            ),
            Metric(
                "cumulus_damaged_rows_total",
                .counter,
                "Rows that were found damaged.",
                meter.damagedRows.value
            ),
        ]
    }

    package static func text(_ metrics: [Metric]) -> String {
        metrics.map { metric in
            """
            # HELP \(metric.name) \(metric.help)
            # TYPE \(metric.name) \(metric.kind.rawValue)
            \(metric.name) \(metric.value)

            """
        }.joined()
    }
}
