// What the examples' terminal makes of lines, rows and files.

import ExampleTerminal
import Foundation
import Testing

@Suite struct ExampleTerminalTests {
    @Test(arguments: [
        ("", []),
        ("  # a comment", []),
        ("add  photo.jpg \"The sea\" #1", ["add", "photo.jpg", "The sea", "#1"]),
        ("rename \"\" a\" \"b", ["rename", "", "a b"]),
    ])
    func aLineHasWords(line: String, words: [String]) throws {
        #expect(try Words.split(line) == words)
    }

    @Test func aQuoteThatIsNotClosedIsAnError() {
        #expect(throws: StepProblem.self) { try Words.split("add \"The sea") }
    }

    @Test func columnsAreAsWideAsTheirTexts() {
        let table = Table([["a", "bcd", "e"], ["abc", ""], []])
        #expect(table.lines == ["a    bcd  e", "abc", ""])
    }

    /// A PNG says its size at one place; a JPEG in one of its segments.
    @Test func thePictureSaysItsSize() throws {
        let head: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13]
        let png = head + [0x49, 0x48, 0x44, 0x52, 0, 0, 2, 3, 0, 0, 1, 4]
        let picture = try Picture(data: Data(png), name: "a.png")
        #expect(picture.description == "PNG, 515 x 260, 0 KB")
        let start: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 9, 9, 0xFF, 0xC4, 0, 3, 9]
        let jpeg = start + [0xFF, 0xFF, 0xC2, 0, 11, 8, 1, 4, 2, 3, 1]
        #expect(try Picture(data: Data(jpeg), name: "a.jpg").width == 515)
        // A file that ends too early, or is no picture, is an error and nothing else.
        for bytes in [png, jpeg] {
            for count in 0..<(bytes.count - 2) {
                #expect(throws: StepProblem.self) {
                    try Picture(data: Data(bytes.prefix(count)), name: "a")
                }
            }
            for index in bytes.indices {
                var other = bytes
                other[index] ^= 0xFF
                _ = try? Picture(data: Data(other), name: "a")
            }
        }
    }
}
