// Where the rows of the node are: RocksDB in the data directory, or a database that --store names.
//
// The data directory belongs to its store either way, since it holds the packs of assets. A file
// there says which store in a database that is.

import CumulusNode
import CumulusStorage
import Logging
import PostgresStorage
import RocksDBStorage

extension Wiring {
    /// A store that was opened.
    struct OpenedStore {
        let engine: any StorageEngine
        /// The store is a backup that was never opened.
        var isBackup = false
        /// The name of a store in a database; nil for one in the data directory.
        var name: String?
    }

    /// The database of the rows; nil: they are in the data directory.
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

    func openStore(
        in directory: DataHome,
        _ environment: NodeEnvironment
    ) throws -> OpenedStore {
        if let address = try database() { return try open(address, directory, environment) }
        do {
            let engine = try RocksDBEngine(
                directory: directory.store,
                profile: try configuration[\.engine.profile],
                cacheBytes: try configuration[\.engine.cache],
                reserve: 0,
                readOnly: try configuration[\.node.readOnly]
            )
            for note in engine.notes { logger.warning("\(note)") }
            return OpenedStore(engine: engine, isBackup: engine.isBackup)
        } catch let error as RocksDBError {
            throw StartProblem("\(error)")
        }
    }

    private func open(
        _ address: PostgresAddress,
        _ directory: DataHome,
        _ environment: NodeEnvironment
    ) throws -> OpenedStore {
        let engine: PostgresEngine
        do throws(PostgresError) {
            engine = try PostgresEngine(address, whenLost: environment.fail)
        } catch {
            throw StartProblem("\(error)")
        }
        for note in engine.notes { logger.warning("\(note)") }
        logger.info("the rows are in a database", metadata: ["database": "\(address)"])
        if let known = directory.databaseName, known != engine.name {
            throw StartProblem(
                \.node.store,
                """
                \(directory.path) belongs to another store than the one in \(address): name the \
                database of this directory, or the directory of this database
                """
            )
        }
        let store = OpenedStore(engine: engine, name: engine.name)
        // From now on the key and the token in the directory belong to this store.
        if engine.isNew { try noteStore(store, in: directory) }
        return store
    }

    /// Notes to which store in a database the directory belongs.
    func noteStore(_ store: OpenedStore, in directory: DataHome) throws {
        guard let name = store.name, directory.databaseName == nil else { return }
        try directory.write(name + "\n", to: directory.databaseFile)
    }
}
