// What the strict reader refuses, one by one: `CoderTests` has the rest.

import CumulusModel
import Testing

@Suite struct StrictReaderTests {
    /// A message with fields before and behind the one that is always there.
    private static func sample(_ before: Bytes, _ behind: Bytes = []) throws -> CodedSample {
        try CodedSample(strict: before + [0x92, 1, 0] + behind)
    }

    @Test func aWholeMessageIsRead() throws {
        #expect(try Self.sample([]) == CodedSample())
        #expect(try Self.sample([0x08, 1, 0x20, 1], [0xA0, 1, 0]).choice == .number(0))
    }

    static let refused: [(String, Bytes)] = [
        ("a number that is left out", [0x08, 0]),
        ("a number that is too long", [0x08, 0x81, 0]),
        ("a tag that is too long", [0x88, 0, 1]),
        ("a length that is too long", [0x3A, 0x81, 0, 7]),
        ("two of one", [0x08, 1, 0x08, 1]),
        ("the wrong order", [0x18, 2, 0x08, 1]),
        ("a flag that is left out", [0x20, 0]),
        ("a flag that is no flag", [0x20, 2]),
        ("a fixed number that is left out", [0x29] + Bytes(repeating: 0, count: 8)),
        ("a negative zero", [0x31, 0, 0, 0, 0, 0, 0, 0, 0x80]),
        ("bytes that are left out", [0x3A, 0]),
        ("a slice that is left out", [0x42, 0]),
        ("a text that is left out", [0x4A, 0]),
        ("another type", [0x0A, 1, 7]),
        ("single numbers of a run", [0x78, 1]),
        ("a run without numbers", [0x7A, 0]),
        ("a run with a number that is too long", [0x7A, 2, 0x81, 0]),
        ("a value that is cut off", [0x3A, 5, 1]),
        ("an unknown field in a part", [0x72, 2, 0x28, 1]),
    ]

    @Test(arguments: refused)
    func itRefuses(what: String, bytes: Bytes) {
        #expect(throws: MalformedBytes.self, "\(what)") { try Self.sample(bytes) }
    }

    @Test func itRefusesWhatStandsBehind() {
        for behind: Bytes in [
            [0x08, 1], [0x92, 1, 0], [0xA0, 1, 0, 0xB0, 1, 0], [0xD8, 1, 1], [0xFD, 0x3F, 0],
        ] {
            #expect(throws: MalformedBytes.self) { try Self.sample([], behind) }
        }
        #expect(throws: MalformedBytes.self) { try CodedSample(strict: []) }
    }
}
