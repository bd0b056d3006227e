// HTML files with places for values, and the one way by which values come into markup.
//
// Called by `PageFile` and by the gateway's sign-in. A place is a name in double braces, between
// tags or in a quoted attribute: <p class="problem">{{problem}}</p>. Text that fills a place is
// escaped; only a filled template, or markup that stands in our own source, is taken as it is.
// Values are never read as templates. There are no conditions and no loops: a caller passes an
// empty value, or several filled templates. The first comment of a file, which is for its readers,
// and its last newline are not served.

/// Markup that may stand in a page.
package struct HTML: Hashable, Sendable {
    package let text: String

    fileprivate init(trusted text: String) {
        self.text = text
    }

    /// Text, escaped: safe between tags and in a quoted attribute.
    package init(_ text: String) {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        self.init(trusted: escaped)
    }

    /// Markup as it stands in our source.
    package init(markup: StaticString) {
        self.init(trusted: markup.description)
    }

    package init(_ parts: [HTML]) {
        self.init(trusted: parts.map(\.text).joined())
    }
}

package struct HTMLTemplate: Sendable {
    /// The text before the first place.
    private let start: String
    /// Each place, with what stands between it and the next one.
    private let places: [(name: String, rest: String)]

    package init(_ file: [UInt8]) {
        let text = HTMLTemplate.content(of: String(decoding: file, as: UTF8.self))
        let parts = text.split(separator: "{{", omittingEmptySubsequences: false)
        start = String(parts[0])
        places = parts.dropFirst().map { part in
            guard let end = part.firstRange(of: "}}") else {
                preconditionFailure("a place of a template has no end: \(part)")
            }
            return (String(part[..<end.lowerBound]), String(part[end.upperBound...]))
        }
    }

    /// A file's text without its first comment and its last newline.
    private static func content(of text: String) -> String {
        var text = text
        if let start = text.firstRange(of: "<!--"), let end = text.firstRange(of: "-->\n") {
            text.removeSubrange(start.lowerBound..<end.upperBound)
        }
        if text.hasSuffix("\n") { text.removeLast() }
        return text
    }

    /// Fills the places, each with the value of its name.
    ///
    /// A place without a value, or a value without a place, is a mistake in our source.
    package func filled(_ values: [String: HTML] = [:]) -> HTML {
        let names = Set(places.map(\.name))
        precondition(names == Set(values.keys), "\(names) are filled with \(values.keys)")
        return HTML(
            trusted: places.reduce(into: start) { text, place in
                text += (values[place.name]?.text ?? "") + place.rest
            }
        )
    }
}
