// What a node counts of webhooks: notifications that were taken, attempts that failed, and for how
// long the oldest one at hand has been waiting.
//
// Written by `WebhookCourier`, read by `OperatorPages`. A node that does not deliver keeps the
// counts, and shows no lag.

import CoreMetrics
package import CumulusNode
import Synchronization

package final class WebhookMeter: Sendable {
    private struct Entry {
        let taken: Counter
        let failed: Counter
        /// Attempts that failed since the last one that succeeded.
        var failures = 0
        /// When the change happened that is told now, in milliseconds since 1970 UTC; nil means
        /// that nothing waits.
        var since: Int64?

        init(_ name: String, _ registry: PrometheusRegistry) {
            let dimensions = [("webhook", name)]
            taken = Counter(
                label: MetricDescription.webhookTaken.name,
                dimensions: dimensions,
                factory: registry
            )
            failed = Counter(
                label: MetricDescription.webhookFailed.name,
                dimensions: dimensions,
                factory: registry
            )
        }
    }

    private let registry = PrometheusRegistry([.webhookTaken, .webhookFailed])
    private let entries = Mutex<[String: Entry]>([:])

    package init() {}

    /// A webhook is delivered from here, from now on.
    func begin(_ name: String) { change(name) { $0.since = nil } }

    /// It is not any more.
    func end(_ name: String) {
        change(name) { entry in
            entry.since = nil
            entry.failures = 0
        }
    }

    /// A notification is about to be sent.
    func send(_ name: String, since: Int64) { change(name) { $0.since = since } }

    func take(_ name: String) {
        change(name) { entry in
            entry.taken.increment()
            entry.failures = 0
        }
    }

    func fail(_ name: String) {
        change(name) { entry in
            entry.failed.increment()
            entry.failures += 1
        }
    }

    /// Nothing waits.
    func rest(_ name: String) {
        change(name) { entry in
            entry.since = nil
            entry.failures = 0
        }
    }

    private func change(_ name: String, _ body: (inout Entry) -> Void) {
        entries.withLock { body(&$0[name, default: Entry(name, registry)]) }
    }

    /// - Parameter now: Milliseconds since 1970 UTC.
    package func metrics(now: Int64) -> [MetricFamily] {
        let entries = entries.withLock { $0 }.sorted { $0.key < $1.key }
        var failures = MetricFamily(
            "cumulus_webhook_failures_in_a_row",
            .gauge,
            "Attempts that failed since the last one that succeeded."
        )
        var lag = MetricFamily(
            "cumulus_webhook_lag_seconds",
            .gauge,
            "Time since the change that the endpoint is told now; 0 if nothing waits."
        )
        for (name, entry) in entries {
            failures.add(Double(entry.failures), ("webhook", name))
            let waited = entry.since.map { max(0, now - $0) } ?? 0
            lag.add(Double(waited) / 1e3, ("webhook", name))
        }
        return registry.families + [failures, lag]
    }
}

extension MetricDescription {
    fileprivate static let webhookTaken = MetricDescription(
        "cumulus_webhook_taken_total",
        .counter,
        "Notifications that the endpoint took."
    )
    fileprivate static let webhookFailed = MetricDescription(
        "cumulus_webhook_failed_total",
        .counter,
        "Attempts to tell the endpoint, or to follow the feed, that failed."
    )
}
