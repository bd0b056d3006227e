// The checked-out tree, as the tidy tests read it.
//
// Called by every test here. Promises that `code` is what the compiler acts on: comments and
// string literals are blank in it, lines keep their numbers.

import Foundation

struct SourceFile {
    /// Relative to the root, as in `Sources/CumulusModel/Values/Bytes.swift`.
    var path: String
    var text: String

    /// The folder of its target.
    var targetFolder: String { SourceTree.targetFolder(path) }

    var target: String { targetFolder.split(separator: "/").last.map(String.init) ?? "" }

    var name: String { String(path.split(separator: "/").last ?? "") }

    /// What its name ends with, without the dot.
    var kind: String { String(name.split(separator: ".").last ?? "") }
}

enum SourceTree {
    static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The folder of the target that a file or folder belongs to: that under `Sources`, or under
    /// `Sources/Examples`.
    static func targetFolder(_ path: String) -> String {
        let names = path.split(separator: "/")
        return names.prefix(names.dropFirst().first == "Examples" ? 3 : 2).joined(separator: "/")
    }

    /// The names at the top level.
    static func topLevel() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: root.path).sorted()
    }

    /// Every Swift file under `Sources`, or under another folder of the tree.
    static func sources(in folder: String = "Sources") throws -> [SourceFile] {
        try files(in: folder, of: ["swift"])
    }

    /// Every file under `Sources` that is for browsers, without the pictures of articles.
    static func pages() throws -> [SourceFile] {
        try files(in: "Sources", of: ["css", "html", "js", "svg"])
            .filter { !$0.path.contains(".docc/") }
    }

    private static func files(in folder: String, of kinds: Set<String>) throws -> [SourceFile] {
        try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: folder).path)
            .filter { kinds.contains(String($0.split(separator: ".").last ?? "")) }
            .sorted()
            .map { path in
                let path = "\(folder)/\(path)"
                let url = root.appending(path: path)
                return SourceFile(path: path, text: try String(contentsOf: url, encoding: .utf8))
            }
    }
}

/// The text with a blank for every character of a comment or a string literal.
///
/// Interpolations count as part of their literal: enough to find imports and calls.
func code(of text: String) -> String {
    var code = ""
    var rest = Substring(text)
    while let first = rest.first {
        let length = lengthOfComment(rest) ?? lengthOfLiteral(rest)
        if let length {
            code += String(rest.prefix(length).map { $0.isNewline ? $0 : " " })
        } else {
            code.append(first)
        }
        rest = rest.dropFirst(length ?? 1)
    }
    return code
}

private func lengthOfComment(_ text: Substring) -> Int? {
    if text.hasPrefix("//") { return text.prefix { !$0.isNewline }.count }
    guard text.hasPrefix("/*") else { return nil }
    return text.firstRange(of: "*/").map { text[..<$0.upperBound].count } ?? text.count
}

private func lengthOfLiteral(_ text: Substring) -> Int? {
    let hashes = String(text.prefix { $0 == "#" })
    let opening = text.dropFirst(hashes.count)
    guard opening.first == "\"" else { return nil }
    let quotes = opening.hasPrefix("\"\"\"") ? "\"\"\"" : "\""
    var rest = opening.dropFirst(quotes.count)
    while let character = rest.first {
        if rest.hasPrefix(quotes + hashes) {
            rest = rest.dropFirst(quotes.count + hashes.count)
            break
        }
        // A literal of one line that seems to go on was misread: the next line starts afresh.
        if quotes.count == 1, character.isNewline { break }
        rest = rest.dropFirst(character == "\\" && hashes.isEmpty ? 2 : 1)
    }
    return text.count - rest.count
}
