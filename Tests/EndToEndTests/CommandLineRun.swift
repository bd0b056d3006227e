// The command line of this build, run to its end as a process of its own.

import CumulusTesting
import Foundation

struct CommandLineRun: Sendable {
    /// The exit code, or minus the number of the signal that ended the process.
    let code: Int32
    let output: String
    let errors: String

    /// Runs `cumulus` with these words, and with these variables alone.
    init(
        _ words: [String],
        variables: [String: String] = [:],
        input: FileHandle = .nullDevice
    ) async throws {
        let folder = try TestFolder()
        let (output, errors) = ("\(folder.path)/out", "\(folder.path)/err")
        let process = Process()
        process.executableURL = URL(filePath: try NodeProcess.program)
            .deletingLastPathComponent().appending(path: "cumulus")
        process.arguments = words
        process.environment = variables
        process.standardInput = input
        process.standardOutput = try CommandLineRun.file(output)
        process.standardError = try CommandLineRun.file(errors)
        let (ends, source) = AsyncStream<Void>.makeStream()
        process.terminationHandler = { _ in source.finish() }
        try process.run()
        for await _ in ends {}
        let status = process.terminationStatus
        code = process.terminationReason == .uncaughtSignal ? -status : status
        self.output = try String(contentsOfFile: output, encoding: .utf8)
        self.errors = try String(contentsOfFile: errors, encoding: .utf8)
    }

    private static func file(_ path: String) throws -> FileHandle {
        let url = URL(filePath: path)
        try Data().write(to: url)
        return try FileHandle(forWritingTo: url)
    }
}
