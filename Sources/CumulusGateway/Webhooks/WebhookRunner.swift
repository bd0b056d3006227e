// Decides for which webhooks and users this node delivers, and runs a courier for each user and
// webhook.
//
// `cumulusd` and tests make it. Every second it checks whether the operator's file or subscriptions
// have changed, and whether this node delivers: it does if it is the first of the members that it
// is connected to.

import CumulusModel
import CumulusNode
package import Logging

package struct WebhookRunner: Sendable {
    /// How long a node has to be the first one before it delivers, in milliseconds.
    ///
    /// A node that starts reads meanwhile what others have marked, and a node that loses others for
    /// a moment does not begin.
    package static let patience: Int64 = 15_000
    private static let interval: Int64 = 1_000

    private let door: any WebDoor
    private let webhooks: @Sendable () -> [Webhook]
    private let isFirst: @Sendable () async throws -> Bool
    private let client: @Sendable (Webhook) -> any WebClient
    private let meter: WebhookMeter
    private let turns = WebhookTurns()
    private let patience: Int64
    private let logger: Logger

    private typealias Running = (webhook: Webhook, task: Task<Void, Never>)

    /// The known state of subscriptions.
    private struct Known {
        var scopes: [ScopeID: WebhookScope] = [:]
        /// Names without a webhook that are in the log already.
        var missing: Set<String> = []
    }

    /// - Parameters:
    ///   - webhooks: The webhooks of the operator's file, as it is now.
    ///   - isFirst: Whether this node is the first of the members.
    ///   - client: How an endpoint is reached.
    package init(
        _ door: any WebDoor,
        webhooks: @escaping @Sendable () -> [Webhook],
        isFirst: @escaping @Sendable () async throws -> Bool,
        client: @escaping @Sendable (Webhook) -> any WebClient,
        meter: WebhookMeter,
        patience: Int64 = WebhookRunner.patience,
        logger: Logger
    ) {
        self.door = door
        self.webhooks = webhooks
        self.isFirst = isFirst
        self.client = client
        self.meter = meter
        self.patience = patience
        self.logger = logger
    }

    /// Delivers until the task is cancelled.
    package func run() async {
        var running: [WebhookSubscriber: Running] = [:]
        var known = Known()
        var firstSince: UInt64?
        while !Task.isCancelled {
            let now = door.nanoseconds()
            // A node that can't read its store delivers nothing.
            firstSince = (try? await isFirst()) == true ? firstSince ?? now : nil
            let isDelivering = firstSince.map { now - $0 >= UInt64(patience) * 1_000_000 } ?? false
            await adjust(&running, to: isDelivering ? await wanted(&known) : [:])
            try? await door.sleep(WebhookRunner.interval)
        }
        await adjust(&running, to: [:])
    }

    /// The webhooks that subscriptions name, and on whose behalf each is told.
    private func wanted(_ known: inout Known) async -> [WebhookSubscriber: Webhook] {
        // If the store can't be read now, what was known before is used.
        known.scopes = (try? await door.webhookSubscribers(after: known.scopes)) ?? known.scopes
        let webhooks = Dictionary(webhooks().map { ($0.entry.name, $0) }) { first, _ in first }
        var wanted: [WebhookSubscriber: Webhook] = [:]
        for subscriber in known.scopes.values.flatMap(\.subscribers) {
            let webhook = webhooks[subscriber.webhook]
            if let webhook, webhook.entry.serves(subscriber.scope.container) {
                wanted[subscriber] = webhook
            } else if known.missing.insert(subscriber.webhook).inserted {
                logger.warning(
                    """
                    a subscription names a webhook that is not registered for its container; \
                    nothing is sent there
                    """,
                    metadata: [
                        "webhook": "\(subscriber.webhook)",
                        "container": "\(subscriber.scope.container)",
                    ]
                )
            }
        }
        return wanted
    }

    /// Ends couriers whose webhook has changed or is not named any more, and only then starts the
    /// missing ones.
    private func adjust(
        _ running: inout [WebhookSubscriber: Running],
        to wanted: [WebhookSubscriber: Webhook]
    ) async {
        let ended = running.filter { wanted[$0.key] != $0.value.webhook }
        for courier in ended.values { courier.task.cancel() }
        for (subscriber, courier) in ended {
            await courier.task.value
            running[subscriber] = nil
        }
        for (subscriber, webhook) in wanted where running[subscriber] == nil {
            let courier = WebhookCourier(
                webhook: webhook,
                subscriber: subscriber,
                door: door,
                client: client(webhook),
                meter: meter,
                turns: turns,
                logger: logger
            )
            running[subscriber] = (webhook, Task { await courier.run() })
        }
    }
}
