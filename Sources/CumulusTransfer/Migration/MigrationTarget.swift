// The container here, as a migration writes it: as an operator, and as the users that it saves for.
//
// An operator saves no records, so the migration makes an access token for each user whose records
// it saves, and revokes it at the end. A node that is away is waited for: saving twice has the same
// effect as once.

import Crypto
package import Cumulus
package import CumulusModel
import CumulusSystem
import CumulusTerminal

package final class MigrationTarget {
    private let node: NodeOperator
    private let configuration: Container.Configuration
    package let container: String
    package let environment: Environment
    /// How long a node may be away.
    private let patience: Duration

    /// Connections of users with their tokens, which are in memory alone.
    ///
    /// The one that was used last is at the end.
    private var open: [(user: String, token: String, container: Container)] = []
    private static let mostOpen = 64
    /// Told of a user whose token has ended, since many others were needed.
    package var didEnd: (_ user: String) -> Void = { _ in }

    /// - Parameter configuration: How users' connections reach the node, without a token.
    package init(
        _ node: NodeOperator,
        _ configuration: Container.Configuration,
        container: String,
        patience: Duration
    ) {
        self.node = node
        self.configuration = configuration
        self.container = container
        environment = configuration.environment
        self.patience = patience
    }

    /// Where the records go: a container of a cluster, whichever node was asked.
    package func address() async throws -> String {
        "\(container)/\(environment.name) of cluster \(try await node.status().clusterID)"
    }

    package func close() async {
        for entry in open { await entry.container.close() }
        open = []
    }

    /// Runs again while the node is away or busy.
    package func persisting<Value>(_ body: () async throws -> Value) async throws -> Value {
        let end = ContinuousClock.now + patience
        while true {
            do {
                return try await body()
            } catch let error as ServiceError
                where error.passes && ContinuousClock.now < end
            {
                try await Task.sleep(for: .milliseconds(error.retryAfterMilliseconds ?? 500))
            }
        }
    }

    // MARK: Schema

    /// Whether there is a container of that name.
    package func exists() async throws -> Bool {
        try await node.containers().contains(container)
    }

    /// Makes the container, if it is not there.
    package func create() async throws {
        _ = try await persisting { try await node.createContainer(container) }
    }

    /// What development's schema is, which production's follows; makes nothing.
    package func schema() async throws -> Schema {
        guard try await exists() else { return Schema() }
        return try await schema(of: .development)
    }

    private func schema(of environment: Environment) async throws -> Schema {
        let text = try await persisting { try await node.schema(of: container, environment) }
        do {
            return try Schema(ckdb: text)
        } catch {
            throw ServiceError(.internalError, "the node's schema can't be read: \(error)")
        }
    }

    /// Makes development's schema what it is to be; production's, too, if records go there.
    ///
    /// - Parameter old: What development's schema is.
    package func setSchema(_ schema: Schema, from old: Schema) async throws {
        if !SchemaDifference(from: old, to: schema).isEmpty {
            _ = try await persisting {
                try await node.importSchema(schema.ckdb, of: container, .development)
            }
        }
        guard environment == .production,
            !SchemaDifference(from: try await self.schema(of: .production), to: schema).isEmpty
        else { return }
        _ = try await persisting {
            try await node.deploySchema(of: container, onlyShows: false)
        }
    }

    // MARK: Users

    /// The user with a name; a user that does not exist yet is made.
    package func user(named name: String) async throws -> MigratedUser {
        let (user, _) = try await persisting { try await node.addUser(name, in: container) }
        return MigratedUser(name: user.name, recordName: user.recordName)
    }

    /// The container as a user sees it.
    ///
    /// - Parameter note: Told of a new token's id before the token is used.
    package func container(
        of user: String,
        noting note: (_ id: String) throws -> Void
    ) async throws -> Container {
        if let index = open.firstIndex(where: { $0.user == user }) {
            let entry = open.remove(at: index)
            open.append(entry)
            return entry.container
        }
        if open.count == MigrationTarget.mostOpen {
            let oldest = open.removeFirst()
            await oldest.container.close()
            try await revoke(MigrationTarget.id(of: oldest.token), of: oldest.user)
            didEnd(oldest.user)
        }
        let token = try await persisting { try await node.addToken(forUser: user) }
        try note(MigrationTarget.id(of: token))
        var configuration = configuration
        configuration.accessToken = token
        let made = Container(identifier: container, configuration: configuration)
        open.append((user, token, made))
        return made
    }

    /// The id by which a token is revoked.
    private static func id(of token: String) -> String {
        Bytes(SHA256.hash(data: Bytes(token.utf8))).hex
    }

    /// Ends a token; one that ended already is no error.
    package func revoke(_ id: String, of user: String) async throws {
        do {
            _ = try await persisting { try await node.revoke(id, of: user) }
        } catch let error as ServiceError where error.code == .unknownItem {
            return
        }
    }

    // MARK: The public database

    /// Its records by their names, also those that only their creators may read.
    package func publicRecords(named names: [String]) async throws -> [String: Record] {
        try await persisting {
            try await node.publicRecords(named: names, of: container, environment)
        }
    }

    /// All of its records.
    package func publicRecords(keys: [String]) -> RecordSequence {
        node.publicRecords(of: container, environment, keys: keys)
    }
}

extension ServiceError {
    /// Whether the same call may succeed later: nothing was reached, or the node is busy.
    package var passes: Bool {
        switch code {
        case .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited,
            .zoneBusy, .serverResponseLost:
            true
        default: false
        }
    }
}
