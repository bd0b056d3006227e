// Whose feeds a node follows for webhooks: each user's for one of them.
//
// Asked by `WebhookCourier`. A user has one read mark, so two webhooks of the same user would keep
// notifications from each other. The file alone does not show it: a user may have many tokens.

import CumulusModel
import Synchronization

final class WebhookUsers: Sendable {
    private struct Key: Hashable {
        var scope: ScopeID
        var user: String
    }

    private let names = Mutex<[Key: String]>([:])

    /// Takes a user's feed for a webhook; returns the name of another one that has it.
    func claim(_ user: String, in scope: ScopeID, for name: String) -> String? {
        names.withLock { names in
            let owner = names[Key(scope: scope, user: user), default: name]
            names[Key(scope: scope, user: user)] = owner
            return owner == name ? nil : owner
        }
    }

    /// A webhook is not delivered any more.
    func release(by name: String) {
        names.withLock { names in names = names.filter { $0.value != name } }
    }
}
