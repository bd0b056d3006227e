// How pages, style sheets and scripts are written: what a formatter and a linter would hold them
// to, as far as plain code can tell.
//
// Called by `WebTests`. It needs no browser. `ConsoleBrowserTests` and `WebNotesTests` load every
// script in one, which finds mistakes of syntax.

enum WebRules {
    /// The violations of a file, each with its line; empty if there are none.
    static func violations(_ file: SourceFile) -> [String] {
        let found = ofText(file.text) + ofHead(file)
        switch file.kind {
        case "js": return found + WebLayout.violations(WebCode.of(file.text)) + ofScript(file.text)
        case "css": return found + WebLayout.violations(WebCode.of(file.text, isScript: false))
        default:
            let isExample = file.path.hasPrefix("Sources/Examples/")
            return found + ofMarkup(file.text, mayHoldScripts: isExample)
        }
    }

    private static func lines(_ text: String) -> [Substring] {
        text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    }

    /// Says what a place in a text does wrong.
    private static func say(_ what: String, at place: String.Index, of text: String) -> String {
        "line \(text[..<place].count(where: \.isNewline) + 1): \(what)"
    }

    private static func say(
        _ what: String,
        ofAll pattern: Regex<Substring>,
        in text: String
    ) -> [String] {
        // By default `a.b` is one word.
        text.ranges(of: pattern.wordBoundaryKind(.simple)).map {
            say(what, at: $0.lowerBound, of: text)
        }
    }

    // MARK: Text

    private static func ofText(_ text: String) -> [String] {
        var wrong: [String] = []
        let lines = lines(text)
        for (number, line) in zip(1..., lines) {
            if line.contains("\t") { wrong.append("line \(number): a tab") }
            if line.last == " " { wrong.append("line \(number): a blank at its end") }
            if line.count > 100 { wrong.append("line \(number): more than 100 columns") }
        }
        if text.contains("\n\n\n") { wrong.append("two empty lines") }
        if text.unicodeScalars.contains("\r") { wrong.append("a carriage return") }
        let endsWell = text.hasSuffix("\n") && !text.hasSuffix("\n\n")
        return endsWell ? wrong : wrong + ["not one newline at its end"]
    }

    private static func ofHead(_ file: SourceFile) -> [String] {
        let markup = #/(?:<!doctype html>\s*)?<!-- /#
        let opens =
            switch file.kind {
            case "js": file.text.hasPrefix("// ")
            case "css": file.text.hasPrefix("/* ")
            default: file.text.prefixMatch(of: markup.ignoresCase()) != nil
            }
        return opens ? [] : ["no comment at its head"]
    }

    // MARK: Scripts

    private static func ofScript(_ text: String) -> [String] {
        let code = WebCode.of(text)
        let setter = /\b(?:innerHTML|outerHTML|insertAdjacentHTML|setHTMLUnsafe|srcdoc)\b/
        let parser = /\b(?:document\.write|createContextualFragment|DOMParser)\b/
        var wrong = say("var in place of const or let", ofAll: /\bvar\b/, in: code)
        wrong += say("a text becomes markup", ofAll: setter, in: code)
        wrong += say("a text becomes markup", ofAll: parser, in: code)
        wrong += say("a text becomes code", ofAll: /\beval\(|\bFunction\(/, in: code)
        wrong += code.matches(of: /[=!]=+/).filter { $0.output.count == 2 }.map {
            say("\($0.output) in place of \($0.output)=", at: $0.range.lowerBound, of: code)
        }
        return wrong + ofQuotes(code, text) + ofForm(code, text)
    }

    /// Texts are in double quotes, unless they contain some.
    private static func ofQuotes(_ code: String, _ text: String) -> [String] {
        let (code, text) = (Array(code), Array(text))
        var wrong: [String] = []
        var line = 1
        var start: Int?
        for place in code.indices {
            if code[place].isNewline { line += 1 }
            guard code[place] == "'" else { continue }
            if let first = start, !text[first...place].contains("\"") {
                wrong.append("line \(line): single quotes")
            }
            start = start == nil ? place : nil
        }
        return wrong
    }

    /// A script is a module, or begins strict.
    private static func ofForm(_ code: String, _ text: String) -> [String] {
        let isModule = lines(code).contains { $0.hasPrefix("import ") || $0.hasPrefix("export ") }
        let first = lines(text).first { !$0.isEmpty && !$0.hasPrefix("//") }
        return isModule || first == "\"use strict\";" ? [] : ["neither a module nor \"use strict\""]
    }

    // MARK: Markup

    private static func ofMarkup(_ text: String, mayHoldScripts: Bool) -> [String] {
        let pattern = /<!--.*?-->/.dotMatchesNewlines()
        let text = text.replacing(pattern) { match in
            String(match.output.map { $0.isNewline ? $0 : " " })
        }
        var wrong = say("a handler in an attribute", ofAll: /<[^>]*\son\w+\s*=/, in: text)
        wrong += say("a style in an attribute", ofAll: /<[^>]*\sstyle\s*=/, in: text)
        wrong += say("a script as an address", ofAll: /=\s*"?javascript:/.ignoresCase(), in: text)
        if mayHoldScripts { return wrong + ofInlineScripts(text) }
        wrong += say("a style in the page", ofAll: /<style/, in: text)
        return wrong + say("a script in the page", ofAll: /<script(?![^>]*\ssrc=)/, in: text)
    }

    private static func ofInlineScripts(_ text: String) -> [String] {
        let pattern = /<script([^>]*)>(.*?)<\/script>/.dotMatchesNewlines()
        return text.matches(of: pattern).flatMap { match in
            // Lines keep their numbers.
            let before = text[..<match.output.2.startIndex].count(where: \.isNewline)
            let script = String(repeating: "\n", count: before) + match.output.2
            let found = WebLayout.violations(WebCode.of(script)) + ofScript(script)
            let isModule = match.output.1.contains("type=\"module\"")
            return isModule ? found.filter { !$0.hasPrefix("neither") } : found
        }
    }
}
