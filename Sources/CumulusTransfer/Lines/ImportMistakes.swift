// The mistakes of an import: each kind with its first lines, and a count.
//
// A column of the wrong type makes as many failures as there are lines, all with one sentence.
// `Importer` enters every line that failed.

import CumulusModel
import CumulusTerminal

struct ImportMistakes {
    struct Mistake {
        var message: String
        /// The first one.
        var line: Int
        var lines: Int
    }

    /// Mistakes in the order of their first lines.
    var all: [Mistake] { mistakes.sorted { $0.line < $1.line } }

    private var mistakes: [Mistake] = []
    private var places: [String: Int] = [:]
    /// Lines that are told of each.
    private static let told = 3
    /// Mistakes that differ from line to line are reported for each line; at most this many are
    /// kept.
    private static let kept = 1_000

    /// Returns whether the line is to be told.
    mutating func add(_ message: String, line: Int) -> Bool {
        if let place = places[message] {
            mistakes[place].lines += 1
            mistakes[place].line = min(line, mistakes[place].line)
            return mistakes[place].lines <= ImportMistakes.told
        }
        if mistakes.count < ImportMistakes.kept {
            places[message] = mistakes.count
            mistakes.append(Mistake(message: message, line: line, lines: 1))
        }
        return true
    }

    /// The messages that remain for the end.
    var rest: [String] {
        all.filter { $0.lines > ImportMistakes.told }.map {
            let more = $0.lines - ImportMistakes.told
            return "\(counted(more, "more line")): \($0.message)"
        }
    }

    var json: JSON {
        .array(
            all.map {
                [
                    "error": .string($0.message), "line": .integer(Int64($0.line)),
                    "lines": .integer(Int64($0.lines)),
                ]
            }
        )
    }
}
