// What doors in the same process ask a node for besides calls: the fields of types, on whose behalf
// webhooks are told and how far, whether this node is the first of its cluster, and tokens that
// every node of the cluster can open.

package import CumulusModel
import CumulusOperations
import CumulusStorage
import Synchronization

/// What a node knows of the webhooks that a scope's subscriptions name.
package struct WebhookScope: Sendable {
    /// The position up to which it is known; nil means that it is to be read again.
    let lastChange: UInt64?
    package let subscribers: Set<WebhookSubscriber>
}

extension Node {
    package typealias WebhookNames = @Sendable (_ name: String, _ container: String) -> Bool

    /// The fields of record types, by type; a type that the schema does not have is left out.
    package func columns(
        of types: [String],
        in scope: ScopeID
    ) async throws(ServiceError) -> [String: [String: FieldType]] {
        try await look { [self] reach in try find(types, in: scope, reach: reach) }
    }

    /// Looks in memory, or else on a reader thread; not while this node joins its cluster.
    func look<Found: Sendable>(
        _ kind: StoreGate.ReadKind = .prompt,
        _ find: @escaping @Sendable (Reach) throws -> Found
    ) async throws(ServiceError) -> Found {
        if let refusal = joiningRefusal { throw refusal }
        do {
            let found = try find(.memory)
            try gate.engine.checkTerm(.memory)
            return found
        } catch EngineError.notInMemory {
        } catch {
            throw serviceError(error)
        }
        let result = await withCheckedContinuation { continuation in
            let isQueued = gate.read(kind) { [self] in
                let found = Result {
                    let found = try find(.disk)
                    try gate.engine.checkTerm(.disk)
                    return found
                }
                continuation.resume(returning: found.mapError { serviceError($0) })
            }
            if !isQueued { continuation.resume(returning: .failure(ServiceError.tooManyReads)) }
        }
        return try result.get()
    }

    private func find(
        _ types: [String],
        in scope: ScopeID,
        reach: Reach
    ) throws -> [String: [String: FieldType]] {
        let view = gate.latestView(reach: reach)
        guard let number = try view.reader.scope(scope) else {
            throw Containers.unknown(scope.container)
        }
        var columns: [String: [String: FieldType]] = [:]
        for type in types {
            let schema = try view.schemas.find(type, of: number, view.reader).schema
            if schema.exists || type == Schema.users.name { columns[type] = schema.fields }
        }
        return columns
    }

    /// The token of a user's feed behind everything that a webhook was told; empty if it was told
    /// nothing.
    package func feedAfterMarks(
        of subscriber: WebhookSubscriber
    ) async throws(ServiceError) -> Bytes {
        let marker = ReadMarks.Reader(subscriber.user, webhook: subscriber.webhook)
        return try await feed(after: marker, of: subscriber.user, in: subscriber.scope)
    }

    /// The token of a user's feed behind what a marker marks; empty if it marks nothing.
    func feed(
        after marker: ReadMarks.Reader,
        of user: String,
        in scope: ScopeID
    ) async throws(ServiceError) -> Bytes {
        try await look { [self] reach in
            let reader = gate.latest(reach: reach)
            guard let number = try reader.scope(scope) else {
                throw Containers.unknown(scope.container)
            }
            let marks = try reader.readMarks(of: marker, in: number)
            if marks.vector.isEmpty { return [] }
            let token = FeedToken(
                scope: scope,
                user: user,
                base: marks.vector,
                truncation: try reader.truncation(of: number)
            )
            return mint.make(token)
        }
    }

    /// The users of all scopes whose subscriptions name webhooks.
    ///
    /// - Parameter known: What an earlier call returned; scopes are read again if a subscription
    ///   changed there.
    package func webhookSubscribers(
        after known: [ScopeID: WebhookScope]
    ) async throws(ServiceError) -> [ScopeID: WebhookScope] {
        try await look(.bulk(.node)) { [self] reach in
            let reader = gate.latest(reach: reach)
            var scopes: [ScopeID: WebhookScope] = [:]
            for (scope, number) in try ScopeDirectory.all(in: reader) where scope != .cluster {
                let change = try WebhookSubscribers.lastChange(in: number, reader)
                if let change, let known = known[scope], known.lastChange == change {
                    scopes[scope] = known
                    continue
                }
                let (found, isComplete) = try WebhookSubscribers.all(in: scope, number, reader)
                scopes[scope] = WebhookScope(
                    lastChange: isComplete ? change : nil,
                    subscribers: found
                )
            }
            return scopes
        }
    }

    /// The subscriptions that a webhook is told of on behalf of a user.
    ///
    /// Throws while an operator keeps the user out.
    package func subscriptions(
        of subscriber: WebhookSubscriber
    ) async throws(ServiceError) -> Set<SubscriptionName> {
        try await look { [self] reach in
            let reader = gate.latest(reach: reach)
            guard let number = try reader.scope(subscriber.scope) else { return [] }
            _ = try subscriber.admitted(in: reader)
            return try WebhookSubscribers.names(of: subscriber, number, reader)
        }
    }

    /// Whether this node has the lowest id of the members that it is connected to, and itself;
    /// those that are joining don't count.
    package func isFirstMember() async throws(ServiceError) -> Bool {
        try await look { [self] reach in
            let others = try Members.others(than: nodeID, in: gate.latest(reach: reach))
            let newcomers = newcomers.withLock(\.self)
            return !others.contains { member in
                member.nodeID.lexicographicallyPrecedes(nodeID)
                    && peerRuns.isConnected(member.nodeID) && !newcomers.contains(member.nodeID)
            }
        }
    }

    /// Seals what a door hands out, such as a token of a browser's session.
    package func seal(web content: Bytes) -> Bytes { mint.seal(web: content) }

    /// What a node of this cluster sealed for a door; nil for everything else.
    package func open(web sealed: Bytes) -> Bytes? { mint.open(web: sealed) }
}
