// The newest lines of a log that are kept in memory.

import CumulusModel
import CumulusNode
import Testing

@Suite struct RecentLinesTests {
    private func texts(_ lines: RecentLines) -> [String] {
        lines.lines.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: [0, 1, 999, 1_000, 1_001, 2_500])
    func theNewestAreKeptInTheirOrder(_ count: Int) {
        let lines = RecentLines()
        for number in 0..<count { lines.keep("line \(number)") }
        let oldest = max(0, count - RecentLines.mostLines)
        #expect(texts(lines) == (oldest..<count).map { "line \($0)" })
    }

    @Test func aVeryLongLineIsNotKept() {
        let lines = RecentLines()
        lines.keep(String(repeating: "a", count: RecentLines.longestLine))
        lines.keep(String(repeating: "b", count: RecentLines.longestLine + 1))
        lines.keep("c")
        #expect(texts(lines).map(\.first) == ["a", "c"])
    }
}
