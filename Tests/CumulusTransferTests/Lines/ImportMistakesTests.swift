// What an import says of many lines that fail.

import Testing

@testable import CumulusTransfer

@Suite struct ImportMistakesTests {
    @Test func oneSentenceIsToldThreeTimesAndCounted() {
        var mistakes = ImportMistakes()
        let told = [7, 5, 9, 8].map { mistakes.add("no number", line: $0) }
        #expect(told == [true, true, true, false])
        let isOtherTold = mistakes.add("no text", line: 6)
        #expect(isOtherTold)
        #expect(mistakes.rest == ["1 more line: no number"])
        #expect(mistakes.all.map(\.line) == [5, 6])
        #expect(mistakes.all.map(\.lines) == [4, 1])
        _ = mistakes.add("no number", line: 10)
        #expect(mistakes.rest == ["2 more lines: no number"])
    }

    /// As many as there may be lines, and no more memory for them.
    @Test func whatDiffersFromLineToLineIsToldOfEach() {
        var mistakes = ImportMistakes()
        let told = (1...5_000).map { mistakes.add("no '\($0)'", line: $0) }
        #expect(told.allSatisfy { $0 })
        #expect(mistakes.all.count == 1_000)
        #expect(mistakes.rest.isEmpty)
    }
}
