// The node that is loaded: a private one, or the node of `--endpoint`.
//
// Opened once per group of paths. It hands out the database, the records, and what the server has
// used so far.
//
// Folder: the nodes that are loaded: their processes, their data, and who asks them. Read
// `BenchTarget`, then `BenchNode` and `BenchCluster`.

import Cumulus
import CumulusModel
import CumulusTerminal
import CumulusTransport
import Foundation

final class BenchTarget: Sendable, Closable {
    let endpoint: String
    /// Whether connections to it are encrypted, and whose certificates are believed.
    let trust: TLSTrust
    /// The token of the user who loads it.
    let token: String
    let database: Database
    /// The public one; of private nodes only.
    var publicDatabase: Database { container.publicCloudDatabase }
    let records: BenchRecords
    /// The data directory of the private node; bounds of the disk are measured there too.
    let directory: String?
    let containerName: String
    let zone: RecordZone.ID
    private let container: Container
    /// nil for the node of `--endpoint`, and for a server without a store.
    private let node: BenchNode?
    /// The process that was started: a private node, or a server without a store.
    private let process: BenchProcess?

    private init(
        _ options: BenchOptions,
        _ configuration: Container.Configuration,
        token: String,
        node: BenchNode? = nil,
        process: BenchProcess? = nil,
        directory: String? = nil
    ) {
        var configuration = configuration
        configuration.accessToken = token
        configuration.connections = options.connections
        configuration.assetDirectory = directory.map { "\($0)/downloads" }
        containerName = process == nil ? options.container : BenchNode.container
        container = Container(identifier: containerName, configuration: configuration)
        // A node of somebody else has records of its own in the default zone.
        zone = process == nil ? RecordZone.ID(zoneName: "cumulus-bench") : .default
        records = BenchRecords(count: options.records, in: zone)
        database = container.privateCloudDatabase
        endpoint = configuration.endpoints[0]
        // Both name their cases alike.
        let mode = TLSTrust.Mode(rawValue: configuration.tls.rawValue)
        trust = TLSTrust(mode ?? .always, authority: configuration.authority)
        self.token = token
        self.node = node
        self.process = process
        self.directory = directory
    }

    // MARK: Life

    /// - Parameter servesHTTP: A private node serves web services too.
    static func open(
        _ options: BenchOptions,
        _ cleanup: Cleanup,
        servesHTTP: Bool = false
    ) async throws -> BenchTarget {
        if options.endpoint != nil { return try await openNamed(options) }
        let directory = try BenchDirectory.make(cleanup)
        var web: [String] = []
        if servesHTTP {
            web = ["--http", "127.0.0.1:0", "--web-apps", directory + "/web-apps.json"]
            let apps = Data(BenchServer.apps.text.utf8)
            try apps.write(to: URL(fileURLWithPath: directory + "/web-apps.json"))
        }
        let node = try BenchNode("node", in: directory, options, web, cleanup)
        return BenchTarget(
            options,
            Container.Configuration(endpoints: [node.endpoint]),
            token: try await node.makeUser(),
            node: node,
            process: node.process,
            directory: directory
        )
    }

    /// A server without a store, which answers everybody with the same record.
    static func openEcho(
        _ options: BenchOptions,
        _ cleanup: Cleanup
    ) throws -> BenchTarget {
        let server = try BenchProcess(["bound", "echo", "--listen", "127.0.0.1:0"], cleanup)
        guard let endpoint = server.readyAddress() else {
            throw BenchProblem(message: "the bound 'echo' did not start")
        }
        let configuration = Container.Configuration(endpoints: [endpoint])
        return BenchTarget(options, configuration, token: "", process: server)
    }

    /// The node of `--endpoint`, once it has taken the user: where it can't be reached, nothing
    /// was begun.
    private static func openNamed(_ options: BenchOptions) async throws -> BenchTarget {
        let configuration = try options.nodes.configuration(timeout: 10)
        let target = BenchTarget(options, configuration, token: options.token)
        do {
            _ = try await target.ownerName()
            return target
        } catch {
            await target.container.close()
            throw error
        }
    }

    /// Stops the private node, or removes from another one what was put there.
    func close() async {
        if process == nil { _ = try? await database.deleteRecordZone(withID: zone) }
        await container.close()
        process?.stop()
    }

    // MARK: The server

    /// The private node's address of HTTP; nil if it is not served.
    var webEndpoint: String? { node?.webEndpoint }

    /// Runs as the operator of the private node.
    func operate<Value>(_ body: (NodeOperator) async throws -> Value) async throws -> Value {
        guard let node else { throw BenchProblem(message: "this node has another operator") }
        return try await node.operate(body)
    }

    /// Runs callers on the thread of the connections.
    var executor: any TaskExecutor { container.connectionExecutor }

    /// The resources that the private node has used so far.
    var serverUse: ProcessUse? { process.flatMap { ProcessUse.of($0.id) } }

    /// The rows that the private node has handed to its engine so far; nil for another node, and
    /// for a server without a store.
    func engineRows() async throws -> EngineRows? {
        guard node != nil else { return nil }
        return try await operate { node in
            let status = try await node.status()
            return EngineRows(count: status.rows, bytes: status.rowBytes)
        }
    }

    /// The user record name of who owns the records.
    func ownerName() async throws -> String { try await container.userRecordID().recordName }

    // MARK: Records

    /// Saves all records in batches, and reads each of them once.
    func prepare(_ options: BenchOptions) async throws {
        if process == nil { try await database.save(RecordZone(zoneID: zone)) }
        try await fill(records, in: database, options)
        let lanes = options.connections
        try await BenchLanes.run(records.ids.batches, lanes: lanes, "reading records") {
            [database] ids, _ in
            let results = try await database.records(for: Array(ids))
            for result in results.values { _ = try result.get() }
        }
    }

    /// Saves all of these records in batches, with a parent if one is named.
    func fill(
        _ records: BenchRecords,
        in database: Database,
        _ options: BenchOptions,
        below parent: Record.ID? = nil
    ) async throws {
        let lanes = options.connections
        try await BenchLanes.run(records.ids.batches, lanes: lanes, "saving records") { ids, dice in
            let batch = ids.map { id in
                var record = records.record(id, &dice)
                record.parent = parent.map { Record.Reference(recordName: $0.recordName) }
                return record
            }
            try await database.save(batch, .changedKeys)
        }
    }

    /// Saves what the path `query` asks about, and the records that it replaces.
    func fill(_ items: BenchItems, _ options: BenchOptions) async throws {
        let (lanes, all) = (options.connections, 0..<items.count)
        try await BenchLanes.run(all.batches, lanes: lanes, "saving records") {
            [self] numbers, _ in
            try await save(numbers.map { items.record($0, type: "Item") })
        }
        for numbers in (0..<BenchItems.replaced).batches {
            try await save(numbers.map { items.record($0, type: "Plain") })
        }
    }

    /// Saves them whole, whatever is there.
    func save(_ records: [Record]) async throws {
        try await database.save(records, .changedKeys)
    }
}
