// What the articles say about the tree is so.

import Foundation
import Testing

@Suite struct ArticleTests {
    @Test func everyPromiseNamesATestThatExists() throws {
        let article = try String(
            contentsOf: SourceTree.root.appending(
                path: "Sources/CumulusNode/CumulusNode.docc/Guarantees.md"
            ),
            encoding: .utf8
        )
        let named = Set(article.matches(of: /`([A-Za-z]+Tests)`/).map { String($0.output.1) })
        let tests = SourceTree.root.appending(path: "Tests").path()
        let files = try FileManager.default.subpathsOfDirectory(atPath: tests)
            .compactMap { $0.split(separator: "/").last.map(String.init) }
        #expect(!named.isEmpty)
        #expect(named.filter { !files.contains($0 + ".swift") } == [])
    }

    /// The table of the article Sharing names a test for each case, one to 46.
    @Test func everyCaseOfSharingNamesATestThatExists() throws {
        let article = try String(
            contentsOf: SourceTree.root.appending(
                path: "Sources/CumulusNode/CumulusNode.docc/Sharing.md"
            ),
            encoding: .utf8
        )
        let tests = SourceTree.root.appending(path: "Tests")
        var texts: [String: String] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: tests.path())
        where path.hasSuffix("Tests.swift") {
            let name = path.split(separator: "/").last.map { $0.dropLast(6) } ?? ""
            let text = try String(contentsOf: tests.appending(path: path), encoding: .utf8)
            texts[String(name), default: ""] += text
        }
        var cases: Set<Int> = []
        for row in article.split(separator: "\n") {
            guard let suite = row.prefixMatch(of: /\| `([A-Za-z]+Tests)` \|/) else { continue }
            let text = texts[String(suite.output.1)] ?? ""
            for test in row.matches(of: /([0-9]+) `([A-Za-z0-9]+)`/) {
                cases.insert(Int(test.output.1) ?? 0)
                #expect(text.contains("func \(test.output.2)("), "case \(test.output.0)")
            }
        }
        #expect(cases.sorted() == Array(1...46))
    }

    // MARK: Links and tables

    /// The Markdown files of the tree, without what stands in blocks of code.
    private static func pages() throws -> [(path: String, text: String)] {
        let folders = [".github", "Sources", "Tests", "cluster", "proto"]
        let found = try folders.flatMap { folder in
            try FileManager.default
                .subpathsOfDirectory(atPath: SourceTree.root.appending(path: folder).path())
                .filter { $0.hasSuffix(".md") }.map { "\(folder)/\($0)" }
        }
        return try (["README.md"] + found.sorted()).map { path in
            let url = SourceTree.root.appending(path: path)
            let text = try String(contentsOf: url, encoding: .utf8)
            return (path, text.replacing(/\n```(?s:.*?)\n```/, with: ""))
        }
    }

    /// Files in brackets are there, seen from the page's folder.
    ///
    /// Articles are in its catalogue, or in that of the module that a link names.
    @Test func everyLinkLeadsToAFile() throws {
        var links = 0
        for page in try Self.pages() {
            let folder = SourceTree.root.appending(path: page.path).deletingLastPathComponent()
            let isArticle = page.path.contains(".docc/")
            let files = page.text.matches(of: /\]\(([^)#:\s]+)(?:#[^)]*)?\)/)
                .map { String($0.output.1) }
                // An article names its pictures without the folder.
                .filter { !isArticle || $0.hasSuffix(".md") }
            let articles = page.text.matches(of: /<doc:(\w+)>/).map { "\($0.output.1).md" }
            let others = page.text.matches(of: /<doc:\/(\w+)\/(\w+)>/).map { link in
                "../../\(link.output.1)/\(link.output.1).docc/\(link.output.2).md"
            }
            for name in files + articles + others {
                let file = folder.appending(path: name).standardizedFileURL
                links += 1
                #expect(
                    FileManager.default.fileExists(atPath: file.path()),
                    "\(page.path): \(name)"
                )
            }
        }
        #expect(links > 50)
    }

    /// A blank line in a table ends it: what follows is shown as text.
    @Test func everyTableBeginsWithItsHeader() throws {
        var tables = 0
        for page in try Self.pages() {
            let lines = page.text.split(separator: "\n", omittingEmptySubsequences: false)
            for index in lines.indices where lines[index].hasPrefix("|") {
                guard index == 0 || !lines[index - 1].hasPrefix("|") else { continue }
                tables += 1
                let next = index + 1 < lines.count ? lines[index + 1] : ""
                #expect(next.contains(/^\| ?-/), "\(page.path): \(lines[index])")
            }
        }
        #expect(tables > 100)
    }
}
