// The words of a line, as a shell would split them.
//
// Called by `ExampleProgram` for each line that it reads.

/// Splits a line at blanks, but not between double quotes.
public enum Words {
    /// The words of a line; none if it is blank or begins with #.
    ///
    /// - Throws: `StepProblem` if a quote is not closed.
    public static func split(_ line: String) throws -> [String] {
        var words: [String] = []
        var word: String?
        var isQuoted = false
        for character in line {
            if character == "\"" {
                isQuoted.toggle()
                word = word ?? ""
            } else if character.isWhitespace, !isQuoted {
                if let done = word { words.append(done) }
                word = nil
            } else {
                if character == "#", words.isEmpty, word == nil { return [] }
                word = (word ?? "") + String(character)
            }
        }
        guard !isQuoted else { throw StepProblem("a double quote is not closed") }
        if let word { words.append(word) }
        return words
    }
}
