// A Python with gRPC: grpcio and its tools, from PyPI, in a folder that stays from one run to the
// next.
//
// `GRPCTests` run their client with it. It is made at the first run, which takes half a minute and
// a network; where that is not possible the tests are skipped, and say so. `CUMULUS_GRPC_PYTHON`
// names another one.

import CumulusTesting
import Foundation
import Testing

enum GRPCPython {
    static let skipped: Comment = "no Python with grpcio: see GRPCPython"

    /// The path of the interpreter; nil if there is none and none could be made.
    static let path: String? = named ?? made

    private static let needs = ["grpc", "grpc_tools", "grpc_reflection", "grpc_health"]
    private static let packages = [
        "grpcio", "grpcio-tools", "grpcio-reflection", "grpcio-health-checking",
    ]

    private static var named: String? {
        ProcessInfo.processInfo.environment["CUMULUS_GRPC_PYTHON"]
    }

    private static var made: String? {
        let cache = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
        guard let folder = cache?.appending(path: "cumulus/grpc-python").path() else { return nil }
        let python = "\(folder)/bin/python3"
        if hasModules(python) { return python }
        _ = try? run("/usr/bin/env", ["python3", "-m", "venv", folder])
        _ = try? run(python, ["-m", "pip", "install", "-q"] + packages)
        return hasModules(python) ? python : nil
    }

    private static func hasModules(_ python: String) -> Bool {
        guard FileManager.default.isExecutableFile(atPath: python) else { return false }
        let words = ["-c", "import " + needs.joined(separator: ", ")]
        return (try? run(python, words))?.code == 0
    }

    /// Runs a program to its end; returns its exit code, and all that it printed.
    static func run(
        _ program: String,
        _ words: [String],
        in folder: String? = nil
    ) throws -> (code: Int32, text: String) {
        let output = Pipe()
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = words
        process.standardOutput = output
        process.standardError = output
        if let folder { process.currentDirectoryURL = URL(filePath: folder) }
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: data, as: UTF8.self))
    }
}
