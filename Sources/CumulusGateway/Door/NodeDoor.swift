// The door of a node in this process.
//
// Made once by `cumulusd`, and by tests. It adds nothing to what the node decides.

package import CumulusAssets
package import CumulusModel
package import CumulusNode
package import CumulusWire

package struct NodeDoor: WebDoor {
    let node: Node
    private let findApp: @Sendable (Bytes) -> WebAPIToken?

    /// - Parameter findApp: The web app of the operator's file whose API token has an SHA-256.
    package init(_ node: Node, findApp: @escaping @Sendable (Bytes) -> WebAPIToken?) {
        self.node = node
        self.findApp = findApp
    }

    package var clusterID: Bytes { node.clusterID }

    package var now: Int64 { node.environment.wallClock() }

    package func nanoseconds() -> UInt64 { node.environment.nanoseconds() }

    package func sleep(_ milliseconds: Int64) async throws {
        try await node.environment.sleep(milliseconds)
    }

    package func random() -> UInt64 { node.environment.random() }

    /// An app that is registered in the cluster counts, and not one of the file with the same token
    /// or name.
    package func apiToken(_ digest: Bytes) async throws(ServiceError) -> WebAPIToken? {
        do throws(ServiceError) {
            if let app = try await node.webApp(token: digest) { return WebAPIToken(app) }
            guard let named = findApp(digest) else { return nil }
            if named.name.isEmpty { return named }
            return try await node.webApp(named.name, in: named.scope) == nil ? named : nil
        } catch {
            // A node that can't read its registers now still has its file.
            if let named = findApp(digest) { return named }
            throw error
        }
    }

    /// Only registered apps have one.
    package func logo(of app: WebAPIToken) async -> Bytes {
        guard let known = try? await node.webApp(app.name, in: app.scope),
            WebAPIToken(known) == app
        else { return [] }
        return (try? await node.logo(of: known)) ?? []
    }

    package var takesRegistrations: Bool { node.configuration.takesRegistrations }

    package func redeem(_ link: ConsoleLink, from address: Bytes) -> Bytes? {
        node.redeem(link, from: address)
    }

    package func seal(_ content: Bytes) -> Bytes { node.seal(web: content) }

    package func open(_ sealed: Bytes) -> Bytes? { node.open(web: sealed) }

    package func enter(
        _ entrance: LocalEntrance
    ) async throws(ServiceError) -> any WebCalls {
        let (connection, user) = try await LocalConnection.open(entrance, on: node)
        var calls = Calls(user: user, node: node, scope: entrance.scope, connection: connection)
        switch entrance.proof {
        case .operatorToken, .operatorSession: calls.namesScope = entrance.scope != .cluster
        case .nothing, .session, .accessToken, .serviceKey, .webhook, .push: break
        }
        return calls
    }

    package func peerList(
        of address: PeerAssetAddress,
        within milliseconds: Int64
    ) async throws -> ChunkList {
        try await node.peerList(of: address, within: milliseconds)
    }

    package func readPeerChunks(
        _ indexes: [Int],
        of address: PeerAssetAddress,
        within milliseconds: Int64,
        _ take: ([Chunk]) async throws -> Void
    ) async throws {
        try await node.readPeerChunks(indexes, of: address, within: milliseconds, take)
    }

    package func webhookSubscribers(
        after known: [ScopeID: WebhookScope]
    ) async throws(ServiceError) -> [ScopeID: WebhookScope] {
        try await node.webhookSubscribers(after: known)
    }

    package func feedAfterMarks(
        of subscriber: WebhookSubscriber
    ) async throws(ServiceError) -> Bytes {
        try await node.feedAfterMarks(of: subscriber)
    }

    package func subscriptions(
        of subscriber: WebhookSubscriber
    ) async throws(ServiceError) -> Set<SubscriptionName> {
        try await node.subscriptions(of: subscriber)
    }

    private struct Calls: WebCalls {
        let user: String
        let node: Node
        let scope: ScopeID
        let connection: LocalConnection
        var reached: Bytes? { connection.reached }
        /// An operator's calls say which scope they mean.
        var namesScope = false

        func fetch(
            _ request: FetchRecordsRequest
        ) async throws(ServiceError) -> [RecordResult] {
            try await connection.fetch(header(.recordsFetch), request)
        }

        func query(
            _ request: QueryRecordsRequest
        ) async throws(ServiceError) -> FoundRecords {
            try await connection.query(header(.recordsQuery), request)
        }

        func modify(
            _ message: Bytes,
            overReadable: Bool
        ) async throws(ServiceError) -> ModifiedRecords {
            let header = header(.recordsModify)
            return try await connection.modify(header, message, overReadable: overReadable)
        }

        func read(_ method: Method, _ message: Bytes) async throws(ServiceError) -> [Bytes] {
            try await connection.call(header(method), message)
        }

        private func header(_ method: Method) -> CallHeader {
            var header = CallHeader(method)
            guard namesScope else { return header }
            header.container = Bytes(scope.container.utf8)
            header.environment = UInt32(scope.environment.rawValue)
            return header
        }

        func change(_ method: Method, _ message: Bytes) async throws(ServiceError) -> [Bytes] {
            try await connection.change(header(method), message)
        }

        func upload(
            _ method: Method,
            _ message: Bytes,
            _ messages: [Bytes]
        ) async throws(ServiceError) -> [Bytes] {
            try await connection.upload(header(method), message, messages)
        }

        func follow(_ method: Method, _ message: Bytes) async -> LocalStream {
            await connection.follow(header(method), message)
        }

        func columns(
            of types: [String]
        ) async throws(ServiceError) -> [String: [String: FieldType]] {
            try await node.columns(of: types, in: scope)
        }

        func close() { connection.leave() }
    }
}
