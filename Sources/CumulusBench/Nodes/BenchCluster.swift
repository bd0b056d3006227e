// Private nodes of one cluster, for the path `replicate`.
//
// The first one is filled and loaded; followers are started beside it, each with an empty data
// directory of its own.

import Cumulus
import CumulusModel
import CumulusTerminal
import Foundation

final class BenchCluster {
    /// A node that runs.
    struct Member {
        let name: String
        let endpoint: String
        let process: BenchProcess
    }

    private let options: BenchOptions
    private let directory: String
    private let cleanup: Cleanup
    private(set) var members: [Member] = []
    private(set) var token = ""
    static let container = "iCloud.dev.cumulus"

    init(_ options: BenchOptions, _ directory: String, _ cleanup: Cleanup) {
        self.options = options
        self.directory = directory
        self.cleanup = cleanup
    }

    /// Starts a node beside those that run.
    ///
    /// - Parameters:
    ///   - logSeconds: How long it keeps its log.
    ///   - threads: Its event loops; nil for as many as it takes by itself.
    @discardableResult
    func start(
        _ name: String,
        logSeconds: Int = 600,
        threads: Int? = nil
    ) async throws -> Member {
        let first = members.first
        var arguments = [
            "--data", data(name), "--listen", "127.0.0.1:0", "--profile", options.profile,
            "--container", BenchCluster.container, "--log-level", "warning",
            "--log-keep-seconds", String(logSeconds), "--cluster-key", try key(),
        ]
        arguments += BenchProcess.withoutLimits
        if let first { arguments += ["--peers", first.endpoint] }
        if let threads { arguments += ["--threads", String(threads)] }
        let process = try BenchProcess(arguments, log: data(name) + ".log", cleanup)
        guard let endpoint = process.readyAddress() else {
            let log = try? String(contentsOfFile: data(name) + ".log", encoding: .utf8)
            throw BenchProblem(message: "the node did not start: \(log ?? "it said nothing")")
        }
        let member = Member(name: name, endpoint: endpoint, process: process)
        members.append(member)
        if token.isEmpty { token = try await makeUser(member) }
        return member
    }

    func stop(_ name: String) {
        for member in members where member.name == name { member.process.stop() }
        members.removeAll { $0.name == name }
    }

    func stopAll() {
        for member in members { member.process.stop() }
        members = []
    }

    private func data(_ name: String) -> String { "\(directory)/\(name)" }

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
        _ member: Member,
        connections: Int = 1,
        concern: Container.WriteConcern = .standard
    ) -> Container {
        var configuration = Container.Configuration(endpoints: [member.endpoint])
        configuration.accessToken = token
        configuration.writeConcern = concern
        configuration.connections = connections
        return Container(identifier: BenchCluster.container, configuration: configuration)
    }

    /// Runs as a node's operator.
    func operate<Value>(
        _ member: Member,
        _ body: (NodeOperator) async throws -> Value
    ) async throws -> Value {
        let text = try String(
            contentsOfFile: data(member.name) + "/operator.token",
            encoding: .utf8
        )
        let node = NodeOperator(
            endpoint: member.endpoint,
            token: text.trimmingCharacters(in: .whitespacesAndNewlines),
            timeout: .seconds(60)
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

    private func makeUser(_ member: Member) async throws -> String {
        try await operate(member) { node in
            _ = try await node.addUser("bench", in: BenchCluster.container)
            _ = try await node.importSchema(
                BenchSchema.text,
                of: BenchCluster.container,
                .development
            )
            return try await node.addToken(forUser: "bench")
        }
    }

    /// Waits until all nodes hold the same, the cluster's own scope included: with that, each of
    /// them knows the user.
    func waitUntilEqual(seconds: Double) async throws {
        let end = Date(timeIntervalSinceNow: seconds)
        while true {
            var holdings: Set<[String]> = []
            for member in members {
                holdings.insert(try await operate(member) { try await holding($0) })
            }
            if holdings.count == 1 { return }
            guard Date() < end else {
                throw BenchProblem(message: "the nodes are not equal after \(seconds) s")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// What a node holds of each scope; registers are told by the commits only.
    private func holding(_ node: NodeOperator) async throws -> [String] {
        try await node.status().scopes.map {
            "\($0.container) \($0.environment) \($0.commits) \($0.digest)"
        }.sorted()
    }

    /// What a node holds of the records.
    func digest(_ node: NodeOperator) async throws -> String? {
        try await node.status().scopes.first {
            $0.container == BenchCluster.container && $0.environment == "development"
        }?.digest
    }
}
