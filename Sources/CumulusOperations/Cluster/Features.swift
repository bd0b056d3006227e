// Features that every member of a cluster must know before one of them writes them.
//
// Each node says at its start what its release knows, with a register for each feature. While a
// listed member has not said so, no commit is made that it could not read. Called by the node's
// start, and by code that writes shares and subscriptions.

package import CumulusModel
package import CumulusStorage

/// Something in commits that earlier releases don't know.
package enum Feature: String, CaseIterable, Sendable {
    /// The operation `access`: shares.
    case access
    /// Subscriptions that name a webhook, and the marks of what webhooks were told.
    case webhook
    /// Addresses at which devices are woken, and the marks of what they were told.
    case push
    /// Keys of creations, by which a repeated request, or a counter of several nodes, is one life.
    case lives
    /// Users and containers that were deleted.
    case deletion

    /// What a node that does not know the feature can't do.
    private var task: String {
        switch self {
        case .access: "take part in sharing"
        case .webhook: "keep a subscription's webhook"
        case .push: "keep addresses at which devices are woken"
        case .lives: "recognise a creation that is repeated"
        case .deletion: "delete users and containers"
        }
    }

    /// Says that a node knows all features of this release.
    package static func announce(
        _ nodeID: Bytes,
        in transaction: inout WriteTransaction
    ) throws(EngineError) {
        let scope = try transaction.makeScope(.cluster)
        for feature in allCases where try !feature.isKnown(to: nodeID, scope, in: transaction) {
            let register = Commit.Register(
                namespace: MemberRegister.features,
                key: feature.key(nodeID),
                value: []
            )
            try ScopeRegisters(of: scope).set([register], &transaction)
        }
    }

    /// Why the feature can't be used yet; nil if all listed members know it.
    package func refusal<Reader: RowReader & ~Copyable>(
        in reader: borrowing Reader
    ) throws(EngineError) -> ServiceError? {
        guard let scope = try reader.scope(.cluster) else { return nil }
        for (nodeID, row) in try reader.members() where row.value != nil {
            if try isKnown(to: nodeID, scope, in: reader) { continue }
            return ServiceError(
                .serviceUnavailable,
                """
                node \(nodeID.hex) runs a release that can't \(task), or has not been heard since \
                it was upgraded; upgrade it, or take it off the list with \
                'cumulus cluster remove'
                """
            )
        }
        return nil
    }

    /// Whether the feature can be used; the answer is kept until the list of members changes.
    func isKnown(in transaction: inout WriteTransaction) throws(EngineError) -> Bool {
        if let known = transaction.state.knownFeatures[rawValue] { return known }
        let isKnown = try refusal(in: transaction) == nil
        transaction.remember(rawValue, isKnown: isKnown)
        return isKnown
    }

    private func isKnown<Reader: RowReader & ~Copyable>(
        to nodeID: Bytes,
        _ scope: ScopeNumber,
        in reader: borrowing Reader
    ) throws(EngineError) -> Bool {
        try reader.register(scope, MemberRegister.features, key(nodeID))?.value != nil
    }

    private func key(_ nodeID: Bytes) -> [Bytes] { [nodeID, Bytes(rawValue.utf8)] }
}
