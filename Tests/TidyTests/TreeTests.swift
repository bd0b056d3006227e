// Holds the tree to its shape: what stands at the top level, and how a source file opens.

import Testing

@Suite struct TreeTests {
    @Test func theTopLevelHoldsNothingElse() throws {
        // SwiftPM writes Package.resolved beside its manifest.
        let expected: Set = [
            "LICENSE", "Package.resolved", "Package.swift", "README.md", "Sources", "Tests",
            "cluster", "proto",
        ]
        let others = try SourceTree.topLevel().filter { !$0.hasPrefix(".") }
        #expect(others.filter { !expected.contains($0) } == [])
    }

    @Test func everySourceFileOpensWithAComment() throws {
        let silent = try SourceTree.sources().filter { !$0.text.hasPrefix("// ") }
        #expect(silent.map(\.path) == [])
    }

    @Test func everySourceFileKeepsTo100Columns() throws {
        // The formatter wraps code; comments and literals it leaves alone.
        for file in try SourceTree.sources() + SourceTree.sources(in: "Tests") {
            let lines = file.text.split(separator: "\n", omittingEmptySubsequences: false)
            let long = lines.indices.filter { lines[$0].count > 100 }.map { $0 + 1 }
            #expect(long.isEmpty, "\(file.path): lines \(long)")
        }
    }
}
