// A flipped bit in a table of a node: it answers for all other rows, says which ones it lost, and
// takes them from another node.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import RocksDBStorage
import Testing

/// Starts processes and waits for what they replicate: some seconds.
@Suite(.timeLimit(.minutes(2))) struct VerifyTests {
    private let folder: TestFolder
    private let key: String

    init() throws {
        folder = try TestFolder()
        key = "\(folder.path)/key"
        let hex = String(repeating: "5a", count: 32)
        try Data(hex.utf8).write(to: URL(filePath: key))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
    }

    private func start(_ name: String, beside peer: NodeProcess? = nil) async throws -> NodeProcess
    {
        var arguments = ["--cluster-key", key]
        if let peer { arguments += ["--peers", try peer.endpoint] }
        return try await NodeProcess.ready(data: "\(folder.path)/\(name)", arguments: arguments)
    }

    private func run(
        _ words: [String],
        at node: NodeProcess,
        code: Int32 = 0
    ) async throws -> JSON {
        let run = try await CommandLineRun(
            words + ["--json"],
            variables: [
                "CUMULUS_ENDPOINT": try node.endpoint,
                "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
            ]
        )
        #expect(run.code == code, "\(words): \(run.output) \(run.errors)")
        return try JSONReader.read(run.output.utf8)
    }

    private func list(_ json: JSON?) -> [JSON] {
        if case .array(let list)? = json { list } else { [] }
    }

    private func text(_ json: JSON?) -> String? {
        if case .string(let text)? = json { text } else { nil }
    }

    private func container(_ node: NodeProcess, _ token: String) throws -> Container {
        var configuration = Container.Configuration(endpoints: [try node.endpoint])
        configuration.accessToken = token
        return Container(identifier: TestServer.container, configuration: configuration)
    }

    private static let names = (0..<400).map { "note-\(1_000 + $0)" }

    private static func note(_ name: String) -> Record {
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: name))
        record["text"] = .string("text of \(name) " + String(repeating: "x", count: 300))
        return record
    }

    /// Two nodes with the same records; the second has flipped bits in a table.
    private func startDamaged(
        _ family: String,
        at places: (Data) -> [Int]
    ) async throws -> (first: NodeProcess, second: NodeProcess, token: String) {
        let first = try await start("first")
        let token = try await first.makeToken()
        var second = try await start("second", beside: first)
        let client = try container(first, token)
        for part in stride(from: 0, to: Self.names.count, by: 200) {
            _ = try await client.privateCloudDatabase.modifyRecords(
                saving: Self.names[part..<part + 200].map(Self.note),
                deleting: []
            )
        }
        await client.close()
        while try await unequal(at: second) {}
        try await second.end(SIGTERM)
        try makeTables()
        #expect(try damage(family, at: places))
        second = try await start("second", beside: first)
        while try await !isConnected(second) {}
        return (first, second, token)
    }

    /// Writes tables of all rows that are in memory, as a copy of the store does.
    private func makeTables() throws {
        let engine = try RocksDBEngine(
            directory: "\(folder.path)/second/store",
            profile: .small,
            reserve: 0
        )
        try engine.copy(to: "\(folder.path)/copy")
    }

    private func unequal(at node: NodeProcess) async throws -> Bool {
        let members = list(try await run(["cluster", "status"], at: node))
        let scopes = members.filter { text($0["state"]) == "connected" }
            .flatMap { list($0["scopes"]) }
        return scopes.isEmpty
            || !scopes.allSatisfy {
                $0["holdsTheSame"] == .bool(true) && $0["missing"] == .integer(0)
            }
    }

    private func isConnected(_ node: NodeProcess) async throws -> Bool {
        list(try await run(["cluster", "status"], at: node))
            .contains { text($0["state"]) == "connected" }
    }

    /// Flips bits in a table of a family; returns false if the family has no table.
    ///
    /// - Parameter places: In the file's content.
    private func damage(_ family: String, at places: (Data) -> [Int]) throws -> Bool {
        let store = "\(folder.path)/second/store"
        let files = try FileManager.default.contentsOfDirectory(atPath: store)
        for file in files where file.hasSuffix(".sst") {
            let url = URL(filePath: "\(store)/\(file)")
            var content = try Data(contentsOf: url)
            // Properties tell the family.
            guard content.firstRange(of: Data("name\(family)".utf8)) != nil else { continue }
            let places = places(content)
            if places.isEmpty { continue }
            for place in places { content[place] ^= 4 }
            try content.write(to: url)
            // The node knows of the damage: a merge that met it first would end the node.
            try Data("\(family)\n".utf8).write(to: URL(filePath: "\(store)/DAMAGED"))
            return true
        }
        return false
    }

    private func nodeID(of node: NodeProcess) async throws -> String {
        try #require(text(try await run(["status"], at: node)["node"]))
    }

    @Test func damagedRowsComeBackFromTheOtherNode() async throws {
        let (first, second, token) = try await startDamaged("records") {
            [$0.count / 5, $0.count / 2]
        }
        let client = try container(second, token)
        let database = client.privateCloudDatabase
        // The damaged ones say so, all others are there.
        let found = try await database.records(for: Self.names.map { Record.ID(recordName: $0) })
        let lost = Self.names.filter { name in
            guard case .failure(let error)? = found[Record.ID(recordName: name)] else {
                return false
            }
            return (error as? ServiceError)?.code == .internalError
        }
        #expect(lost.count >= 4)
        let peer = try await nodeID(of: first)

        let seen = try await run(["cluster", "verify", peer], at: second, code: 1)
        let rows = list(seen["damagedRows"])
        #expect(rows.compactMap { text($0["recordName"]) }.sorted() == lost)
        #expect(rows.allSatisfy { text($0["outcome"]) == "not asked" })
        #expect(rows.allSatisfy { text($0["zone"]) == Names.defaultZone })
        #expect(seen["damaged"] == .integer(Int64(lost.count)) && seen["mended"] == .integer(0))
        #expect(seen["different"] == .integer(0))

        let mended = try await run(["cluster", "verify", peer, "--repair"], at: second)
        #expect(mended["mended"] == .integer(Int64(lost.count)))
        #expect(mended["different"] == .integer(0))
        let again = try await run(["cluster", "verify", peer], at: second)
        #expect(again["damaged"] == .integer(0) && again["different"] == .integer(0))
        #expect(again["records"] == .integer(400))
        for name in lost {
            let record = try await database.record(for: Record.ID(recordName: name))
            #expect(record["text"] == Self.note(name)["text"])
        }
        // A walk through all of them meets no gap, and the nodes say that they are equal.
        var count = 0
        for try await _ in database.allRecords() { count += 1 }
        #expect(count == 400)
        _ = try await database.save(Self.note("note-1100b"))
        while try await unequal(at: second) {}
        await client.close()
        // The next start writes the table anew.
        try await second.end(SIGTERM)
        let third = try await start("second", beside: first)
        while try await !isConnected(third) {}
        #expect(third.errors.contains("written anew"), "\(third.errors)")
        let last = try await run(["cluster", "verify", peer], at: third)
        #expect(last["damaged"] == .integer(0) && last["records"] == .integer(401))
        #expect(first.ending == nil && third.ending == nil)
    }

    /// Indexes are not copied: they follow from the records.
    @Test func damagedIndexRowsAreMadeAnew() async throws {
        let (first, second, _) = try await startDamaged("index") { [$0.count / 3] }
        let peer = try await nodeID(of: first)
        let seen = try await run(["cluster", "verify", peer], at: second, code: 1)
        #expect(list(seen["damagedRows"]).map { text($0["kind"]) } == ["derived"])
        let mended = try await run(["cluster", "verify", peer, "--repair"], at: second)
        #expect(mended["damaged"] == .integer(1) && mended["mended"] == .integer(1))
        let again = try await run(["cluster", "verify", peer], at: second)
        #expect(again["damaged"] == .integer(0) && again["different"] == .integer(0))
        let container = ["--container", TestServer.container]
        let indexes = list(try await run(["index", "verify", "Note"] + container, at: second))
        #expect(!indexes.isEmpty)
        for index in indexes {
            #expect(index["missing"] == .integer(0) && index["wrong"] == .integer(0), "\(index)")
        }
    }
}
