// A node as a process of its own: `cumulusd`, built beside the tests, on loopback.
//
// Tests of the life of a process use it, and so do tests that could crash a node in their own
// process. Its output is kept in files beside its data. It is killed with this value at the latest.

import Foundation

package final class NodeProcess: Sendable {
    package typealias Failure = ChildProcess.Failure
    package typealias Ending = ChildProcess.Ending

    private let process: ChildProcess
    private let data: String

    package var pid: Int32 { process.pid }

    // MARK: Start

    /// No limits per caller: tests load nodes as they like.
    ///
    /// Flags go before these.
    private static let variables = [
        "CUMULUS_CALLS_PER_SECOND": "0", "CUMULUS_BYTES_PER_SECOND": "0",
        "CUMULUS_CALLS_AT_ONCE": "0",
    ]

    /// Starts the program and doesn't wait for it.
    ///
    /// - Parameters:
    ///   - data: The node's data directory.
    ///   - port: 0 takes a free one.
    ///   - prefix: Words that begin with the path of a program which becomes the node.
    package init(
        data: String,
        host: String = "127.0.0.1",
        port: Int = 0,
        prefix: [String] = [],
        arguments: [String] = [],
        environment: [String: String] = [:]
    ) throws {
        self.data = data
        let words =
            prefix + [try NodeProcess.program, "--data", data, "--listen", "\(host):\(port)"]
            + ["--profile", "small"] + arguments
        let inherited = ProcessInfo.processInfo.environment.filter {
            !$0.key.hasPrefix("CUMULUS_") && $0.key != "LD_PRELOAD"
        }
        process = try ChildProcess(
            words,
            variables: inherited.merging(NodeProcess.variables) { $1 }
                .merging(environment) { $1 },
            output: "\(data).out",
            errors: "\(data).err"
        )
    }

    /// Starts a node and waits until it is ready.
    package static func ready(
        data: String,
        host: String = "127.0.0.1",
        port: Int = 0,
        prefix: [String] = [],
        arguments: [String] = [],
        environment: [String: String] = [:]
    ) async throws -> NodeProcess {
        let node = try NodeProcess(
            data: data,
            host: host,
            port: port,
            prefix: prefix,
            arguments: arguments,
            environment: environment
        )
        try await node.wait(for: "ready")
        return node
    }

    /// Waits until the node says that it listens, or that it is ready.
    package func wait(for word: String) async throws {
        for _ in 0..<3_000 {
            if said(word) != nil { return }
            if ending != nil { break }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw Failure("the node never said '\(word)': \(errors)")
    }

    package static var program: String {
        get throws { try ChildProcess.builtProgram("cumulusd") }
    }

    // MARK: What it says

    package var output: String { NodeProcess.text(of: "\(data).out") }
    package var errors: String { NodeProcess.text(of: "\(data).err") }

    /// The address in a line such as "cumulusd ready on ADDRESS"; nil: the node has not said it.
    private func said(_ word: String) -> String? {
        let line = output.split(separator: "\n").first { $0.hasPrefix("cumulusd \(word) on ") }
        return line?.split(separator: " ").last.map(String.init)
    }

    /// Whether the node has said that it lets clients in.
    package var isReady: Bool { said("ready") != nil }

    /// "127.0.0.1:PORT", once the node listens.
    package var endpoint: String {
        get throws {
            guard let address = said("listens") else { throw Failure("the node never listened") }
            return address
        }
    }

    /// "127.0.0.1:PORT" of `--http`, once it is served.
    package func httpEndpoint() async throws -> String { try await endpoint(of: "HTTP") }

    /// "127.0.0.1:PORT" of `--grpc`, once it is served.
    package func grpcEndpoint() async throws -> String { try await endpoint(of: "gRPC") }

    private func endpoint(of what: String) async throws -> String {
        let start = "cumulusd serves \(what) on "
        for _ in 0..<2_000 {
            let line = output.split(separator: "\n").first { $0.hasPrefix(start) }
            if let line { return String(line.dropFirst(start.count)) }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw Failure("no \(what) is served: \(errors)")
    }

    package var port: Int {
        get throws { Int(try endpoint.split(separator: ":").last ?? "") ?? 0 }
    }

    package var operatorTokenFile: String { "\(data)/operator.token" }

    package var operatorToken: String {
        get throws {
            try String(contentsOfFile: operatorTokenFile, encoding: .utf8)
                .trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }

    private static func text(of file: String) -> String {
        (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
    }

    // MARK: End

    package func kill(_ signal: Int32) {
        process.kill(signal)
    }

    /// How the process ended; nil while it runs.
    package var ending: Ending? { process.ending }

    /// Waits for the end, for some seconds at most.
    package func waitForEnd(seconds: Double = 20) async throws -> Ending {
        do {
            return try await process.waitForEnd(seconds: seconds)
        } catch let error as Failure {
            throw Failure("\(error): \(errors)")
        }
    }

    /// Ends it with a signal and waits.
    @discardableResult
    package func end(_ signal: Int32) async throws -> Ending {
        kill(signal)
        return try await waitForEnd()
    }

    /// Bytes of memory that the process holds; nil where the system doesn't tell.
    package var residentBytes: Int? {
        let status = NodeProcess.text(of: "/proc/\(pid)/status").split(separator: "\n")
        guard let line = status.first(where: { $0.hasPrefix("VmRSS:") }) else { return nil }
        return line.split(separator: " ").compactMap { Int($0) }.first.map { $0 << 10 }
    }

    /// Seconds of processor time that the process has used; nil where the system doesn't tell.
    package var processorSeconds: Double? {
        // Behind the program's name, which is in brackets; the times are the 14th and 15th field.
        let status = NodeProcess.text(of: "/proc/\(pid)/stat").split(separator: ")").last
        let times = status?.split(separator: " ").dropFirst(11).prefix(2).compactMap { Double($0) }
        guard let times, times.count == 2 else { return nil }
        return (times[0] + times[1]) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
