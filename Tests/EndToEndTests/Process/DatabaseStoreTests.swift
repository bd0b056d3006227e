// A node whose data is in a PostgreSQL database: it is killed, its sessions are ended, and a second
// one is started over the same database, also on another machine.

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
            WHERE application_name LIKE 'cumulusd %' AND datname = current_database()
            """
        )
        try await save(30..<40, at: node, token)
        #expect(try await count(at: node, token) == 40)

        #expect(try await second.waitForEnd(seconds: 30) == .exit(1))
        #expect(second.errors.contains("is in use by another cumulusd"))
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
