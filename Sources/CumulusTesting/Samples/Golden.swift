// The bytes of `proto/golden` and the pages of `proto/`, as tests read them.

package import CumulusModel
import Foundation

/// One golden file.
package struct Golden: Hashable, Sendable, CustomStringConvertible {
    /// The file's name without its ending.
    package let name: String
    package let bytes: Bytes

    /// The text before the first hyphen: a message, `Frame` or `Preface`.
    package var message: String { String(name.prefix { $0 != "-" }) }
    package var description: String { name }

    package struct Damaged: Error {
        let name: String
    }

    package init(_ name: String) throws {
        self.name = name
        let text = try Golden.text("golden/\(name).hex")
        let lines = text.split(separator: "\n").filter { !$0.contains("#") }
        guard let bytes = Bytes(hex: lines.joined().filter { !$0.isWhitespace }) else {
            throw Damaged(name: name)
        }
        self.bytes = bytes
    }

    /// All files, in the order of their names.
    package static func all() throws -> [Golden] {
        try FileManager.default
            .contentsOfDirectory(atPath: folder.appendingPathComponent("golden").path)
            .filter { $0.hasSuffix(".hex") }
            .sorted()
            .map { try Golden(String($0.dropLast(4))) }
    }

    /// A file of `proto/`.
    package static func text(_ path: String) throws -> String {
        try String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8)
    }

    /// The contract's pages, in the order in which `README.md` lists them after itself.
    package static func contract() throws -> String {
        let first = try text("README.md")
        let pages = first.matches(of: /\| \[[^\]]+\]\(([a-z\/]+\.md|golden\/README\.md)\) \|/)
        return try pages.reduce(first) { $0 + "\n" + (try text(String($1.output.1))) }
    }

    /// The fenced blocks of the pages that begin with a word, each with what follows the word.
    package static func blocks(_ word: String) throws -> [(title: String, lines: [String])] {
        var blocks: [(title: String, lines: [String])] = []
        var isInside = false
        for line in try contract().split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isInside = !isInside && line.hasPrefix("```\(word)")
                if isInside { blocks.append((String(line.dropFirst(word.count + 3)), [])) }
            } else if isInside {
                blocks[blocks.count - 1].lines.append(String(line))
            }
        }
        return blocks
    }

    private static let folder = Checkout.file("proto")
}

/// The worked exchange of `proto/exchange.md`: what is sent and what comes back, in order.
package struct WorkedExchange: Sendable {
    package struct Part: Sendable {
        package var isFromClient: Bool
        /// nil means a byte that varies.
        package var bytes: [UInt8?]
    }

    package var parts: [Part] = []

    package init() throws {
        for line in try Golden.blocks("exchange").flatMap(\.lines) {
            let content = line.prefix { $0 != "#" }
            guard let first = content.first, first == ">" || first == "<" else {
                throw Golden.Damaged(name: line)
            }
            let bytes = try content.dropFirst().split(separator: " ").map { word -> UInt8? in
                if word == ".." { return nil }
                guard word.count == 2, let byte = UInt8(word, radix: 16) else {
                    throw Golden.Damaged(name: line)
                }
                return byte
            }
            if parts.last?.isFromClient == (first == ">") {
                parts[parts.count - 1].bytes += bytes
            } else {
                parts.append(Part(isFromClient: first == ">", bytes: bytes))
            }
        }
    }
}
