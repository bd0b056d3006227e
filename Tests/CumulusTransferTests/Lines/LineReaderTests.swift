// Lines of a file that is read in pieces.

import CumulusSystem
import Testing

@testable import CumulusTransfer

@Suite struct LineReaderTests {
    /// The lines of a text: number and content; nil for one that is too long.
    private func lines(_ text: String, longest: Int = 1_000) throws -> [(Int, String?)] {
        let url = FileManager.default.temporaryDirectory.appending(path: "lines-\(UUID())")
        try Data(text.utf8).write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }
        var reader = LineReader(
            try OpenFile(reading: url.path(percentEncoded: false)),
            longestLine: longest
        )
        var lines: [(Int, String?)] = []
        while let line = try reader.next() {
            lines.append((line.number, line.bytes.map { String(decoding: $0, as: UTF8.self) }))
        }
        #expect(reader.byteCount == text.utf8.count)
        return lines
    }

    @Test func countsEmptyLinesAndAnUnfinishedOne() throws {
        let found = try lines("a\n\nb\r\nc")
        #expect(found.map(\.0) == [1, 2, 3, 4])
        #expect(found.map(\.1) == ["a", "", "b", "c"])
    }

    @Test func anEmptyFileHasNoLines() throws {
        #expect(try lines("").isEmpty)
        #expect(try lines("\n").map(\.1) == [""])
    }

    @Test func aByteOrderMarkBelongsToNoLine() throws {
        #expect(try lines("\u{FEFF}a\r\n\u{FEFF}b").map(\.1) == ["a", "\u{FEFF}b"])
        #expect(try lines("\u{FEFF}\na").map(\.1) == ["", "a"])
        #expect(try lines("\u{FEFF}").map(\.1) == [""])
    }

    @Test func joinsWhatWasReadInPieces() throws {
        let long = String(repeating: "x", count: 700_000)
        #expect(try lines("a\n\(long)\nb\n", longest: 1_000_000).map(\.1) == ["a", long, "b"])
    }

    @Test func aLineThatIsTooLongIsNotKept() throws {
        let long = String(repeating: "x", count: 3_000_000)
        let found = try lines("a\n\(long)\nb\n\(long)", longest: 300_000)
        #expect(found.map(\.0) == [1, 2, 3, 4])
        #expect(found.map(\.1) == ["a", nil, "b", nil])
    }
}
