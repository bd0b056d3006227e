// Passwords, as commands take them: asked for on a terminal, or read from standard input or a file.
// Never from the command line, which everybody on the machine can see.
//
// Used by `cumulus user password`, `sign-in`, `login`, `register` and `password`.

import ArgumentParser
import CumulusModel
import CumulusSystem
import CumulusTerminal

struct PasswordOption: ParsableArguments {
    @Option(
        help: """
            File with the password, in one line. Without it the password is asked for, or read \
            from standard input where that is no terminal.
            """
    )
    var passwordFile: String?

    /// A user's present password; on a terminal it is asked for.
    func present(of name: String) throws -> String {
        try written() ?? HiddenInput.lines(["Password of \(name): "])[0]
    }

    /// A password to be set; on a terminal it is asked for twice.
    func new(of name: String) throws -> String {
        if let password = try written() { return password }
        let answers = try HiddenInput.lines(["New password of \(name): ", "The same again: "])
        guard answers[0] == answers[1] else {
            throw InputProblem("the two passwords differ; nothing was changed")
        }
        return answers[0]
    }

    /// nil if there is somebody to ask.
    private func written() throws -> String? {
        if let passwordFile { return try PasswordOption.password(of: passwordFile) }
        guard isatty(STDIN_FILENO) == 0 else { return nil }
        let data = try OpenFile.standardInput.readToEnd()
        return try PasswordOption.password(in: data, "standard input")
    }

    /// The only line of a file.
    static func password(of file: String) throws -> String {
        try password(in: InputFile.content(file, "the password file"), InputFile.name(file))
    }

    /// The only line of some data, without its end.
    static func password(in data: Data, _ origin: String) throws -> String {
        guard var text = String(utf8: Bytes(data)[...]) else {
            throw InputProblem("\(origin) is not text in UTF-8")
        }
        if text.last?.isNewline == true { text.removeLast() }
        guard !text.isEmpty, !text.contains(where: \.isNewline) else {
            throw InputProblem("\(origin) must hold a password, in one line")
        }
        return text
    }
}

/// The present password of a user and the new one.
struct PasswordChange: ParsableArguments {
    @Option(help: "File with the present password, in one line; it goes with the other one.")
    var passwordFile: String?
    @Option(help: "File with the new password, in one line.") var newPasswordFile: String?

    func validate() throws {
        guard (passwordFile == nil) == (newPasswordFile == nil) else {
            throw ValidationError("Give both --password-file and --new-password-file, or neither.")
        }
    }

    /// Asks for what no file holds.
    func both() throws -> (old: String, new: String) {
        if let passwordFile, let newPasswordFile {
            return (
                try PasswordOption.password(of: passwordFile),
                try PasswordOption.password(of: newPasswordFile)
            )
        }
        guard isatty(STDIN_FILENO) == 0 else {
            let answers = try HiddenInput.lines([
                "Present password: ", "New password: ", "The same again: ",
            ])
            guard answers[1] == answers[2] else {
                throw InputProblem("the two new passwords differ; nothing was changed")
            }
            return (answers[0], answers[1])
        }
        let data = try OpenFile.standardInput.readToEnd()
        return try PasswordChange.passwords(in: data)
    }

    /// The two lines of standard input.
    static func passwords(in data: Data) throws -> (old: String, new: String) {
        guard let end = data.firstIndex(of: UInt8(ascii: "\n")) else {
            throw InputProblem(
                "standard input must hold the present password and the new one, in a line each"
            )
        }
        return (
            try PasswordOption.password(in: data[...end], "the first line of standard input"),
            try PasswordOption.password(
                in: data[data.index(after: end)...],
                "the second line of standard input"
            )
        )
    }
}

/// Lines that a person types on the terminal of standard input, which doesn't show them.
enum HiddenInput {
    /// Asks one question after the other; throws if there is no answer to one.
    static func lines(_ questions: [String]) throws -> [String] {
        var settings = termios()
        guard tcgetattr(STDIN_FILENO, &settings) == 0 else {
            throw InputProblem("the terminal can't be asked for a password; use --password-file")
        }
        // A signal gives the terminal back as it was, too.
        let cleanup = Cleanup()
        cleanup.add(terminal: settings)
        defer { cleanup.run() }
        settings.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
        return try questions.map { question in
            writeToStandardError(question)
            let line = readLine()
            // The line break that the user typed is not shown either.
            writeToStandardError("\n")
            guard let line, !line.isEmpty else { throw InputProblem("no password was typed") }
            return line
        }
    }
}
