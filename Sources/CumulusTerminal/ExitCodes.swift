// The exit codes of the programs that talk to nodes, and the end of each command's `--help`, which
// lists them.
//
// Thrown by commands; `Failure` finds the code of an error.

package import ArgumentParser
package import CumulusModel
import CumulusSystem

extension ExitCode {
    /// The server refused the call, or one of its items.
    package static let refused = ExitCode(1)
    package static let badInput = ExitCode(65)
    package static let unreachable = ExitCode(69)
    package static let internalError = ExitCode(70)
    package static let badOutput = ExitCode(74)
    /// The code that a shell reports for a process that SIGPIPE ended.
    package static let closedPipe = ExitCode(128 + SIGPIPE)
}

/// The end of a command's `--help`: examples, then the exit codes, the same everywhere.
package func help(_ examples: String..., note: String? = nil) -> String {
    help(examples, note: note, end: exitCodeText)
}

/// The same with another end.
package func help(_ examples: [String], note: String?, end: String) -> String {
    let lines = examples.map { "  " + $0 }.joined(separator: "\n")
    let heading = examples.count == 1 ? "Example" : "Examples"
    return (note.map { $0 + "\n\n" } ?? "") + "\(heading):\n\(lines)\n\n\(end)"
}

/// The exit codes of all commands, and how errors look with --json.
package let exitCodeText = """
    Exit codes: 0 done, 1 the server refused the call or an item of it, 64 wrong usage, \
    65 bad input, 69 the server can't be reached, 70 internal error, 74 the output can't be \
    written, 141 nobody reads it any more.

    With --json an error is a line of JSON on standard error: {"error": {"code": 11, "name": \
    "unknownItem", "message": "..."}}. The code is null where no server refused anything.
    """

extension ServiceError {
    /// No answer came: nothing was reached, or the connection was lost and stayed so.
    package var isUnreachable: Bool {
        switch code {
        case .networkUnavailable, .networkFailure, .serverResponseLost: true
        default: false
        }
    }
}
