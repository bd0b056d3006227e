// The node that is loaded: a private one, or that of `--endpoint`.
//
// Opened once per group of paths. It hands out the database, the records, and what the server has
// used so far.
//
// Folder: the nodes that are loaded: their processes, their data, and who asks them. Read
// `BenchTarget`, then `BenchProcess` and `BenchCluster`.

import Cumulus
import CumulusModel
import CumulusTerminal
import CumulusTransport
import Foundation

final class BenchTarget: Sendable {
    let endpoint: String
    /// Whether connections to it are encrypted, and whose certificates are believed.
    let trust: TLSTrust
    /// Where the private node serves HTTP; nil: nowhere.
    let webEndpoint: String?
    /// Of the user who loads it.
    let token: String
    let database: Database
    /// The public one; of private nodes only.
    var publicDatabase: Database { container.publicCloudDatabase }
    let records: BenchRecords
    /// Where the private node has its data; bounds of the disk are measured there too.
    let directory: String?
    let containerName: String
    private let container: Container
    private let node: BenchProcess?
    let zone: RecordZone.ID

    private init(
        _ options: BenchOptions,
        _ configuration: Container.Configuration,
        webEndpoint: String? = nil,
        token: String,
        directory: String? = nil,
        node: BenchProcess? = nil
    ) {
        var configuration = configuration
        configuration.accessToken = token
        configuration.connections = options.connections
        configuration.assetDirectory = directory.map { "\($0)/downloads" }
        containerName = node == nil ? options.container : BenchTarget.container
        container = Container(identifier: containerName, configuration: configuration)
        // A node of somebody else has records of its own in the default zone.
        zone = node == nil ? RecordZone.ID(zoneName: "cumulus-bench") : .default
        records = BenchRecords(count: options.records, in: zone)
        database = container.privateCloudDatabase
        endpoint = configuration.endpoints[0]
        // Both name their cases alike.
        let mode = TLSTrust.Mode(rawValue: configuration.tls.rawValue)
        trust = TLSTrust(mode ?? .always, authority: configuration.authority)
        self.webEndpoint = webEndpoint
        self.token = token
        self.directory = directory
        self.node = node
    }

    static let container = "iCloud.dev.cumulus"
    /// Who owns the records of a private node.
    static let user = "bench"

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
        let node = try BenchProcess(
            [
                "--data", directory + "/node", "--listen", "127.0.0.1:0", "--profile",
                options.profile, "--container", container, "--log-level", "warning",
            ] + BenchProcess.withoutLimits + web,
            log: directory + "/node.log",
            cleanup
        )
        guard let addresses = node.readyAddresses() else {
            let log = try? String(contentsOfFile: directory + "/node.log", encoding: .utf8)
            throw BenchProblem(message: "the node did not start: \(log ?? "it said nothing")")
        }
        let endpoint = addresses.address
        let token = try await makeUser(directory, endpoint)
        return BenchTarget(
            options,
            Container.Configuration(endpoints: [endpoint]),
            webEndpoint: addresses.http,
            token: token,
            directory: directory,
            node: node
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
        return BenchTarget(options, configuration, token: "", node: server)
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

    private static func makeUser(_ directory: String, _ endpoint: String) async throws -> String {
        try await operate(directory, endpoint) { node in
            _ = try await node.addUser(user, in: container)
            let token = try await node.addToken(forUser: user)
            _ = try await node.importSchema(
                BenchSchema.text,
                of: container,
                .development
            )
            return token
        }
    }

    /// Runs as the operator of the private node.
    func operate<Value>(_ body: (NodeOperator) async throws -> Value) async throws -> Value {
        guard let directory else { throw BenchProblem(message: "this node has another operator") }
        return try await BenchTarget.operate(directory, endpoint, body)
    }

    private static func operate<Value>(
        _ directory: String,
        _ endpoint: String,
        _ body: (NodeOperator) async throws -> Value
    ) async throws -> Value {
        let file = directory + "/node/operator.token"
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let node = NodeOperator(
            endpoint: endpoint,
            token: text.trimmingCharacters(in: .whitespacesAndNewlines)
        )
        do {
            let value = try await body(node)
            await node.close()
            return value
        } catch {
            await node.close()
            throw error
        }
    }

    /// Stops the private node, or removes from another one what was put there.
    func close() async {
        if node == nil { _ = try? await database.deleteRecordZone(withID: zone) }
        await container.close()
        node?.stop()
    }

    /// Runs callers on the thread of the connections.
    var executor: any TaskExecutor { container.connectionExecutor }

    /// What the private node has used so far.
    var serverUse: ProcessUse? { node.flatMap { ProcessUse.of($0.id) } }

    /// What the private node has handed to its engine so far; nil for another node, and for a
    /// server without a store.
    func engineRows() async throws -> EngineRows? {
        guard directory != nil else { return nil }
        return try await operate { node in
            let status = try await node.status()
            return EngineRows(count: status.rows, bytes: status.rowBytes)
        }
    }

    // MARK: Records

    /// Saves all records in batches, and reads each of them once.
    func prepare(_ options: BenchOptions) async throws {
        if node == nil { try await database.save(RecordZone(zoneID: zone)) }
        let parts = stride(from: 0, to: records.ids.count, by: BenchOptions.batchSize).map {
            records.ids[$0..<min($0 + BenchOptions.batchSize, records.ids.count)]
        }
        try await each(parts, options, "saving records") { [self] ids, dice in
            try await save(ids.map { records.record($0, &dice) })
        }
        try await each(parts, options, "reading records") { [self] ids, _ in
            let results = try await database.records(for: Array(ids))
            for result in results.values { _ = try result.get() }
        }
    }

    /// The user record name of who owns the records.
    func ownerName() async throws -> String { try await container.userRecordID().recordName }

    /// Saves all of these records in batches, with a parent if one is named.
    func fill(
        _ records: BenchRecords,
        in database: Database,
        _ options: BenchOptions,
        below parent: Record.ID? = nil
    ) async throws {
        let size = BenchOptions.batchSize
        let parts = stride(from: 0, to: records.ids.count, by: size).map {
            records.ids[$0..<min($0 + size, records.ids.count)]
        }
        try await each(parts, options, "saving records") { ids, dice in
            let batch = ids.map { id in
                var record = records.record(id, &dice)
                record.parent = parent.map { Record.Reference(recordName: $0.recordName) }
                return record
            }
            let results = try await database.modifyRecords(
                saving: batch,
                deleting: [],
                savePolicy: .changedKeys
            )
            for result in results.saveResults.values { _ = try result.get() }
        }
    }

    /// Saves what the path `query` asks about, and the records that it replaces.
    func fill(_ items: BenchItems, _ options: BenchOptions) async throws {
        let size = BenchOptions.batchSize
        let parts = stride(from: 0, to: items.count, by: size).map {
            ($0..<min($0 + size, items.count)).map { BenchItems.id($0) }[...]
        }
        try await each(parts, options, "saving records") { [self] ids, _ in
            try await save(ids.map { items.record(BenchItems.number(of: $0), type: "Item") })
        }
        for start in stride(from: 0, to: BenchItems.replaced, by: size) {
            try await save((start..<start + size).map { items.record($0, type: "Plain") })
        }
    }

    /// Saves them whole, whatever is there.
    func save(_ records: [Record]) async throws {
        let results = try await database.modifyRecords(
            saving: records,
            deleting: [],
            savePolicy: .changedKeys
        )
        for result in results.saveResults.values { _ = try result.get() }
    }

    @concurrent
    private func each(
        _ parts: [ArraySlice<Record.ID>],
        _ options: BenchOptions,
        _ what: String,
        _ work:
            @escaping @Sendable (ArraySlice<Record.ID>, inout SeededGenerator) async throws -> Void
    ) async throws {
        let progress = BenchProgress(what)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<options.connections {
                group.addTask {
                    var dice = SeededGenerator(seed: UInt64(lane))
                    for index in stride(from: lane, to: parts.count, by: options.connections) {
                        try await work(parts[index], &dice)
                        if lane == 0 { progress.show(index, of: parts.count) }
                    }
                }
            }
            try await group.waitForAll()
        }
        progress.end()
    }
}
