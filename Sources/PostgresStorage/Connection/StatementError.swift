// What went wrong with a statement, and what that means to the seam.
//
// Thrown by `Session`; `CommitWriter` judges the errors of commits, and readers turn theirs into
// errors of the engine.

import CumulusStorage

struct StatementError: Error {
    /// The five characters by which SQL names an error; empty if the server said nothing.
    let state: String
    let text: String
    /// The connection is gone, so that nobody knows whether the statement was run.
    let isLost: Bool

    init(state: String, text: String, isLost: Bool) {
        self.state = state
        self.text = StatementError.line(text)
        // A server that shuts down or ends a session says so, and then hangs up.
        self.isLost = isLost || state.hasPrefix("57P")
    }

    /// No room was left on the server's disk; nothing of the statement stays.
    var isFull: Bool { state == "53100" }

    /// The same statement may well succeed a moment later; nothing of it stays now.
    var isPassing: Bool {
        ["40001", "40P01", "53200", "55P03", "57014"].contains(state)
    }

    /// The error of a read.
    var ofReading: EngineError {
        switch state {
        case "XX001", "XX002": .corrupt("the database says: \(text)")
        case _ where isLost: .unavailable("the database says: \(text)")
        default: .failed("the database says: \(text)\(advice)")
        }
    }

    /// What an operator can do, where the server's words don't say.
    var advice: String {
        switch state {
        case "25006": "; it takes no writes: is it a standby now?"
        case "42P01", "42703", "3F000": "; were the tables dropped while the node ran?"
        case "42501": "; give the node's user its rights back"
        case "54000", "54001": "; a key or a row is larger than PostgreSQL takes"
        default: ""
        }
    }

    /// Messages of the server have several lines; a log has one.
    private static func line(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline)
            .map { $0.drop { $0 == " " || $0 == "\t" } }
            .joined(separator: "; ")
    }
}
