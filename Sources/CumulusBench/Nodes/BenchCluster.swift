// Private nodes of one cluster, for the paths `replicate` and `lag`.
//
// The first one is filled and loaded; others are started beside it, each with an empty data
// directory of its own.

import Cumulus
import CumulusModel
import CumulusTerminal
import Foundation

final class BenchCluster {
    private let options: BenchOptions
    private let directory: String
    private let cleanup: Cleanup
    /// Running nodes, in the order in which they were started.
    private(set) var members: [BenchNode] = []
    private var token = ""

    init(_ options: BenchOptions, _ directory: String, _ cleanup: Cleanup) {
        self.options = options
        self.directory = directory
        self.cleanup = cleanup
    }

    /// Starts a node beside the running ones.
    ///
    /// - Parameters:
    ///   - logSeconds: How long it keeps its log.
    ///   - threads: Its event loops; nil for as many as it takes by itself.
    @discardableResult
    func start(
        _ name: String,
        logSeconds: Int = 600,
        threads: Int? = nil
    ) async throws -> BenchNode {
        var arguments = [
            "--log-keep-seconds", String(logSeconds), "--cluster-key", try key(),
        ]
        if let first = members.first { arguments += ["--peers", first.endpoint] }
        if let threads { arguments += ["--threads", String(threads)] }
        let member = try BenchNode(name, in: directory, options, arguments, cleanup)
        members.append(member)
        if token.isEmpty { token = try await member.makeUser() }
        return member
    }

    func stopAll() {
        for member in members { member.process.stop() }
        members = []
    }

    /// The file with the cluster's key, made for this run.
    private func key() throws -> String {
        let file = "\(directory)/cluster.key"
        if FileManager.default.fileExists(atPath: file) { return file }
        let bytes = (0..<32).map { _ in UInt8.random(in: 0...255) }
        let made = FileManager.default.createFile(
            atPath: file,
            contents: Data(bytes.hex.utf8),
            attributes: [.posixPermissions: 0o600]
        )
        guard made else { throw BenchProblem(message: "\(file) can't be made") }
        return file
    }

    // MARK: Asking

    func container(
        _ member: BenchNode,
        connections: Int = 1,
        concern: Container.WriteConcern = .standard
    ) -> Container {
        var configuration = Container.Configuration(endpoints: [member.endpoint])
        configuration.accessToken = token
        configuration.writeConcern = concern
        configuration.connections = connections
        return Container(identifier: BenchNode.container, configuration: configuration)
    }

    /// Waits until all nodes hold equal data, including the cluster's own scope, so that each knows
    /// the user.
    func waitUntilEqual(seconds: Double) async throws {
        let end = Date(timeIntervalSinceNow: seconds)
        while true {
            var holdings: Set<[String]> = []
            for member in members {
                holdings.insert(try await member.operate { try await holding($0) })
            }
            if holdings.count == 1 { return }
            guard Date() < end else {
                throw BenchProblem(message: "the nodes are not equal after \(seconds) s")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// The content of each scope on a node; registers show only through the commits.
    private func holding(_ node: NodeOperator) async throws -> [String] {
        try await node.status().scopes.map {
            "\($0.container) \($0.environment) \($0.commits) \($0.digest)"
        }.sorted()
    }

    /// The digest of a node's records.
    static func digest(_ node: NodeOperator) async throws -> String? {
        try await node.status().scopes.first {
            $0.container == BenchNode.container && $0.environment == "development"
        }?.digest
    }
}
