// The user for whom a webhook is told: a user of a scope, whose subscriptions name the webhook.
//
// Found by nodes in what they store, and followed by the node that delivers webhooks.

/// A user with subscriptions that name a webhook.
package struct WebhookSubscriber: Hashable, Sendable {
    package var scope: ScopeID
    /// User record name.
    package var user: String
    /// The name under which the user may come in.
    package var account: String
    /// Name of the webhook.
    package var webhook: String

    package init(scope: ScopeID, user: String, account: String, webhook: String) {
        self.scope = scope
        self.user = user
        self.account = account
        self.webhook = webhook
    }
}
