// Decides which webhooks this node delivers, and runs a courier for each.
//
// Made by `cumulusd`, and by tests. It looks every second whether the operator's file has changed
// and whether this node is the one that delivers: the first of the members that it is connected to.

import CumulusModel
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
    private let users = WebhookUsers()
    private let patience: Int64
    private let logger: Logger

    private typealias Running = (webhook: Webhook, task: Task<Void, Never>)

    /// - Parameters:
    ///   - webhooks: Those of the operator's file, as it is now.
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
        var running: [String: Running] = [:]
        var firstSince: UInt64?
        while !Task.isCancelled {
            let now = door.nanoseconds()
            // A node that can't read its store delivers nothing.
            firstSince = (try? await isFirst()) == true ? firstSince ?? now : nil
            let isDelivering = firstSince.map { now - $0 >= UInt64(patience) * 1_000_000 } ?? false
            await adjust(&running, to: isDelivering ? webhooks() : [])
            try? await door.sleep(WebhookRunner.interval)
        }
        await adjust(&running, to: [])
    }

    /// Ends couriers whose webhook has changed or is gone, and only then starts those that lack.
    private func adjust(_ running: inout [String: Running], to webhooks: [Webhook]) async {
        let ended = running.filter { !webhooks.contains($0.value.webhook) }
        for courier in ended.values { courier.task.cancel() }
        for (name, courier) in ended {
            await courier.task.value
            running[name] = nil
        }
        for webhook in webhooks where running[webhook.entry.name] == nil {
            let courier = WebhookCourier(
                webhook: webhook,
                door: door,
                client: client(webhook),
                meter: meter,
                users: users,
                logger: logger
            )
            running[webhook.entry.name] = (webhook, Task { await courier.run() })
        }
    }
}
