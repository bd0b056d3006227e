// A node's counters of webhooks: notifications that were taken, attempts that failed, and how long
// the oldest waiting one has waited.
//
// Written by `WebhookCourier`, read by `OperatorPages`. A node that does not deliver keeps the
// counts, and shows no lag.

import CoreMetrics
import CumulusModel
package import CumulusNode
import Synchronization

package final class WebhookMeter: Sendable {
    private struct Entry {
        let taken: Counter
        let failed: Counter
        /// The couriers of this node.
        var couriers: [WebhookSubscriber: Courier] = [:]

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

    private struct Courier {
        /// Attempts that failed since the last one that succeeded.
        var failures = 0
        /// When the change happened that is told now, in milliseconds since 1970 UTC; nil means
        /// that nothing waits.
        var since: Int64?
    }

    private let registry = PrometheusRegistry([.webhookTaken, .webhookFailed])
    private let entries = Mutex<[String: Entry]>([:])

    package init() {}

    /// A webhook is told from here, from now on.
    func begin(_ subscriber: WebhookSubscriber) {
        change(subscriber) { $0.couriers[subscriber] = Courier() }
    }

    /// It is not any more.
    func end(_ subscriber: WebhookSubscriber) {
        change(subscriber) { $0.couriers[subscriber] = nil }
    }

    /// A notification is about to be sent.
    func send(_ subscriber: WebhookSubscriber, since: Int64) {
        change(subscriber) { $0.couriers[subscriber]?.since = since }
    }

    func take(_ subscriber: WebhookSubscriber) {
        change(subscriber) { entry in
            entry.taken.increment()
            entry.couriers[subscriber]?.failures = 0
        }
    }

    func fail(_ subscriber: WebhookSubscriber) {
        change(subscriber) { entry in
            entry.failed.increment()
            entry.couriers[subscriber]?.failures += 1
        }
    }

    /// Nothing waits.
    func rest(_ subscriber: WebhookSubscriber) {
        change(subscriber) { $0.couriers[subscriber] = Courier() }
    }

    private func change(_ subscriber: WebhookSubscriber, _ body: (inout Entry) -> Void) {
        let name = subscriber.webhook
        entries.withLock { body(&$0[name, default: Entry(name, registry)]) }
    }

    /// - Parameter now: Milliseconds since 1970 UTC.
    package func metrics(now: Int64) -> [MetricFamily] {
        let entries = entries.withLock { $0 }.sorted { $0.key < $1.key }
        var failures = MetricFamily(
            "cumulus_webhook_failures_in_a_row",
            .gauge,
            "Attempts that failed since the last one that succeeded; of the user with the most."
        )
        var lag = MetricFamily(
            "cumulus_webhook_lag_seconds",
            .gauge,
            "Time since the oldest change that the endpoint is told now; 0 if nothing waits."
        )
        for (name, entry) in entries {
            let most = entry.couriers.values.map(\.failures).max() ?? 0
            failures.add(Double(most), ("webhook", name))
            let oldest = entry.couriers.values.compactMap(\.since).min()
            lag.add(Double(oldest.map { max(0, now - $0) } ?? 0) / 1e3, ("webhook", name))
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
