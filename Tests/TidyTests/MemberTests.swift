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
        let list = MemberList(article)
        let listed = Set(list.names.flatMap { MemberTests.words(String($0.prefix { $0 != "(" })) })
        let wanted = surface.intersection(declared).subtracting(MemberTests.common)
        let missing = wanted.subtracting(listed).sorted()
        #expect(missing == [], "the surface test uses them: add them to Members.md")
        let unused = listed.subtracting(surface).subtracting(["init", "subscript"]).sorted()
        #expect(unused == [], "Members.md lists them: use them in the surface test")
        #expect(list.members.count > 700)
        #expect(list.twice == [], "a member differs or it does not: leave one place in Members.md")
        #expect(list.incomplete == [], "say in Members.md which member differs, and how")
    }

    /// Each fault of a page is seen.
    @Test func whatMembersAreListedAs() {
        let list = MemberList(
            """
            ## Members that differ

            | Type | Member | Here |
            | --- | --- | --- |
            | CKShare | all | Differs. |
            | CKShare.Kind | `owner`, `add(_:to:)` | Differ: `Zone` has them. |
            | CKShare | `url` |  |
            | CKShare | url | Differs. |
            | CKShare | `name` |

            ## Declarations that differ

            | CKZone | `: Hashable` | missing |

            ## Members that do what CloudKit's do

            - `CKShare.Kind`: `title`, `owner`
            - Outside of types: `CKKey`
            """
        )
        #expect(
            list.members == [
                "CKShare.Kind.owner", "CKShare.Kind.add(_:to:)", "CKShare.url", "CKShare.name",
                "CKShare.Kind.title", "CKShare.Kind.owner", "CKKey",
            ]
        )
        #expect(Set(list.names).subtracting(list.members) == ["CKShare", "CKShare.Kind"])
        #expect(list.twice == ["CKShare.Kind.owner"])
        #expect(
            list.incomplete == [
                "| CKShare | `url` |  |", "| CKShare | url | Differs. |", "| CKShare | `name` |",
            ]
        )
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

/// The members that the article has: in rows of tables if they differ, in a list if they don't.
///
/// A row is "| Type | `a`, `b(_:)` | Words. |", or has "all" for the type as a whole; a line of the
/// list is "- `Type`: `a`, `b(_:)`".
private struct MemberList {
    /// With their types, such as `CKShare.add(_:)`, as often as they stand there.
    private(set) var members: [String] = []
    private var types: [String] = []
    /// Rows that name no member, or have no words for it.
    private(set) var incomplete: [String] = []

    /// Members, and types that have a row or a line.
    var names: [String] { members + types }

    var twice: [String] {
        Dictionary(grouping: members) { $0 }.filter { $1.count > 1 }.keys.sorted()
    }

    init(_ article: String) {
        // Declarations have a test of their own.
        let sections = article.split(separator: "\n## ").filter { !$0.hasPrefix("Declarations") }
        for line in sections.joined(separator: "\n").split(separator: "\n") {
            if line.hasPrefix("- ") { addLine(String(line)) }
            if line.hasPrefix("| "), !line.hasPrefix("| Type "), !line.hasPrefix("| --") {
                addRow(String(line))
            }
        }
    }

    private mutating func addLine(_ line: String) {
        let names = MemberList.code(line)
        // Names outside of types follow a word.
        if line.hasPrefix("- `"), let type = names.first {
            add(names.dropFirst(), of: type)
        } else {
            members += names
        }
    }

    private mutating func addRow(_ row: String) {
        let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        let names = cells.count > 1 ? MemberList.code(cells[1]) : []
        add(names[...], of: cells[0])
        let namesOne = !names.isEmpty || cells.count > 1 && cells[1] == "all"
        let hasWords = cells.count == 3 && cells[2].contains(where: \.isLetter)
        if !namesOne || !hasWords { incomplete.append(row) }
    }

    private mutating func add(_ names: ArraySlice<String>, of type: String) {
        types.append(type)
        members += names.map { "\(type).\($0)" }
    }

    /// The names in the quotes of code.
    private static func code(_ text: String) -> [String] {
        text.matches(of: /`([^`]+)`/).map { String($0.output.1) }
    }
}
