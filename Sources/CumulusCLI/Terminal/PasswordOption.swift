// Passwords, as commands take them: asked for on a terminal, or read from standard input or a file.
// Never from the command line, which everybody on the machine can see.
//
// Used by `cumulus user password`, `sign-in` and `login`.

import ArgumentParser
import CumulusBulk
import CumulusModel
import Foundation

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
        if let passwordFile {
            guard let data = FileManager.default.contents(atPath: passwordFile) else {
                throw InputProblem("the password file \(passwordFile) can't be read")
            }
            return try PasswordOption.password(in: data, passwordFile)
        }
        guard isatty(STDIN_FILENO) == 0 else { return nil }
        let data = try FileHandle.standardInput.readToEnd() ?? Data()
        return try PasswordOption.password(in: data, "standard input")
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
            // The one that was typed is not shown either.
            writeToStandardError("\n")
            guard let line, !line.isEmpty else { throw InputProblem("no password was typed") }
            return line
        }
    }
}
