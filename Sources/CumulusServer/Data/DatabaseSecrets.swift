// The secrets of a node whose store is in a database: the cluster's key and the operator's token.
//
// Called by `Wiring`. They are kept in the database, since that holds all else of the node: so a
// process on another machine goes on with the same settings, and nobody copies files between
// machines. An operator who wants the key elsewhere names its file, and then it isn't kept here.
// Each start leaves copies in the data directory, for `cumulus` and for other nodes of the cluster.
// What was put into the directory before the first start is taken, as it is without a database.

import CumulusModel
import CumulusNode
import CumulusSystem

struct DatabaseSecrets {
    enum Secret: CaseIterable {
        case clusterKey
        case operatorToken
    }

    /// The row that keeps them, as it is reached by the store.
    struct Row {
        /// Reads a secret; nil if the database does not keep it.
        let read: (Secret) throws -> String?
        /// Writes a secret, which is durable when this returns.
        let keep: (Secret, String) throws -> Void
        /// The name of the store.
        let store: String
        /// What people see of the database.
        let place: String
    }

    let row: Row
    let home: DataHome

    /// Refuses a data directory of another store, or one with secrets that are not this store's.
    ///
    /// - Parameter namesKey: The cluster's key is in a file of the operator's.
    func checkDirectory(namesKey: Bool) throws {
        if let known = home.databaseName {
            guard known != row.store else { return }
            throw StartProblem(
                \.node.store,
                """
                \(home.path) belongs to another store than the one in \(row.place): name the \
                database of this directory, or another directory
                """
            )
        }
        for secret in Secret.allCases where secret != .clusterKey || !namesKey {
            guard let kept = try row.read(secret), let copy = copy(of: secret), copy != kept
            else { continue }
            throw StartProblem(
                """
                \(file(of: secret)) is another one than the store in \(row.place) has: move it \
                away, or name another database
                """
            )
        }
    }

    /// The cluster's key, and whether a new store joins the cluster of that key.
    ///
    /// A key that is made now is kept before there is a store; so a new store whose key is kept
    /// already began with it, and joins nothing.
    ///
    /// - Parameters:
    ///   - named: The operator's file; empty: none.
    ///   - isNew: There is no store yet.
    func clusterKey(
        _ named: String,
        isNew: Bool,
        _ environment: NodeEnvironment
    ) throws -> (key: [UInt8], joins: Bool) {
        let kept = try named.isEmpty ? row.read(.clusterKey) : nil
        if let kept { return (try DataHome.clusterKey(kept, in: row.place), joins: false) }
        if !named.isEmpty || copy(of: .clusterKey) != nil {
            return (try home.clusterKey(named, environment).key, joins: true)
        }
        guard isNew else {
            throw StartProblem(
                \.cluster.key,
                """
                the database \(row.place) has a store, and not its key: name the file that the \
                node was started with before, or copy it from another node of the cluster
                """
            )
        }
        var dice = NodeDice(environment)
        let key = dice.bytes(32)
        try row.keep(.clusterKey, key.hex)
        return (key, joins: false)
    }

    /// The operator's token; a new one is kept at the first start.
    func operatorToken(_ environment: NodeEnvironment) throws -> [UInt8] {
        if let kept = try row.read(.operatorToken) { return Array(kept.utf8) }
        let token = try home.operatorToken(environment)
        try row.keep(.operatorToken, String(decoding: token, as: UTF8.self))
        return token
    }

    /// Makes the data directory this store's, once the node has opened it.
    ///
    /// A key that was found there is kept only now, see `clusterKey`.
    func settle(namesKey: Bool) throws {
        if try !namesKey && row.read(.clusterKey) == nil, let found = copy(of: .clusterKey) {
            try row.keep(.clusterKey, found)
        }
        for secret in Secret.allCases where secret != .clusterKey || !namesKey {
            guard let kept = try row.read(secret), copy(of: secret) != kept else { continue }
            try home.write(kept + "\n", to: file(of: secret))
        }
        if home.databaseName == nil { try home.write(row.store + "\n", to: home.databaseFile) }
    }

    // MARK: Copies

    private func file(of secret: Secret) -> String {
        switch secret {
        case .clusterKey: home.keyFile
        case .operatorToken: home.tokenFile
        }
    }

    /// The secret in the data directory; nil if the directory has no file of it.
    private func copy(of secret: Secret) -> String? {
        (try? String(contentsOfFile: file(of: secret), encoding: .utf8))?.trimmed
    }
}
