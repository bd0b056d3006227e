// Two nodes, and a container at the first: cities, files, zones that users share, subscriptions.
//
// `cluster/chaos migrate` asks for more of each.

import Cumulus
import CumulusModel
import CumulusTerminal
import CumulusTesting
import Foundation
import Testing

/// How much is migrated: a little in the gate, and as much as is asked for in the deep form.
enum MigrationSize {
    static let cities = Chaos.isAsked ? 34_006 : 450
    static let files = Chaos.isAsked ? 2_000 : 12
    static let zones = Chaos.isAsked ? 50 : 3
    static let recordsOfZone = Chaos.isAsked ? 230 : 30
    static let kills = Chaos.isAsked ? Chaos.kills : 2
}

final class MigrationWorld: Sendable {
    static let schema = """
        DEFINE SCHEMA
        RECORD TYPE City (
            "___recordID" REFERENCE QUERYABLE,
            "___modTime" TIMESTAMP QUERYABLE SORTABLE,
            name STRING QUERYABLE, population INT64 QUERYABLE SORTABLE, area DOUBLE,
            names LIST<STRING>, place LOCATION, founded TIMESTAMP, code BYTES,
            capital REFERENCE, photo ASSET, views LIST<ASSET>,
            secret ENCRYPTED STRING,
            GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud", GRANT READ TO "_world"
        );
        """
    static let container = NodeProcess.container
    static let users = ["ada", "bob"]

    let folder: TestFolder
    let ports: (source: Int, web: Int, target: Int)

    init() throws {
        folder = try TestFolder()
        ports = (TestPort.free(), TestPort.free(), TestPort.free())
        try FileManager.default.createDirectory(
            atPath: folder.path + "/target",
            withIntermediateDirectories: true
        )
        try Data(Self.schema.utf8).write(to: URL(filePath: path("app.ckdb")))
    }

    func path(_ name: String) -> String { "\(folder.path)/\(name)" }

    func startSource() async throws -> NodeProcess {
        let node = try await NodeProcess.ready(
            data: folder.node,
            port: ports.source,
            arguments: ["--http", "127.0.0.1:\(ports.web)"]
        )
        _ = try await node.httpEndpoint()
        return node
    }

    func startTarget() async throws -> NodeProcess {
        try await NodeProcess.ready(data: path("target/node"), port: ports.target)
    }

    // MARK: The command line

    func operators(_ node: NodeProcess) throws -> [String: String] {
        [
            "CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_CONTAINER": Self.container,
            "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
        ]
    }

    /// The words of a migration: of the public database, or of a user.
    func words(_ user: String?) throws -> [String] {
        var words = [
            "migrate", "--from", "http://127.0.0.1:\(ports.web)", "--schema", path("app.ckdb"),
            "--state", path("state.json"), "--users", path("users"), "--json",
        ]
        if let user {
            words += ["--source-token-file", path("\(user).token")]
        } else {
            let id = try String(contentsOfFile: path("key.id"), encoding: .utf8)
            words += ["--source-key", path("key.pem"), "--source-key-id", id]
        }
        return words
    }

    /// Runs a migration, or compares, and returns what it says.
    func migrate(_ user: String?, into node: NodeProcess, _ more: String...) async throws -> JSON {
        let run = try await CommandLineRun(
            try words(user) + more,
            variables: try operators(node)
        )
        #expect(run.code == 0, "\(user ?? "public") \(more): \(run.errors)")
        return try JSONReader.read(run.output.utf8)
    }

    // MARK: The source

    func fill(_ node: NodeProcess) async throws {
        let variables = try operators(node)
        let schema = ["schema", "import", path("app.ckdb")]
        let made = try await CommandLineRun(schema, variables: variables)
        #expect(made.code == 0, "\(made.errors)")
        let key = try await CommandLineRun(
            ["key", "add", path("key.pem"), "--label", "migration", "--json"],
            variables: variables
        )
        guard case .string(let id)? = try JSONReader.read(key.output.utf8)["id"] else {
            throw ChildProcess.Failure("no key: \(key.errors)")
        }
        try Data(id.utf8).write(to: URL(filePath: path("key.id")))
        for user in Self.users {
            let token = try await node.makeToken(of: user)
            try Data(token.utf8).write(to: URL(filePath: path("\(user).token")))
        }
        let ada = try await signIn("ada", node)
        let bob = try await signIn("bob", node)
        // Each is called there as here: a share names a user before its own records come.
        let names = [
            "\(try await ada.userRecordID().recordName) ada",
            "\(try await bob.userRecordID().recordName) bob",
        ]
        try Data(names.joined(separator: "\n").utf8).write(to: URL(filePath: path("users")))
        try await fillPublic(ada.publicCloudDatabase, bob.publicCloudDatabase)
        try await fillZones(ada, bob)
        await ada.close()
        await bob.close()
    }

    func signIn(_ user: String, _ node: NodeProcess) async throws -> Container {
        var configuration = Container.Configuration(endpoints: [try node.endpoint])
        configuration.accessToken = try String(
            contentsOfFile: path("\(user).token"),
            encoding: .utf8
        )
        configuration.encryptionKeys = [try Self.encryptionKey()]
        return Container(identifier: Self.container, configuration: configuration)
    }

    static func encryptionKey() throws -> EncryptionKey {
        try #require(EncryptionKey(text: String(repeating: "5a", count: 32)))
    }

    /// A public record that `change` changes.
    static func changed(_ number: Int) -> String { "city-\(number % 200)" }

    /// Changes a city of Ada's.
    func change(_ number: Int, _ node: NodeProcess) async throws {
        let ada = try await signIn("ada", node)
        var city = Record(
            recordType: "City",
            recordID: Record.ID(recordName: Self.changed(number))
        )
        city["name"] = .string("Changed \(number)")
        try await save([city], in: ada.publicCloudDatabase)
        await ada.close()
    }

    /// What a migration said on standard error.
    func errors(_ turn: Int) -> String {
        (try? String(contentsOfFile: path("errors-\(turn)"), encoding: .utf8)) ?? ""
    }

    private func fillPublic(_ ada: Database, _ bob: Database) async throws {
        for start in stride(from: 0, to: MigrationSize.cities, by: 200) {
            let end = min(start + 200, MigrationSize.cities)
            // Each has its creator.
            let database = start / 200 % 2 == 0 ? ada : bob
            try await save((start..<end).map { Self.city($0) }, in: database)
        }
        for start in stride(from: 0, to: MigrationSize.files, by: 50) {
            let numbers = start..<min(start + 50, MigrationSize.files)
            try await save(numbers.map { Self.city($0, withFiles: true) }, in: ada)
        }
    }

    private func save(_ records: [Record], in database: Database) async throws {
        let results = try await database.modifyRecords(
            saving: records,
            deleting: [],
            savePolicy: .allKeys,
            atomically: false
        ).saveResults
        for case .failure(let error) in results.values { throw error }
    }

    static func city(
        _ number: Int,
        in zone: RecordZone.ID = .default,
        withFiles: Bool = false
    ) -> Record {
        let name = withFiles ? "file-\(number)" : "city-\(number)"
        var record = Record(
            recordType: "City",
            recordID: Record.ID(recordName: name, zoneID: zone)
        )
        record["name"] = .string("Ōsaka \(number) 🌻")
        record["population"] = .int64(Int64.max - Int64(number))
        record["area"] = .double(number % 3 == 0 ? .infinity : Double(number) / 3)
        record["names"] = number % 5 == 0 ? .list([]) : .list(["a", .string("b\(number)")])
        record["place"] = .location(
            Location(latitude: Double(number % 180) - 90, longitude: 11.5)
        )
        record["founded"] = .timestamp(Timestamp(millisecondsSince1970: -Int64(number)))
        record["code"] = .bytes([UInt8(truncatingIfNeeded: number), 0, 255])
        record["capital"] = .reference(Record.Reference(recordName: "city-\(number / 2)"))
        guard withFiles else { return record }
        let bytes = Data((0..<2_000 + number).map { UInt8(truncatingIfNeeded: $0 * number) })
        record["photo"] = .asset(Asset(data: bytes))
        record["views"] = .list([.asset(Asset(data: Data("\(number)".utf8)))])
        return record
    }

    private func fillZones(_ ada: Container, _ bob: Container) async throws {
        let database = ada.privateCloudDatabase
        let bobID = try await bob.userRecordID()
        for number in 0..<MigrationSize.zones {
            let zone = try await database.save(RecordZone(zoneName: "zone-\(number)")).zoneID
            var records = (0..<MigrationSize.recordsOfZone).map { Self.city($0, in: zone) }
            // A tree whose root comes last by name.
            records.append(
                Record(
                    recordType: "City",
                    recordID: Record.ID(recordName: "root", zoneID: zone)
                )
            )
            for index in records.indices.dropLast() {
                records[index].parent = Record.Reference(recordName: "root")
                records[index].encryptedValues["secret"] = .string("secret \(index)")
            }
            try await save(records.reversed(), in: database)
            guard number % 2 == 0 else { continue }
            let root = try await database.record(for: Record.ID(recordName: "root", zoneID: zone))
            var share = Share(rootRecord: root)
            share.title = "Zone \(number)"
            share.addParticipant(
                Share.Participant(userRecordID: bobID, permission: .readWrite)
            )
            share.addParticipant(
                Share.Participant(lookupInfo: .emailAddress("eve@example.org"))
            )
            let saved = try await database.save(share, rootRecord: root).share
            try await bob.accept(try #require(saved.url))
        }
        try await database.save(Subscription(id: "all", kind: .database()))
        let large = try Query.Predicate(format: "population > 1000")
        try await ada.publicCloudDatabase.save(
            Subscription(id: "large", kind: .query(recordType: "City", predicate: large))
        )
    }
}
