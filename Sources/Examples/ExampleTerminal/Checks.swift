// The commands that every example has, for scripts: they compare what happens with what should.
//
// Added by `ExampleProgram`.

import Foundation

/// Commands that fail unless something is as it should be.
@MainActor
struct Checks {
    private let terminal: Terminal
    private let run: @MainActor ([String]) async throws -> Void
    /// How long a script waits for what another process does.
    ///
    /// A node that was killed is noticed, and another one is asked, within this time.
    private let patience = Duration.seconds(60)

    init(_ terminal: Terminal, _ run: @escaping @MainActor ([String]) async throws -> Void) {
        self.terminal = terminal
        self.run = run
    }

    var commands: [ExampleCommand] {
        [
            ExampleCommand("wait TEXT", "Waits until a notification with this text was shown.") {
                let text = try $0.word(0, "the text")
                guard try await terminal.waitForNews(text, patience) else {
                    throw StepProblem("no notification with '\(text)' came in \(patience)")
                }
            },
            ExampleCommand("expect TEXT COMMAND", "Fails unless the command shows this text.") {
                let text = try $0.word(0, "the text")
                let shown = try await output(of: $0)
                guard shown.contains(text) else {
                    throw StepProblem("'\(text)' was not shown")
                }
            },
            ExampleCommand("until TEXT COMMAND", "Repeats a command until it shows this text.") {
                let text = try $0.word(0, "the text")
                let end = ContinuousClock.now + patience
                while true {
                    if try await output(of: $0).contains(text) { return }
                    guard ContinuousClock.now < end else {
                        throw StepProblem("'\(text)' was not shown in \(patience)")
                    }
                    try await Task.sleep(for: .milliseconds(200))
                }
            },
            ExampleCommand("refused TEXT COMMAND", "Fails unless the command fails with it.") {
                let text = try $0.word(0, "the text")
                do {
                    _ = try await output(of: $0)
                } catch {
                    let reason = sentence(of: error)
                    terminal.say("Refused: \(reason)")
                    if reason.contains(text) { return }
                    throw StepProblem("it was refused without saying '\(text)'")
                }
                throw StepProblem("it was not refused")
            },
        ]
    }

    /// The output of the command after the first word.
    private func output(of words: [String]) async throws -> String {
        terminal.beginCapture()
        do {
            try await run(Array(words.dropFirst()))
        } catch {
            _ = terminal.endCapture()
            throw error
        }
        return terminal.endCapture()
    }
}

/// The sentence about an error for the user.
func sentence(of error: any Error) -> String {
    if let problem = error as? StepProblem { return problem.description }
    return error.localizedDescription
}
