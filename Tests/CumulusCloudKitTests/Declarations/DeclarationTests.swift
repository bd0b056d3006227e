// CloudKit's declarations as Apple declares them, and the module's own: each difference stands in
// the article Members.
//
// The comparison takes one to two seconds of a processor, more on a busy machine: it runs a tool,
// and reads the megabytes that the tool writes. With `CUMULUS_WRITE_MEMBERS=1` in the environment
// the test writes the differences into the article.

import Foundation
import Testing

@Suite struct DeclarationTests {
    private static let tests = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let list = tests.appending(path: "Fixtures/Declarations.txt")
    private static let article = tests.deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources/CumulusCloudKit/CumulusCloudKit.docc/Members.md")
    private static let title = "## Declarations that differ\n"

    @Test func everyDifferenceIsListed() throws {
        let wanted = DeclarationList(try String(contentsOf: Self.list, encoding: .utf8))
        let rows = Self.differences(wanted, try Interface(ofModule: "CumulusCloudKit"))
        let text = try String(contentsOf: Self.article, encoding: .utf8)
        let parts = text.split(separator: Self.title, maxSplits: 1)
        try #require(parts.count == 2, "the article has no section for differences")
        let end = parts[1].firstRange(of: "\n## ")?.lowerBound ?? parts[1].endIndex
        let section = parts[1][..<end]
        if ProcessInfo.processInfo.environment["CUMULUS_WRITE_MEMBERS"] == "1" {
            let text = section.prefix { $0 != "|" } + Self.head + rows.joined(separator: "\n")
            try "\(parts[0])\(Self.title)\(text)\n\(parts[1][end...])".write(
                to: Self.article,
                atomically: true,
                encoding: .utf8
            )
            return
        }
        let listed = section.split(separator: "\n").map(String.init).filter { line in
            line.hasPrefix("| ") && !Self.head.contains(line)
        }
        let new = rows.filter { !listed.contains($0) }
        #expect(new == [], "declare it as CloudKit does, or run with CUMULUS_WRITE_MEMBERS=1")
        let old = listed.filter { !rows.contains($0) }
        #expect(old == [], "it does not differ any more: run with CUMULUS_WRITE_MEMBERS=1")
    }

    private static let head = "| Type | CloudKit | Here |\n| --- | --- | --- |\n"

    /// A row for each difference, in the order of the types.
    private static func differences(_ list: DeclarationList, _ module: Interface) -> [String] {
        var rows: [String] = []
        for (type, declarations) in list.types.sorted(by: { $0.key < $1.key }) {
            let own = Set(module.types[type] ?? [])
            let missing = Set(declarations).subtracting(own).sorted()
            var more = own.filter(DeclarationList.isCompared).subtracting(declarations)
                .subtracting(list.uncertain[type] ?? [])
                .sorted { DeclarationList.optional($0) < DeclarationList.optional($1) }
            for declaration in missing {
                let member = DeclarationList.member(declaration)
                let place = more.firstIndex { DeclarationList.member($0) == member }
                let here = place.map { "`\(more.remove(at: $0))`" } ?? "missing"
                rows.append("| \(type) | `\(declaration)` | \(here) |")
            }
            let unsure = Set((list.uncertain[type] ?? []).map(DeclarationList.member))
            for declaration in more where !unsure.contains(DeclarationList.member(declaration)) {
                rows.append("| \(type) | none | `\(declaration)` |")
            }
            let wanted = list.conformances[type] ?? []
            for name in wanted.subtracting(module.conformances[type] ?? []).sorted() {
                rows.append("| \(type) | `: \(name)` | missing |")
            }
        }
        return rows
    }

    /// The comparison tells a missing member, a further one, `required`, and a missing conformance.
    @Test func eachKindOfDifferenceHasARow() {
        let list = DeclarationList(
            """
            CKZone: Hashable, Sendable
                init(name: String)
                ? var size: Int
                typealias ID = String
                var name: String { get }
            """
        )
        let module = Interface(
            types: ["CKZone": ["init(name: String, at: URL)", "required init(name: String)"]],
            conformances: ["CKZone": ["Sendable"]]
        )
        let rows = [
            "| CKZone | `init(name: String)` | `required init(name: String)` |",
            "| CKZone | `typealias ID = String` | missing |",
            "| CKZone | `var name: String { get }` | missing |",
            "| CKZone | none | `init(name: String, at: URL)` |",
            "| CKZone | `: Hashable` | missing |",
        ]
        #expect(Self.differences(list, module) == rows)
    }

    /// What the comparison must see: each of these is another declaration to some caller.
    @Test(arguments: [
        ("var block: ((CKRecord) -> Void)?", "var block: (@Sendable (CKRecord) -> Void)?"),
        ("var share: CKReference? { get }", "var share: CKReference { get }"),
        ("var zoneID: CKRecordZoneID?", "let zoneID: CKRecordZoneID?"),
        ("func run() async throws", "func run() throws"),
        ("required init(identifier name: String)", "init(identifier name: String)"),
        ("func find(limit: Int = 0)", "func find(limit: Int)"),
        ("@concurrent func run() async", "func run() async"),
    ])
    func aDifferenceIsSeen(left: String, right: String) {
        #expect(DeclarationList.normal(left) != DeclarationList.normal(right))
    }

    @Test(arguments: [
        ("@preconcurrency func save(_ record: CKRecord)", "func save(_: CKRecord)"),
        ("class func all() -> CKZones", "static func all() -> CKZones"),
        ("static let atomic: Int", "static var atomic: Int { get }"),
        ("@_Block var block: (() -> Void)? { get set }", "var block: (() -> Void)?"),
        ("convenience init(zoneID zone: ID, to other: ID)", "init(zoneID: ID, to: ID)"),
        ("case `private`", "case private"),
    ])
    func spellingsOfTheSameAreEqual(left: String, right: String) {
        #expect(DeclarationList.normal(left) == right)
    }
}
