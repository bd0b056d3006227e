// A program that a test runs as a process of its own, and whose end it waits for.
//
// Used instead of Foundation's `Process`, which learns of an end by a socket that other processes
// started at the same time may inherit: then it hears of the end only when those have ended too.
// Nothing is asked here but the system's `waitpid`. The process is killed with this value at the
// latest, also when the test that waits for it is cancelled.

import Foundation
import Synchronization

package final class ChildProcess: Sendable {
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
    private let ended = Mutex<Ending?>(nil)

    // MARK: Start

    /// Starts a program and doesn't wait for it.
    ///
    /// `words` begin with the program's path. Its output goes to the files. `input` is a file
    /// descriptor that it reads from; with nil there is nothing to read.
    package init(
        _ words: [String],
        variables: [String: String],
        input: Int32? = nil,
        output: String,
        errors: String
    ) throws {
        #if os(Linux)
            var actions = posix_spawn_file_actions_t()
        #else
            var actions: posix_spawn_file_actions_t?
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        let flags = O_WRONLY | O_CREAT | O_TRUNC
        posix_spawn_file_actions_addopen(&actions, 1, output, flags, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, errors, flags, 0o600)
        var pid: pid_t = 0
        let settings = variables.map { "\($0.key)=\($0.value)" }
        let status = ChildProcess.withCStrings(words) { arguments in
            ChildProcess.withCStrings(settings) {
                posix_spawn(&pid, words[0], &actions, nil, arguments, $0)
            }
        }
        guard status == 0 else {
            throw Failure("\(words[0]): \(String(cString: strerror(status)))")
        }
        self.pid = pid
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

    deinit {
        guard ending == nil else { return }
        kill(SIGKILL)
        var status: Int32 = 0
        waitpid(pid, &status, 0)
    }

    /// Runs a program of the system by its name, to its end, which is near.
    package static func run(_ words: [String]) throws {
        let process = try ChildProcess(
            ["/usr/bin/env"] + words,
            variables: ["PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
            output: "/dev/null",
            errors: "/dev/null"
        )
        while process.ending == nil { usleep(1_000) }
        guard process.ending == .exit(0) else {
            throw Failure("'\(words.joined(separator: " "))' failed")
        }
    }

    /// A program that was built beside this process's own.
    package static func builtProgram(_ name: String) throws -> String {
        #if os(Linux)
            let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            let folder = own.deletingLastPathComponent()
        #else
            let tests = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
            let folder = (tests ?? .main).bundleURL.deletingLastPathComponent()
        #endif
        let program = folder.appendingPathComponent(name).path
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw Failure("\(program) is missing; run 'swift build'")
        }
        return program
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
    package func waitForEnd(seconds: Double) async throws -> Ending {
        for _ in 0..<Int(seconds * 200) {
            if let ending { return ending }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw Failure("process \(pid) did not end within \(seconds) s")
    }
}
