// A node whose data is in a PostgreSQL database: it is killed, its sessions are ended, a second one
// is started over the same database, or over a copy of it, also on another machine.

import Cumulus
import CumulusTesting
import Foundation
import Testing

@Suite(
    .timeLimit(.minutes(2)),
    .enabled(if: PostgresServer.isInstalled, Comment(rawValue: PostgresServer.missing))
)
struct DatabaseStoreTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// A client that has downloaded no assets before.
    private func container(_ node: NodeProcess, _ token: String) throws -> Container {
        var configuration = Container.Configuration(endpoints: [try node.endpoint])
        configuration.accessToken = token
        configuration.assetDirectory = "\(folder.path)/\(UUID().uuidString)"
        return Container(identifier: TestServer.container, configuration: configuration)
    }

    private func save(_ names: Range<Int>, at node: NodeProcess, _ token: String) async throws {
        let container = try container(node, token)
        for number in names {
            let id = Record.ID(recordName: "n\(number)")
            try await container.privateCloudDatabase
                .save(Record(recordType: "Note", recordID: id))
        }
        await container.close()
    }

    private func count(at node: NodeProcess, _ token: String) async throws -> Int {
        let container = try container(node, token)
        var count = 0
        for try await _ in container.privateCloudDatabase.allRecords() { count += 1 }
        await container.close()
        return count
    }

    /// The second node waits 10 s for the end of the first one before it gives up.
    @Test func rowsOutliveTheNodeAndItsConnections() async throws {
        let server = try PostgresServer.running()
        let database = try server.makeDatabase()
        let store = ["--store", server.url(of: database)]
        var node = try await NodeProcess.ready(data: folder.node, arguments: store)
        let token = try await node.makeToken()
        try await save(0..<20, at: node, token)
        try await #expect(node.end(SIGKILL) == .signal(SIGKILL))

        node = try await NodeProcess.ready(data: folder.node, arguments: store)
        let other = "\(folder.path)/other"
        let second = try NodeProcess(data: other, arguments: store)
        #expect(try await count(at: node, token) == 20)
        try await save(20..<30, at: node, token)
        try server.run(
            in: database,
            """
            SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
            WHERE application_name IN (SELECT 'cumulusd ' || id FROM cumulus_process)
                AND datname = current_database()
            """
        )
        try await save(30..<40, at: node, token)
        #expect(try await count(at: node, token) == 40)

        #expect(try await second.waitForEnd(seconds: 30) == .exit(1))
        #expect(second.errors.contains("is in use by another cumulusd"))
        #expect(second.errors.contains("start this one with --standby"))
        #expect(!FileManager.default.fileExists(atPath: other))
        #expect(try await count(at: node, token) == 40)
        try await #expect(node.end(SIGTERM) == .exit(0))
        #expect(!FileManager.default.fileExists(atPath: "\(folder.node)/store"))
    }

    /// The second machine has nothing but the settings: assets and keys are in the database, too.
    @Test func aNodeGoesOnOnAnotherMachine() async throws {
        let server = try PostgresServer.running()
        let store = ["--store", server.url(of: try server.makeDatabase())]
        var node = try await NodeProcess.ready(data: folder.node, arguments: store)
        let token = try await node.makeToken()
        let content = Data(SampleAsset.stream(1_500_000))
        let id = Record.ID(recordName: "p")
        do {
            let container = try container(node, token)
            var record = Record(recordType: "Photo", recordID: id)
            record["image"] = .asset(Asset(data: content))
            try await container.privateCloudDatabase.save(record)
            await container.close()
        }
        let operatorToken = try node.operatorToken
        try await #expect(node.end(SIGKILL) == .signal(SIGKILL))

        let other = "\(folder.path)/other"
        node = try await NodeProcess.ready(data: other, arguments: store)
        #expect(try node.operatorToken == operatorToken)
        let container = try container(node, token)
        let record = try await container.privateCloudDatabase.record(for: id)
        guard case .asset(let asset)? = record["image"] else {
            throw ChildProcess.Failure("the record has no asset")
        }
        let there = try await container.privateCloudDatabase.download(asset)
        let url = try #require(there.fileURL)
        #expect(try Data(contentsOf: url) == content)
        await container.close()
        try await #expect(node.end(SIGTERM) == .exit(0))
        for data in [folder.node, other] {
            #expect(!FileManager.default.fileExists(atPath: "\(data)/assets"))
            #expect(!FileManager.default.fileExists(atPath: "\(data)/store"))
        }
    }

    /// What belongs to files is refused, and says what to do.
    @Test func backupsAndRescuesAreForDirectories() async throws {
        let server = try PostgresServer.running()
        let store = ["--store", server.url(of: try server.makeDatabase())]
        let node = try await NodeProcess.ready(data: folder.node, arguments: store)
        let variables = [
            "CUMULUS_ENDPOINT": try node.endpoint,
            "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
        ]
        func run(_ words: String...) async throws -> CommandLineRun {
            try await CommandLineRun(words, variables: variables)
        }
        let backup = try await run("backup", "\(folder.path)/backup")
        #expect(backup.errors.contains("back up the database, such as with pg_dump"))
        #expect(!FileManager.default.fileExists(atPath: "\(folder.path)/backup"))
        try await #expect(node.end(SIGTERM) == .exit(0))
        let rescue = try await run("cluster", "rescue", folder.node)
        #expect(rescue.errors.contains("a rescue reads data directories only"))
    }

    /// It waits, says so to health checks, and ends at a signal as one that serves.
    @Test func aStandbyWaitsAndEndsAtASignal() async throws {
        let server = try PostgresServer.running()
        let store = ["--store", server.url(of: try server.makeDatabase()), "--standby"]
        // Nobody holds the store of the first one.
        let node = try await NodeProcess.ready(data: folder.node, arguments: store)
        let other = "\(folder.path)/other"
        let standby = try NodeProcess(
            data: other,
            arguments: store + ["--http", "127.0.0.1:0"]
        )
        let web = try await standby.httpEndpoint()
        for _ in 0..<1_000 where !standby.output.contains("cumulusd stands by while ") {
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(standby.output.contains(", process \(node.pid) holds the store"))
        #expect(try get("/livez", web).hasPrefix("HTTP/1.1 200"))
        let ready = try get("/readyz", web)
        #expect(ready.hasPrefix("HTTP/1.1 503"))
        #expect(ready.contains("standby\n"))
        #expect(try get("/console", web).hasPrefix("HTTP/1.1 503"))
        #expect(!FileManager.default.fileExists(atPath: other))
        try await #expect(standby.end(SIGTERM) == .exit(0))
        #expect(!FileManager.default.fileExists(atPath: other))
        try await #expect(node.end(SIGTERM) == .exit(0))
    }

    private func get(_ path: String, _ web: String) throws -> String {
        try RawClient.exchange(web, "GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
    }

    /// Packs and keys of one site, and rows of another one.
    @Test func aDirectoryOfAnotherDatabaseIsRefused() async throws {
        let server = try PostgresServer.running()
        let stores = try (0..<2).map { _ in server.url(of: try server.makeDatabase()) }
        let node = try await NodeProcess.ready(
            data: folder.node,
            arguments: ["--store", stores[0]]
        )
        try await #expect(node.end(SIGTERM) == .exit(0))
        let wrong = try NodeProcess(data: folder.node, arguments: ["--store", stores[1]])
        #expect(try await wrong.waitForEnd() == .exit(1))
        #expect(wrong.errors.contains("belongs to another store than the one in"))
    }

    /// A copy has the id of the node, and another member of the cluster finds two of them.
    @Test func aCopyOfTheDatabaseTakesNoWrites() async throws {
        let server = try PostgresServer.running()
        let database = try server.makeDatabase()
        let (port, other) = (TestPort.free(), TestPort.free())
        let key = ["--cluster-key", "\(folder.node)/cluster.key"]
        let store = ["--store", server.url(of: database), "--peers", "127.0.0.1:\(other)"]
        var node = try await NodeProcess.ready(data: folder.node, port: port, arguments: store)
        let token = try await node.makeToken()
        try await #expect(node.end(SIGTERM) == .exit(0))
        let copied = server.url(of: try server.copy(of: database))
        node = try await NodeProcess.ready(data: folder.node, port: port, arguments: store)
        let member = try await NodeProcess.ready(
            data: "\(folder.path)/member",
            port: other,
            arguments: key + ["--peers", "127.0.0.1:\(port)"]
        )
        let copy = try await NodeProcess.ready(
            data: "\(folder.path)/copy",
            arguments: key + ["--store", copied, "--peers", "127.0.0.1:\(other)"]
        )
        let text = "another process is alive that has this node's id"
        for _ in 0..<2_000 where !copy.errors.contains(text) {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(copy.errors.contains(text))
        #expect(copy.errors.contains("is a copy of another database"))
        try await save(0..<5, at: node, token)
        #expect(try await count(at: node, token) == 5)
        for one in [copy, member, node] { try await #expect(one.end(SIGTERM) == .exit(0)) }
    }

    @Test func aDatabaseThatIsNotThereIsNamed() async throws {
        let node = try NodeProcess(
            data: folder.node,
            arguments: ["--store", "postgres://cumulus:geheim@/none?host=\(folder.path)"]
        )
        // It tries for 10 s.
        #expect(try await node.waitForEnd(seconds: 30) == .exit(1))
        #expect(node.errors.contains("the database none on \(folder.path) can't be reached"))
        #expect(!node.errors.contains("geheim"))
    }
}
