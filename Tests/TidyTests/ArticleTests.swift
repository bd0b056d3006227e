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
}
