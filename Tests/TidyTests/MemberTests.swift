// The list of CloudKit's members in the documentation names what the surface test uses.

import Foundation
import Testing

@Suite struct MemberTests {
    /// What every class has, and stands in no list.
    private static let common: Set = [
        "encode", "copy", "isEqual", "hash", "description", "supportsSecureCoding", "rawValue",
    ]

    @Test func theListOfMembersIsThatOfTheSurfaceTest() throws {
        let surface = try SourceTree.sources(in: "Tests/CumulusCloudKitTests/Surface")
            .reduce(into: Set<String>()) { $0.formUnion(MemberTests.words(code(of: $1.text))) }
        // Connections are no part of CloudKit.
        let sources = try SourceTree.sources(in: "Sources/CumulusCloudKit")
            .filter { !$0.path.contains("/Connection/") }
        let declared = sources.reduce(into: Set<String>()) { names, file in
            names.formUnion(MemberTests.declared(in: code(of: file.text)))
        }
        let article = try String(
            contentsOf: SourceTree.root.appending(
                path: "Sources/CumulusCloudKit/CumulusCloudKit.docc/Members.md"
            ),
            encoding: .utf8
        )
        // The name, without its labels: `add(_:)` of `| `Scope.add(_:)` | Adds. |`.
        let listed = Set(
            article.split(separator: "\n").filter { $0.hasPrefix("| `") }.flatMap { row in
                MemberTests.words(String(row.dropFirst(3).prefix { $0 != "`" && $0 != "(" }))
            }
        )
        let wanted = surface.intersection(declared).subtracting(MemberTests.common)
        let missing = wanted.subtracting(listed).sorted()
        #expect(missing == [], "the surface test uses them: add rows to Members.md")
        let unused = listed.subtracting(surface).subtracting(["init", "subscript"]).sorted()
        #expect(unused == [], "Members.md lists them: use them in the surface test")
    }

    private static func words(_ text: String) -> [String] {
        text.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init)
            .filter { $0.first?.isNumber == false }
    }

    /// The names that a file declares for users, without initialisers.
    private static func declared(in code: String) -> [String] {
        var names: [String] = []
        var isPublicEnum = false
        for line in code.split(separator: "\n") {
            let words = words(String(line))
            if words.contains("enum") { isPublicEnum = words.contains("public") }
            if words.first == "case" {
                if isPublicEnum, !line.contains(":"), !line.contains("case .") {
                    let cases = line.trimmingCharacters(in: .whitespaces).dropFirst(5)
                    names += cases.split(separator: ",").compactMap {
                        MemberTests.words(String($0)).first
                    }
                }
                continue
            }
            guard words.contains("public") || words.contains("open") else { continue }
            let kinds: Set = [
                "var", "let", "func", "typealias", "struct", "enum", "protocol", "class",
            ]
            let place = words.lastIndex { kinds.contains($0) }
            if let place, place + 1 < words.count { names.append(words[place + 1]) }
        }
        return names
    }
}
