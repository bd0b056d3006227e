// The frame of an example: its commands at a prompt, or as the steps of a script.
//
// Each example's `main` makes one and calls `run`. A script ends with the first step that fails:
// the program says which one and why, and exits with 1. At the prompt the user tries again.

import Foundation

/// A program whose commands people type, or a script gives.
///
/// ```swift
/// @main
/// struct Main {
///     @MainActor static func main() async {
///         let terminal = Terminal()
///         let app = PhotosApp(terminal)
///         await ExampleProgram("CloudPhotos", "Photos.", app.commands, terminal).run()
///     }
/// }
/// ```
@MainActor
public final class ExampleProgram {
    private let name: String
    private let about: String
    private let terminal: Terminal
    private var commands: [ExampleCommand]

    /// A program of these commands and the common commands of all examples.
    ///
    /// - Parameter about: One or two sentences for the help text.
    public init(
        _ name: String,
        _ about: String,
        _ commands: [ExampleCommand],
        _ terminal: Terminal
    ) {
        self.name = name
        self.about = about
        self.terminal = terminal
        self.commands = commands
        self.commands +=
            Checks(terminal) { [unowned self] in
                try await perform($0)
            }.commands
    }

    // MARK: - Running

    /// Does what the process's arguments say, and ends the process.
    ///
    /// - Parameter words: The arguments without the program's name.
    public func run(_ words: [String] = Array(CommandLine.arguments.dropFirst())) async -> Never {
        switch words.first {
        case nil:
            await prompt()
        case "-h", "--help", "help":
            showHelp(of: words.dropFirst().first)
        case "--script":
            guard words.count == 2 else { end("--script needs a file, or - for standard input.") }
            await script(words[1])
        case .some(let word) where word.hasPrefix("-"):
            end("'\(word)' is no option. See \(name) --help.")
        case .some:
            await step(words)
        }
        exit(0)
    }

    /// One command, whose failure ends the process.
    private func step(_ words: [String]) async {
        do {
            try await perform(words)
        } catch {
            end(sentence(of: error))
        }
    }

    private func script(_ path: String) async {
        var number = 0
        if path == "-" {
            while let line = await terminal.line() {
                number += 1
                await step(line, number)
            }
        } else {
            guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
                end("The script \(path) can't be read.")
            }
            for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
                number += 1
                await step(String(line), number)
            }
        }
    }

    /// One line of a script, whose failure ends the process.
    private func step(_ line: String, _ number: Int) async {
        do {
            let words = try Words.split(line)
            guard let first = words.first else { return }
            if first == "quit" { exit(0) }
            terminal.say("> \(line.trimmingCharacters(in: .whitespaces))")
            try await perform(words)
            terminal.say("ok")
        } catch {
            end("Line \(number), '\(line)', failed: \(sentence(of: error))")
        }
    }

    private func prompt() async {
        terminal.say("\(about)\nType help to see what there is, and quit to leave.")
        while true {
            terminal.write("\(name)> ")
            guard let line = await terminal.line() else { return terminal.say("") }
            do {
                let words = try Words.split(line)
                guard let first = words.first else { continue }
                if first == "quit" || first == "exit" { return }
                try await perform(words)
            } catch {
                terminal.say(sentence(of: error))
            }
        }
    }

    /// Runs a command.
    private func perform(_ words: [String]) async throws {
        guard let name = words.first else { throw StepProblem("a command is missing") }
        if name == "help" { return showHelp(of: words.dropFirst().first) }
        guard let command = commands.first(where: { $0.name == name }) else {
            throw StepProblem("there is no command '\(name)'; type help to see all")
        }
        try await command.run(Array(words.dropFirst()))
    }

    /// Ends the process with a sentence and exit code 1.
    private func end(_ sentence: String) -> Never {
        let stop = sentence.hasSuffix(".") ? "" : "."
        FileHandle.standardError.write(Data("\(name): \(sentence)\(stop)\n".utf8))
        exit(1)
    }

    // MARK: - Help

    private func showHelp(of name: String?) {
        if let name {
            guard let command = commands.first(where: { $0.name == name }) else {
                return terminal.say("There is no command '\(name)'.")
            }
            return terminal.say("\(command.usage)\n    \(command.help)")
        }
        let rows = commands.map { [$0.usage, $0.help] }
        terminal.say(
            """
            \(about)

            Usage:
              \(self.name)                   a prompt
              \(self.name) COMMAND WORD...   one command
              \(self.name) --script FILE     each line of the file is a command; - is standard input

            A script ends at the first command that fails, with exit code 1. Words with spaces stand
            in double quotes; a line that begins with # is a comment. Where the server is, and who
            is signed in, say CUMULUS_ENDPOINT, CUMULUS_CONTAINER and CUMULUS_TOKEN, or the file
            that 'cumulus login' writes.

            Commands:
            \(Table(rows).lines.map { "  \($0)" }.joined(separator: "\n"))
              help [COMMAND], quit

            Example:
              \(self.name) expect "photos" list
            """
        )
    }
}
