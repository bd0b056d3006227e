// One thing that an example can do, and the error with which it says that it couldn't.
//
// Made by the examples, run by `ExampleProgram`.

/// A command of an example.
@MainActor
public struct ExampleCommand {
    /// How it is typed: its name, then its words, as in "add FILE TITLE".
    public let usage: String
    /// A sentence on what it does.
    public let help: String
    let run: @MainActor ([String]) async throws -> Void

    /// A command whose closure gets the words behind its name.
    public init(
        _ usage: String,
        _ help: String,
        _ run: @escaping @MainActor ([String]) async throws -> Void
    ) {
        self.usage = usage
        self.help = help
        self.run = run
    }

    var name: String { String(usage.prefix { $0 != " " }) }
}

/// Why a step failed, in words for the user.
public struct StepProblem: Error, CustomStringConvertible {
    /// A sentence.
    public let description: String

    /// A problem that a user can do something about.
    public init(_ description: String) {
        self.description = description
    }
}

extension [String] {
    /// The word at a place of a command's words.
    ///
    /// - Throws: `StepProblem` with the name of what is missing.
    public func word(_ index: Int, _ name: String) throws -> String {
        guard indices.contains(index) else { throw StepProblem("\(name) is missing") }
        return self[index]
    }

    /// A number at a place of a command's words; nil if there are fewer words.
    ///
    /// - Throws: `StepProblem` if the word is no number.
    public func number(_ index: Int) throws -> Int? {
        guard indices.contains(index) else { return nil }
        guard let number = Int(self[index]) else {
            throw StepProblem("'\(self[index])' is no number")
        }
        return number
    }
}
