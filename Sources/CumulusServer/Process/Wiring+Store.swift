// Where the data of the node is: in the data directory, or in a database that --store names.
//
// In the directory RocksDB has the rows, and files have the packs of assets. A database has both,
// and the node's secrets; a file in the data directory says then which store's copies are there.

import CumulusModel
import CumulusNode
import CumulusStorage
import Logging
import PostgresStorage
import RocksDBStorage

extension Wiring {
    /// A store that was opened.
    struct OpenedStore {
        let engine: any StorageEngine
        let packs: any PackFiles
        let clusterKey: [UInt8]
        /// A new node joins the cluster of that key, and begins none.
        let joins: Bool
        /// The store is a backup that was never opened.
        var isBackup = false
        /// The secrets of a store in a database; nil for one in the data directory.
        var secrets: DatabaseSecrets?
    }

    /// The database of the node; nil if its data is in the data directory.
    func database() throws -> PostgresAddress? {
        let (url, file) = (configuration[\.node.store], configuration[\.node.storePassword])
        guard !url.isEmpty else {
            if file.isEmpty { return nil }
            throw StartProblem(\.node.storePassword, "--store names no database that it is for")
        }
        let password: String?
        do {
            password = try file.isEmpty ? nil : OperatorFile.line(of: file)
        } catch {
            throw StartProblem(\.node.storePassword, "\(error)")
        }
        do {
            return try PostgresAddress(url, password: password)
        } catch {
            throw StartProblem(\.node.store, "\(error)")
        }
    }

    /// Refuses a data directory that belongs to a store in another kind of place.
    func checkPlace(of directory: DataHome) throws {
        guard try database() != nil else {
            guard directory.databaseName != nil else { return }
            throw StartProblem(
                \.node.store,
                """
                \(directory.path) belongs to a store in a database; name that, or another data \
                directory
                """
            )
        }
        if directory.hasFiles {
            throw StartProblem(
                \.node.store,
                """
                \(directory.store) is a store already, and its rows are in no database; name \
                another data directory, or leave the database out
                """
            )
        }
        if !configuration[\.node.fromBackup].isEmpty {
            throw StartProblem(
                \.node.fromBackup,
                "a store in a database is restored by the database, such as by pg_restore"
            )
        }
    }

    /// Whether the operator has a file with the cluster's key.
    var namesKey: Bool { !configuration[\.cluster.key].isEmpty }

    func openStore(
        in directory: DataHome,
        _ environment: NodeEnvironment
    ) throws -> OpenedStore {
        if let address = try database() { return try open(address, directory, environment) }
        // This comes before there is a store: only a new store gets a new key.
        let (key, isNew) = try directory.clusterKey(configuration[\.cluster.key], environment)
        do {
            let engine = try RocksDBEngine(
                directory: directory.store,
                profile: try configuration[\.engine.profile],
                cacheBytes: try configuration[\.engine.cache],
                reserve: 0,
                readOnly: try configuration[\.node.readOnly]
            )
            for note in engine.notes { logger.warning("\(note)") }
            return OpenedStore(
                engine: engine,
                packs: try PackDirectory(directory.assets),
                clusterKey: key,
                joins: !isNew,
                isBackup: engine.isBackup
            )
        } catch let error as RocksDBError {
            throw StartProblem("\(error)")
        } catch let error as PackError {
            throw StartProblem("the assets can't be opened: \(error)")
        }
    }

    private func open(
        _ address: PostgresAddress,
        _ directory: DataHome,
        _ environment: NodeEnvironment
    ) throws -> OpenedStore {
        let makesTables = try !configuration[\.node.readOnly]
        let engine: PostgresEngine
        let isStandby = try awaitedDatabase() != nil
        do throws(PostgresError) {
            engine = try PostgresEngine(
                address,
                queueing: isStandby ? .zero : nil,
                makesTables: makesTables,
                whenLost: environment.fail
            )
        } catch {
            if case .inUse = error, isStandby { throw Overtaken() }
            throw StartProblem("\(error)")
        }
        for note in engine.notes { logger.warning("\(note)") }
        logger.info("the node's data is in a database", metadata: ["database": "\(address)"])
        let secrets = DatabaseSecrets(row: secrets(of: engine, at: address), home: directory)
        do {
            try secrets.checkDirectory(namesKey: namesKey)
            let reader = ReadTransaction(engine, reach: .disk)
            let (key, joins) = try secrets.clusterKey(
                configuration[\.cluster.key],
                isNew: try OpenStore.node(in: reader) == nil,
                environment
            )
            return OpenedStore(
                engine: engine,
                packs: engine.packs,
                clusterKey: key,
                joins: joins,
                secrets: secrets
            )
        } catch let error as EngineError {
            throw StartProblem(OpenStore.Failure.engine(error).message)
        } catch let failure as OpenStore.Failure {
            throw StartProblem(failure.message)
        }
    }

    /// How `cumulus backup` is answered.
    func backUp(
        _ store: OpenedStore,
        _ directory: DataHome,
        _ token: [UInt8]
    ) -> Node.BackUp {
        if store.secrets != nil {
            return { (_, _, _) throws(ServiceError) in throw Backup.ofDatabase }
        }
        let key = store.clusterKey
        return { (engine, packs, path) throws(ServiceError) in
            try Backup.make(
                of: engine,
                packs,
                in: directory,
                key: key,
                token: token,
                at: path
            )
        }
    }

    private func secrets(
        of engine: PostgresEngine,
        at address: PostgresAddress
    ) -> DatabaseSecrets.Row {
        DatabaseSecrets.Row(
            read: { secret in
                do throws(EngineError) {
                    return try engine.secret(secret.column)
                } catch {
                    throw StartProblem(OpenStore.Failure.engine(error).message)
                }
            },
            keep: { secret, text in
                do throws(EngineError) {
                    try engine.keep(text, as: secret.column)
                } catch {
                    throw StartProblem(OpenStore.Failure.engine(error).message)
                }
            },
            store: engine.name,
            place: "\(address)"
        )
    }
}

extension DatabaseSecrets.Secret {
    fileprivate var column: SiteSecret {
        switch self {
        case .clusterKey: .clusterKey
        case .operatorToken: .operatorToken
        }
    }
}
