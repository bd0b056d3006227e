// Files that commands take secrets from: tokens, passwords and keys. A pipe, `<(...)`, a FIFO and
// `-` for standard input do as well as a file.
//
// Used by every option that names such a file, so that all of them read alike.

import CumulusModel
import CumulusSystem
import CumulusTerminal
import Synchronization

enum InputFile {
    /// What was read in this process: a pipe gives its content once.
    private static let known = Mutex<[String: Data]>([:])

    /// All that a file holds, up to its end.
    ///
    /// A command that asks again for the same path gets the same bytes.
    ///
    /// - Parameter what: What the file is, in words that begin the error.
    static func content(_ path: String, _ what: String) throws -> Data {
        if let data = known.withLock({ $0[path] }) { return data }
        let data = try read(path, what)
        known.withLock { $0[path] = data }
        return data
    }

    /// The name of a file in an error: `-` is standard input.
    static func name(_ path: String) -> String { path == "-" ? "standard input" : path }

    private static func read(_ path: String, _ what: String) throws -> Data {
        do {
            let file = try path == "-" ? OpenFile.standardInput : OpenFile(reading: path)
            return try file.readToEnd()
        } catch let problem {
            throw InputProblem("\(what) \(name(path)) can't be read: \(problem)")
        }
    }
}

/// The file of `--token-file`: one word, with one line break behind it or none.
enum TokenFile {
    /// Node's tokens have less than 100 bytes; an identity provider's have some thousand.
    private static let mostBytes = 64 << 10
    /// How operators' tokens begin, as nodes make them.
    static let operatorPrefix = "cumulus_operator_"

    /// The token that a file, a pipe or standard input holds.
    ///
    /// - Parameter what: What the token is, in words: "the token".
    static func token(_ path: String, _ what: String = "the token") throws -> String {
        try token(in: InputFile.content(path, what), InputFile.name(path), what)
    }

    /// The token that some bytes are.
    static func token(in data: Data, _ origin: String, _ what: String) throws -> String {
        guard data.count <= mostBytes, var text = String(utf8: Bytes(data)[...]) else {
            throw InputProblem("\(origin) is not \(what): it is no text, or too long for one")
        }
        if text.last?.isNewline == true { text.removeLast() }
        guard !text.isEmpty, !text.contains(where: \.isWhitespace) else {
            throw InputProblem("\(origin) does not hold \(what): it is one word")
        }
        return text
    }
}
