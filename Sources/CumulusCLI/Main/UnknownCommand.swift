// A command line that names a command which is not there: what to say of it, and which one it may
// mean.
//
// Asked by `Main` for a line that the parser refused: the parser would speak of its options.

import ArgumentParser

enum UnknownCommand {
    /// Programs of their own that were commands once, by the commands' names.
    private static let programs = ["bench": "cumulus-bench"]

    /// The message; nil if the words lead to a command, or to a group of commands.
    ///
    /// - Parameter words: The command line, without the program's name.
    static func message(_ words: [String]) -> String? {
        var group: any ParsableCommand.Type = Main.self
        var path: [String] = []
        // The words behind an option may be its value.
        for word in words.filter({ $0 != "--json" }).prefix(while: { !$0.hasPrefix("-") }) {
            let commands = group.configuration.subcommands
            // The parser adds the command 'help' to the first level.
            if commands.isEmpty || path.isEmpty && word == "help" { return nil }
            guard let next = commands.first(where: { $0._commandName == word }) else {
                return message(word, in: path, of: commands.map { $0._commandName })
            }
            group = next
            path.append(word)
        }
        return nil
    }

    private static func message(_ word: String, in path: [String], of names: [String]) -> String {
        if path.isEmpty, let program = programs[word] {
            return "'\(word)' is a program: type '\(program)' in place of 'cumulus \(word)'"
        }
        func full(_ name: String) -> String { (path + [name]).joined(separator: " ") }
        let help = (["cumulus"] + path + ["--help"]).joined(separator: " ")
        let unknown = "there is no command '\(full(word))'"
        guard let nearest = nearest(word, of: names) else { return "\(unknown); see '\(help)'" }
        return "\(unknown); did you mean '\(full(nearest))'? See '\(help)'"
    }

    /// The name that differs by the fewest letters: by one, or by a third of a long one.
    private static func nearest(_ word: String, of names: [String]) -> String? {
        names.map { ($0, distance(Array(word.lowercased()), Array($0))) }
            .filter { $0.1 <= max(1, $0.0.count / 3) }
            .min { $0.1 < $1.1 }?.0
    }

    /// How many letters have to be added, taken away or replaced.
    private static func distance(_ one: [Character], _ other: [Character]) -> Int {
        var row = Array(0...other.count)
        for (line, letter) in one.enumerated() {
            var diagonal = row[0]
            row[0] = line + 1
            for (column, another) in other.enumerated() {
                let replaced = diagonal + (letter == another ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, diagonal + 1, row[column] + 1)
            }
        }
        return row[other.count]
    }
}
