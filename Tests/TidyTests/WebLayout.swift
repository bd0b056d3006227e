// How deep the lines of scripts and style sheets stand: two spaces for each level.
//
// Called by `WebRules`. What follows a bracket at a line's end is one level deeper than that line.
// A line that begins with closing brackets is as deep as the line of the last bracket that it
// closes. A statement begins at the level of its block. A line that goes on with the one before may
// be as deep as it likes, in steps of two spaces.

struct WebLayout {
    private struct Bracket {
        var character: Character
        var line: Int
        var indentation: Int
        var isOfSwitch: Bool
    }

    private static let pairs: [Character: Character] = ["}": "{", "]": "[", ")": "("]

    private var open: [Bracket] = []
    /// The line of code before; empty at the begin.
    private var before = Substring()
    private var indentationBefore = 0
    private var wrong: [String] = []

    /// The violations in the layout of code whose comments and texts are blank.
    static func violations(_ code: String) -> [String] {
        var layout = WebLayout()
        let lines = code.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (number, line) in zip(1..., lines) {
            layout.read(line, number)
        }
        return layout.wrong
            + layout.open.map { "line \($0.line): \($0.character) is never closed" }
    }

    private mutating func read(_ line: Substring, _ number: Int) {
        var content = line.drop { $0 == " " }
        let indentation = line.count - content.count
        while content.last == " " { content.removeLast() }
        guard !content.isEmpty else { return }
        let wanted = wanted(content, indentation)
        if indentation != wanted {
            wrong.append("line \(number): \(indentation) spaces in place of \(wanted)")
        }
        match(content, number, indentation)
        (before, indentationBefore) = (content, indentation)
    }

    private func wanted(_ content: Substring, _ indentation: Int) -> Int {
        let closing = content.prefix { WebLayout.pairs[$0] != nil }.count
        if closing > 0 { return open.suffix(closing).first?.indentation ?? 0 }
        if let last = before.last, "{[(".contains(last) { return indentationBefore + 2 }
        guard beginsStatement else { return indentation + indentation % 2 }
        guard let block = open.last else { return 0 }
        let isLabel = content.hasPrefix("case ") || content.hasPrefix("default:")
        return block.indentation + (block.isOfSwitch && !isLabel ? 4 : 2)
    }

    private var beginsStatement: Bool {
        guard open.last.map({ $0.character == "{" }) ?? true else { return false }
        return before.isEmpty || before == "}" || before.hasSuffix(";") || before.hasSuffix("; }")
    }

    /// Opens and closes the brackets of a line.
    private mutating func match(_ content: Substring, _ number: Int, _ indentation: Int) {
        for character in content {
            if "{[(".contains(character) {
                open.append(
                    Bracket(
                        character: character,
                        line: number,
                        indentation: indentation,
                        isOfSwitch: content.hasPrefix("switch ")
                    )
                )
            } else if let opening = WebLayout.pairs[character],
                open.popLast()?.character != opening
            {
                wrong.append("line \(number): \(character) closes nothing")
            }
        }
    }
}
