// Files of records in a cluster of real processes: they follow the records, and come back to a node
// that lost them.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct AssetClusterTests {
    private let cluster: FaultCluster
    private static let id = Record.ID(recordName: "movie")

    init() throws {
        cluster = try FaultCluster(2)
    }

    private var content: Data {
        var dice = SeededGenerator(seed: 8)
        let words = (0..<1 << 20).map { _ in dice.next() }
        return words.withUnsafeBytes { Data($0) }
    }

    private func save(_ content: Data, on number: Int) async throws {
        let container = try cluster.container(number)
        var record = Record(recordType: "Movie", recordID: Self.id)
        record["file"] = .asset(Asset(data: content))
        _ = try await container.privateCloudDatabase.save(record)
        await container.close()
    }

    private func read(on number: Int) async throws -> Data? {
        let container = try cluster.container(number)
        let database = container.privateCloudDatabase
        let record = try await database.record(for: Self.id)
        guard case .asset(let asset) = record["file"] else { return nil }
        let bytes = try await database.bytes(of: asset, in: 0..<asset.size)
        await container.close()
        return Data(bytes)
    }

    /// Whether a node gets all bytes within a while.
    private func becomesWhole(_ number: Int, _ size: Int) async throws -> Bool {
        try await eventually(seconds: 30) {
            let status = try await cluster.status(cluster.nodes[number])
            guard case .integer(let bytes)? = status["assetBytes"] else { return false }
            return bytes >= size && status["assetsNotWhole"] == .integer(0)
        }
    }

    /// As in a backup that was made without its files: nobody has to ask for them.
    @Test func aNodeWithoutItsFilesGetsThemBack() async throws {
        let content = content
        try await cluster.use {
            try await cluster.start()
            try await save(content, on: 0)
            #expect(try await becomesWhole(1, content.count))
            try await #expect(cluster.nodes[1].end(SIGTERM) == .exit(0))
            try FileManager.default.removeItem(atPath: "\(cluster.data(1))/assets")
            try await cluster.restart(1)
            #expect(try await becomesWhole(1, content.count))
            try await #expect(cluster.nodes[0].end(SIGTERM) == .exit(0))
            #expect(try await read(on: 1) == content)
        }
    }

    /// The node that took the file leaves at once: the other one has it then.
    @Test func aNodeThatLeavesHandsItsFilesOver() async throws {
        let content = content
        try await cluster.use {
            try await cluster.start()
            try await save(content, on: 0)
            let left = try await CommandLineRun(
                ["cluster", "leave"],
                variables: [
                    "CUMULUS_ENDPOINT": try cluster.nodes[0].endpoint,
                    "CUMULUS_OPERATOR_TOKEN_FILE": cluster.nodes[0].operatorTokenFile,
                ]
            )
            #expect(left.code == 0, "\(left.errors)")
            try await #expect(cluster.nodes[0].waitForEnd() == .exit(0))
            #expect(try await read(on: 1) == content)
        }
    }
}
