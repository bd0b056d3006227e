// The list of CloudKit's declarations, and the form in which declarations are compared.
//
// Called by `DeclarationTests`; the list is `Fixtures/Declarations.txt`, whose head says what the
// form leaves out.

import Foundation

struct DeclarationList {
    /// The name under which the list has what belongs to no type.
    static let module = "CloudKit"

    /// The declarations of each type that are certain.
    private(set) var types: [String: [String]] = [:]
    /// The declarations of each type that may be others.
    private(set) var uncertain: [String: [String]] = [:]
    /// What each type conforms to, such as `Sendable`.
    private(set) var conformances: [String: Set<String>] = [:]

    /// The list of a text: in each line without indentation a type and what it conforms to, below
    /// it its declarations.
    init(_ text: String) {
        var type = ""
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            if line.hasPrefix("    ? ") {
                uncertain[type, default: []].append(String(line.dropFirst(6)))
            } else if line.hasPrefix("    ") {
                types[type, default: []].append(String(line.dropFirst(4)))
            } else {
                let heading = line.split(separator: ": ")
                type = String(heading[0])
                types[type] = []
                let protocols = heading.dropFirst().flatMap { $0.split(separator: ", ") }
                conformances[type] = Set(protocols.map(String.init))
            }
        }
    }

    // MARK: The form

    /// Words that no label can be.
    private static let keywords: Set = ["var", "let", "static", "case", "where", "protocol"]

    /// A declaration without the words that are the same for every caller.
    static func normal(_ declaration: String) -> String {
        var text = declaration.replacing("`", with: "").replacing(" : ", with: ": ")
        text = text.replacing(#/@(preconcurrency|discardableResult|_\w+)\s/#, with: "")
        text = text.replacing(
            #/\b(convenience|override|final|mutating|nonisolated|open|public)\s/#,
            with: ""
        )
        text = text.replacing(#/\bclass (func|var|let)\b/#) { "static \($0.output.1)" }
        text = text.replacing(" { get set }", with: "")
        // The name of a parameter behind its label.
        text = text.replacing(#/(\w+) (\w+):/#) { match in
            let isKeyword = keywords.contains(String(match.output.1))
            return isKeyword ? String(match.output.0) : "\(match.output.1):"
        }
        guard let constant = text.firstMatch(of: #/^(static )?let (.*)$/#) else { return text }
        return "\(constant.output.1 ?? "")var \(constant.output.2) { get }"
    }

    /// How declarations begin that need not stand in the list: archives, copies, raw values, what a
    /// class has of `Operation` and of key-value coding, and types themselves.
    private static let plumbing = [
        "func copy(", "func encode(", "func isEqual(", "var hash:", "var description:",
        "static var supportsSecureCoding:", "init?(coder:", "required init?(coder:",
        "init?(rawValue:", "init(rawValue:", "var rawValue:", "static func ~=", "func start()",
        "func cancel()", "var isAsynchronous:", "var isExecuting:", "var isFinished:",
        "func makeIterator(", "func value(forKey:", "func setValue(", "func setValuesForKeys(",
        "func dictionaryWithValues(", "class ", "enum ", "struct ", "protocol ", "typealias ",
    ]

    /// Whether a declaration of the module has to stand in the list.
    static func isCompared(_ declaration: String) -> Bool {
        !plumbing.contains { declaration.hasPrefix($0) }
    }

    /// What declarations of the same member have in common: its kind and name.
    static func member(_ declaration: String) -> Substring {
        optional(declaration).prefix { $0 != "(" && $0 != ":" && $0 != "<" }
    }

    /// A declaration without the word that binds subclasses.
    static func optional(_ declaration: String) -> Substring {
        let word = "required "
        return declaration.hasPrefix(word) ? declaration.dropFirst(word.count) : declaration[...]
    }
}
