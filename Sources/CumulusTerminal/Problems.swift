// The errors of commands that no server reported: a type for each exit code.
//
// Thrown by commands and by what they call; `Failure` makes the line and the code of them.

/// Wrong usage that shows only when the command runs: exit code 64.
///
/// The parser would advise about all commands.
package struct UsageProblem: Error {
    package var message: String

    package init(_ message: String) {
        self.message = message
    }
}

/// Input that can't be used: exit code 65.
package struct InputProblem: Error, Equatable {
    package var message: String

    package init(_ message: String) {
        self.message = message
    }
}

/// A file or a pipe that takes nothing: exit code 74.
package struct OutputProblem: Error, Equatable {
    package var message: String

    package init(_ message: String) {
        self.message = message
    }
}
