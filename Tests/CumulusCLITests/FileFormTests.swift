// Files that are no JSON lines are told by their beginning; others are not mistaken for them.

import Foundation
import Testing

@testable import CumulusCLI

@Suite struct FileFormTests {
    private static func form(_ text: String) -> FileForm? { FileForm(Array(text.utf8)[...]) }

    @Test func jsonLinesAreNoOtherForm() {
        for text in ["", "{}", "\u{FEFF}{\"a\": [1]}", "\n\n {\"a\": 1}", "null", "BZ"] {
            #expect(Self.form(text) == nil, "\(text)")
        }
    }

    @Test func anArrayIsTold() {
        for text in ["[", " \t\r\n[{}]", "\u{FEFF}[1]"] { #expect(Self.form(text) == .array) }
    }

    @Test(arguments: FileForm.allCases) func eachSaysWhatToType(form: FileForm) {
        #expect(form.advice(for: "a.x").contains("a.x | cumulus import -"))
        #expect(form.advice(for: "-").hasPrefix("the input is"))
    }
}
