// Which users of a scope have subscriptions that name a webhook, and which subscriptions these are.
//
// The node that delivers webhooks asks, and asks again whenever a subscription has changed. Damaged
// registers are skipped: the comparison of nodes finds them.

package import CumulusModel
package import CumulusStorage

package enum WebhookSubscribers {
    /// The position at which a subscription of a scope changed last; 0 if there was none, nil if
    /// more may change at the same position, as while a state is taken.
    package static func lastChange(
        in scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> UInt64? {
        let head = try FeedHead(of: scope, in: reader)
        return head.lastSubscription <= head.lastPosition ? head.lastSubscription : nil
    }

    /// All users of a scope with a webhook; users whose subscriptions have fired once are among
    /// them.
    ///
    /// The list is not complete if this node does not know one of the users yet.
    package static func all(
        in scope: ScopeID,
        _ number: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> (found: Set<WebhookSubscriber>, isComplete: Bool) {
        var webhooks: [String: Set<String>] = [:]
        for (key, value) in try reader.registers(number, StoredSubscription.namespace) {
            guard let stored = try? StoredSubscription(key: key, value: value),
                let webhook = stored.subscription.notificationInfo?.webhook
            else { continue }
            webhooks[stored.user, default: []].insert(webhook)
        }
        if webhooks.isEmpty { return ([], true) }
        var found: Set<WebhookSubscriber> = []
        // A record name doesn't lead to its user, so all users are compared.
        for user in try Users.all(in: reader) {
            let name = user.recordName(in: scope.container)
            for webhook in webhooks.removeValue(forKey: name) ?? [] {
                found.insert(
                    WebhookSubscriber(
                        scope: scope,
                        user: name,
                        account: user.name,
                        webhook: webhook
                    )
                )
            }
        }
        return (found, webhooks.isEmpty)
    }

    /// The subscriptions that a webhook is told of on behalf of a user.
    package static func names(
        of subscriber: WebhookSubscriber,
        _ number: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Set<SubscriptionName> {
        let all = try reader.subscriptions(in: number, of: subscriber.user)
        let told = all.filter {
            $0.subscription.notificationInfo?.webhook == subscriber.webhook
        }
        return Set(told.map(\.name))
    }
}
