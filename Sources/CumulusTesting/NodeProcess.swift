// A node as a process of its own: `cumulusd`, built beside the tests, on loopback.
//
// Used by tests of the life of a process, and by those that a node in their own process could bring
// down. What it says is kept in files beside its data. It is killed with this value at the latest.

import Foundation
import Synchronization

package final class NodeProcess: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(_ description: String) {
            self.description = description
        }
    }

    /// How a process ended.
    package enum Ending: Equatable, Sendable {
        case exit(Int32)
        case signal(Int32)
    }

    package let pid: Int32
    private let data: String
    private let ended = Mutex<Ending?>(nil)

    // MARK: Start

    /// Starts the program and doesn't wait for it.
    ///
    /// `data` is the node's data directory. Port 0 takes a free one.
    package init(
        data: String,
        port: Int = 0,
        arguments: [String] = [],
        environment: [String: String] = [:]
    ) throws {
        self.data = data
        let words =
            [try NodeProcess.program, "--data", data, "--listen", "127.0.0.1:\(port)"]
            + ["--profile", "small", "--disk-reserve", "0"] + arguments
        pid = try NodeProcess.spawn(
            words,
            environment,
            output: "\(data).out",
            errors: "\(data).err"
        )
    }

    /// Starts a node and waits until it is ready.
    package static func ready(
        data: String,
        port: Int = 0,
        arguments: [String] = [],
        environment: [String: String] = [:]
    ) async throws -> NodeProcess {
        let node = try NodeProcess(
            data: data,
            port: port,
            arguments: arguments,
            environment: environment
        )
        for _ in 0..<3_000 {
            if node.address != nil { return node }
            if node.ending != nil { break }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw Failure("the node is not ready: \(node.errors)")
    }

    deinit {
        guard ending == nil else { return }
        kill(SIGKILL)
        var status: Int32 = 0
        waitpid(pid, &status, 0)
    }

    /// The program beside this process's own.
    package static var program: String {
        get throws {
            #if os(Linux)
                let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
                let folder = own.deletingLastPathComponent()
            #else
                let tests = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
                let folder = (tests ?? .main).bundleURL.deletingLastPathComponent()
            #endif
            let program = folder.appendingPathComponent("cumulusd").path
            guard FileManager.default.isExecutableFile(atPath: program) else {
                throw Failure("\(program) is missing; run 'swift build'")
            }
            return program
        }
    }

    private static func spawn(
        _ words: [String],
        _ additions: [String: String],
        output: String,
        errors: String
    ) throws -> pid_t {
        let inherited = ProcessInfo.processInfo.environment.filter {
            !$0.key.hasPrefix("CUMULUS_") && $0.key != "LD_PRELOAD"
        }
        let variables = inherited.merging(additions) { $1 }.map { "\($0.key)=\($0.value)" }
        #if os(Linux)
            var actions = posix_spawn_file_actions_t()
        #else
            var actions: posix_spawn_file_actions_t?
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        let flags = O_WRONLY | O_CREAT | O_TRUNC
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, flags, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, errors, flags, 0o600)
        var pid: pid_t = 0
        let status = withCStrings(words) { arguments in
            withCStrings(variables) { posix_spawn(&pid, words[0], &actions, nil, arguments, $0) }
        }
        guard status == 0 else {
            throw Failure("\(words[0]): \(String(cString: strerror(status)))")
        }
        return pid
    }

    /// The strings as a C array that ends with nil.
    private static func withCStrings<Result>(
        _ strings: [String],
        _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies + [nil])
    }

    // MARK: What it says

    package var output: String { NodeProcess.text(of: "\(data).out") }
    package var errors: String { NodeProcess.text(of: "\(data).err") }

    /// "127.0.0.1:PORT", once the node is ready.
    private var address: String? {
        let line = output.split(separator: "\n").first { $0.hasPrefix("cumulusd ready on ") }
        return line?.split(separator: " ").last.map(String.init)
    }

    package var endpoint: String {
        get throws {
            guard let address else { throw Failure("the node was never ready") }
            return address
        }
    }

    package var port: Int {
        get throws { Int(try endpoint.split(separator: ":").last ?? "") ?? 0 }
    }

    package var operatorToken: String {
        get throws {
            try String(contentsOfFile: "\(data)/operator.token", encoding: .utf8)
                .trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }

    private static func text(of file: String) -> String {
        (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
    }

    // MARK: End

    package func kill(_ signal: Int32) {
        guard ending == nil else { return }
        #if canImport(Glibc)
            _ = Glibc.kill(pid, signal)
        #else
            _ = Darwin.kill(pid, signal)
        #endif
    }

    /// How the process ended; nil while it runs.
    package var ending: Ending? {
        ended.withLock { ended in
            var status: Int32 = 0
            guard ended == nil, waitpid(pid, &status, WNOHANG) == pid else { return ended }
            ended = status & 0x7F == 0 ? .exit(status >> 8 & 0xFF) : .signal(status & 0x7F)
            return ended
        }
    }

    /// Waits for the end, for some seconds at most.
    package func waitForEnd(seconds: Double = 20) async throws -> Ending {
        for _ in 0..<Int(seconds * 200) {
            if let ending { return ending }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw Failure("the node did not end within \(seconds) s: \(errors)")
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
}
