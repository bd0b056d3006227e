// A private node: its process, its data, its operator, and the user who loads it.
//
// Started by `BenchTarget` and by `BenchCluster`. It has no limits per caller.

import Cumulus
import CumulusModel
import CumulusTerminal
import Foundation

struct BenchNode: Sendable {
    let name: String
    let endpoint: String
    /// The address of HTTP; nil if it is not served.
    let webEndpoint: String?
    let process: BenchProcess
    private let data: String

    static let container = "iCloud.dev.cumulus"
    /// The owner of the records.
    static let user = "bench"

    /// Starts it with its data in a directory, and waits until it is ready.
    ///
    /// - Parameter arguments: Arguments of `cumulusd`, beside the ones that all nodes have.
    init(
        _ name: String,
        in directory: String,
        _ options: BenchOptions,
        _ arguments: [String] = [],
        _ cleanup: Cleanup
    ) throws {
        self.name = name
        data = "\(directory)/\(name)"
        process = try BenchProcess(
            [
                "--data", data, "--listen", "127.0.0.1:0", "--profile", options.profile,
                "--container", BenchNode.container, "--log-level", "warning",
                "--calls-per-second", "0", "--bytes-per-second", "0", "--calls-at-once", "0",
            ] + arguments,
            log: data + ".log",
            cleanup
        )
        guard let addresses = process.readyAddresses() else {
            let log = try? String(contentsOfFile: data + ".log", encoding: .utf8)
            throw BenchProblem(message: "the node did not start: \(log ?? "it said nothing")")
        }
        endpoint = addresses.address
        webEndpoint = addresses.http
    }

    /// Runs as its operator.
    func operate<Value>(_ body: (NodeOperator) async throws -> Value) async throws -> Value {
        let token = try String(contentsOfFile: data + "/operator.token", encoding: .utf8)
        let node = NodeOperator(
            endpoint: endpoint,
            token: token.trimmingCharacters(in: .whitespacesAndNewlines),
            timeout: .seconds(60)
        )
        return try await node.use(body)
    }

    /// Adds the user and the schema, and returns the user's token.
    func makeUser() async throws -> String {
        try await operate { node in
            _ = try await node.addUser(BenchNode.user, in: BenchNode.container)
            _ = try await node.importSchema(BenchSchema.text, of: BenchNode.container, .development)
            return try await node.addToken(forUser: BenchNode.user)
        }
    }
}
