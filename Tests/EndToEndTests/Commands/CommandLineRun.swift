// A command line of this build, run to its end as a process of its own.

import CumulusTesting
import Foundation

struct CommandLineRun: Sendable {
    /// The exit code, or minus the number of the signal that ended the process.
    let code: Int32
    let output: String
    let errors: String

    /// Runs a program with these words, and with these variables alone.
    ///
    /// `input` is a file descriptor that it reads from; `prefix` begins with the path of a program
    /// that runs the command.
    init(
        _ words: [String],
        program: String = "cumulus",
        variables: [String: String] = [:],
        input: Int32? = nil,
        prefix: [String] = []
    ) async throws {
        let folder = try TestFolder()
        let (output, errors) = ("\(folder.path)/out", "\(folder.path)/err")
        let process = try ChildProcess(
            prefix + [try ChildProcess.builtProgram(program)] + words,
            variables: variables,
            input: input,
            output: output,
            errors: errors
        )
        switch try await process.waitForEnd(seconds: 100) {
        case .exit(let code): self.code = code
        case .signal(let signal): code = -signal
        }
        self.output = try String(contentsOfFile: output, encoding: .utf8)
        self.errors = try String(contentsOfFile: errors, encoding: .utf8)
    }
}
