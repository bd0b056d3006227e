// Holds the comments of sources and tests to sentences that can be read by themselves.

import Testing

@Suite struct CommentTests {
    @Test func commentsAreSentences() throws {
        for file in try SourceTree.sources() + SourceTree.sources(in: "Tests") {
            let wrong = CommentRules.violations(text: file.text)
            #expect(wrong.isEmpty, "\(file.path): \(wrong)")
        }
    }

    @Test(arguments: [
        "// Those of a zone.",
        "    /// Whom it lets in.",
        "// The first one stands. Nor does a later one win.",
        "// The first one\n// stands. That they\n// agree is checked.",
        "/// Of the chunk.",
        "/// - Parameter digest: Of the chunk.",
        "/// - Returns: Those that are missing.",
        "/// The same, but with copies.",
        "// The names, without those of assets.",
        "// It greets whoever comes.",
    ])
    func aRiddleIsReported(text: String) {
        #expect(CommentRules.violations(text: text).count == 1)
    }

    @Test(arguments: [
        "// The chunks of a zone; of two the first one stands.",
        "/// Offset of the first byte.",
        "// Normal forms are kept. Oftentimes there is one.",
        "// It lists those offered by a peer.",
        "// The first one stands.\n//\n// Both nodes agree that they are equal.",
        "let text = \"Those of a zone.\" // Shown.",
        "let text = \"\"\"\n    // Those of a zone.\n    \"\"\"",
        "// 100 bytes\n\n// of which few are read",
    ])
    func aSentenceIsNotReported(text: String) {
        #expect(CommentRules.violations(text: text).isEmpty)
    }
}
