// The rules of comments: words that open a riddle instead of a sentence, and the check of one file
// against them.
//
// `CommentTests` runs it over the tree. A sentence of a comment begins with its subject. It doesn't
// go on with the sentence before it, which the reader may not have read. All text is looked at as
// bytes: as characters, the tree takes seconds.

enum CommentRules {
    /// A sentence that opens with one of these has no subject, or continues another sentence.
    private static let openers = ["Those", "Whom", "Nor", "That they", "Of"].map { Array($0.utf8) }
    /// Words that stand for a noun which the reader has to guess.
    private static let riddles = ["The same, but", "those of", "Those of", "whoever", "Whoever"]
        .map { Array($0.utf8) }

    /// The sentences of a file's comments that break a rule, each with its line.
    static func violations(text: String) -> [String] {
        paragraphs(of: Array(text.utf8)).flatMap { paragraph in
            sentences(of: paragraph.text).filter(breaksRule).map {
                "\(paragraph.line): \(String(decoding: $0, as: UTF8.self))"
            }
        }
    }

    private static func breaksRule(_ sentence: ArraySlice<UInt8>) -> Bool {
        openers.contains { begins(sentence, with: $0) }
            || sentence.indices.contains { place in
                (place == sentence.startIndex || sentence[place - 1] == space)
                    && riddles.contains { begins(sentence[place...], with: $0) }
            }
    }

    /// Whether a text begins with these words, and not with a longer one.
    private static func begins(_ text: ArraySlice<UInt8>, with words: [UInt8]) -> Bool {
        guard text.first == words.first, text.starts(with: words) else { return false }
        return text.dropFirst(words.count).first.map { $0 >= 0x80 || letters ~= $0 } != true
    }

    private static let letters = UInt8(ascii: "A")...UInt8(ascii: "z")
    private static let space = UInt8(ascii: " ")
    private static let quotes = Array("\"\"\"".utf8)
    private static let slashes = Array("//".utf8)
    private static let item = Array("- ".utf8)

    /// The text of comments that stand on lines of their own, joined up to an empty line, a line of
    /// code or an item of a list.
    private static func paragraphs(of file: [UInt8]) -> [(line: Int, text: [UInt8])] {
        var paragraphs: [(line: Int, text: [UInt8])] = []
        var goesOn = false
        var isInLiteral = false
        let lines = file.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            if opensLiteral(line) { isInLiteral.toggle() }
            let rest = line.drop { $0 == space }
            guard rest.starts(with: slashes), !isInLiteral else {
                goesOn = false
                continue
            }
            let body = rest.drop { $0 == slashes[0] }.drop { $0 == space }
            if goesOn, !body.isEmpty, !body.starts(with: item) {
                paragraphs[paragraphs.count - 1].text += [space] + body
            } else if !body.isEmpty {
                paragraphs.append((index + 1, Array(body)))
            }
            goesOn = !body.isEmpty
        }
        return paragraphs
    }

    /// Whether a literal of several lines begins or ends on a line.
    private static func opensLiteral(_ line: ArraySlice<UInt8>) -> Bool {
        guard let start = line.firstIndex(of: quotes[0]) else { return false }
        return line[start...].indices.contains { line[$0...].starts(with: quotes) }
    }

    /// A paragraph cut behind each full stop, and behind the name of a parameter.
    private static func sentences(of text: [UInt8]) -> [ArraySlice<UInt8>] {
        var sentences: [ArraySlice<UInt8>] = []
        var start = 0
        var isItem = text.starts(with: item)
        for place in text.indices.dropFirst() where text[place] == space {
            let last = text[place - 1]
            guard last == UInt8(ascii: ".") || isItem && last == UInt8(ascii: ":") else { continue }
            isItem = false
            sentences.append(text[start..<place])
            start = place + 1
        }
        return sentences + [text[start...]]
    }
}
