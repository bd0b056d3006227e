// What browsers act on in a script or a style sheet: comments, texts and patterns are blank in it.
//
// Called by `WebRules` and `WebModules`. Each character keeps its place, and what a text begins and
// ends with stays. It reads the language as far as that asks, and checks nothing.

struct WebCode {
    private let source: [Character]
    private let isScript: Bool
    private var place = 0
    private var code: [Character] = []
    /// How deep braces are nested, and how deep they are where each open `${` stands.
    private var depth = 0
    private var templates: [Int] = []

    /// The text with a blank for every character that is no code.
    static func of(_ text: String, isScript: Bool = true) -> String {
        var reader = WebCode(source: Array(text), isScript: isScript)
        reader.read()
        return String(reader.code)
    }

    private init(source: [Character], isScript: Bool) {
        self.source = source
        self.isScript = isScript
    }

    private mutating func read() {
        while place < source.count {
            switch source[place] {
            case "/" where isNext("/*"): blank(until: "*/")
            case "/" where isScript && isNext("//"): blank(until: "\n")
            case "/" where isScript && mayBeginPattern: readPattern()
            case "\"", "'": readText()
            case "`" where isScript: readTemplate()
            case "}" where templates.last == depth:
                templates.removeLast()
                readTemplate()
            default: copy()
            }
        }
    }

    private func isNext(_ text: String) -> Bool { source[place...].starts(with: text) }

    private mutating func copy() {
        switch source[place] {
        case "{": depth += 1
        case "}": depth -= 1
        default: break
        }
        take()
    }

    private mutating func take() {
        guard place < source.count else { return }
        code.append(source[place])
        place += 1
    }

    private mutating func blank() {
        guard place < source.count else { return }
        code.append(source[place].isNewline ? source[place] : " ")
        place += 1
    }

    private mutating func blank(until end: String) {
        while place < source.count, !isNext(end) { blank() }
        for _ in end { blank() }
    }

    private mutating func readText() {
        let quote = source[place]
        take()
        // A text that its line does not end was misread: the next line starts afresh.
        while place < source.count, source[place] != quote, !source[place].isNewline {
            if source[place] == "\\" { blank() }
            blank()
        }
        take()
    }

    /// Reads a template's text from a backquote or the end of a value, up to the next of them.
    private mutating func readTemplate() {
        take()
        while place < source.count, source[place] != "`" {
            if isNext("${") {
                take()
                take()
                templates.append(depth)
                return
            }
            if source[place] == "\\" { blank() }
            blank()
        }
        take()
    }

    /// A division stands behind a value.
    private var mayBeginPattern: Bool {
        let before = code.reversed().drop { $0.isWhitespace }
        guard let last = before.first else { return true }
        return "(,=:[!&|?{};>+".contains(last) || before.starts(with: "nruter")
    }

    private mutating func readPattern() {
        take()
        var isInSet = false
        while place < source.count, !source[place].isNewline, isInSet || source[place] != "/" {
            switch source[place] {
            case "[": isInSet = true
            case "]": isInSet = false
            case "\\": blank()
            default: break
            }
            blank()
        }
        take()
    }
}
