// What protobuf demands of a reader, and what hostile messages may not get from one.

import CumulusModel
import CumulusTesting
import Testing

@Suite struct TolerantReaderTests {
    private static func read(_ bytes: Bytes) throws -> CodedSample {
        try CodedSample(tolerant: bytes, growth: 16)
    }

    private static func message(_ write: (inout CanonicalWriter) -> Void) -> Bytes {
        var writer = CanonicalWriter()
        write(&writer)
        return writer.bytes
    }

    // MARK: Order and unknown fields

    @Test func fieldsMayStandInAnyOrder() throws {
        for seed in UInt64(1)...300 {
            var dice = SeededGenerator(seed: seed)
            let sample = CodedSample(using: &dice)
            // Fields of one number keep their order.
            var fields = Dictionary(grouping: try sample.encoded().messageFields(), by: \.number)
                .mapValues { $0[...] }
            var shuffled: Bytes = []
            while let number = fields.keys.sorted().randomElement(using: &dice) {
                shuffled += fields[number]?.popFirst()?.bytes ?? []
                if fields[number]?.isEmpty == true { fields[number] = nil }
            }
            #expect(try Self.read(shuffled) == sample, "\(seed)")
        }
    }

    @Test func unknownFieldsAreSkipped() throws {
        let unknown: [Bytes] = [
            Self.message { $0.present(19_000, varint: .max) },
            Self.message { $0.present(1_000, double: 1) },
            Self.message { $0.present(27, bytes: [0xFF, 0xFF]) },
            Self.message { $0.tag(900, .fixed32) } + [1, 2, 3, 4],
            [0xF8, 0xFF, 0xFF, 0xFF, 0x7F, 1],  // a number of 32 bits
        ]
        for seed in UInt64(1)...300 {
            var dice = SeededGenerator(seed: seed)
            let sample = CodedSample(using: &dice)
            var bytes: Bytes = []
            for field in try sample.encoded().messageFields() {
                if Bool.random(using: &dice) {
                    bytes += unknown.randomElement(using: &dice) ?? []
                }
                bytes += field.bytes
            }
            #expect(try Self.read(bytes) == sample, "\(seed)")
        }
    }

    @Test(
        arguments: [
            [0, 5], [2, 0],  // no number
            [0x0B], [0x0C], [0x0E], [0x0F],  // groups, and wire types that don't exist
            [0x08], [0x08, 0x80], [0x29, 1, 2, 3], [0x3A, 1], [0xD5, 1, 0, 0],  // cut off
            [0x08] + Bytes(repeating: 0xFF, count: 10) + [1],  // longer than ten bytes
            [0xF8, 0xFF, 0xFF, 0xFF, 0xFF, 1, 1],  // a tag of six bytes
            [0x3A, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 1],  // longer than the message
        ] as [Bytes]
    )
    func brokenFieldsAreRefused(bytes: Bytes) {
        #expect(throws: MalformedBytes.self) { try Self.read(bytes) }
    }

    @Test(
        arguments: [
            [0x0A, 0], [0x1D, 0, 0, 0, 0], [0x28, 1], [0x31 ^ 1, 0], [0x38, 0], [0x40, 0],
            [0x48, 0],
            [0x58, 0], [0x70, 0], [0x79, 0, 0, 0, 0, 0, 0, 0, 0], [0x90, 1, 0], [0x98, 1, 0],
            [0xA2, 1, 0], [0xC0, 1, 0], [0xD0, 1, 0],
        ] as [Bytes]
    )
    func knownFieldsOfAnotherTypeAreRefused(bytes: Bytes) {
        #expect(throws: MalformedBytes.self) { try Self.read(bytes) }
    }

    // MARK: Several of one field

    @Test func theLastOneCounts() throws {
        let sample = try Self.read(
            Self.message { writer in
                writer.field(1, varint: 7)
                writer.field(7, bytes: [1])
                writer.field(9, text: "a")
                writer.present(1, varint: 0)
                writer.field(7, bytes: [2])
                writer.field(9, text: "b")
            }
        )
        #expect((sample.number, sample.bytes, sample.text) == (0, [2], "b"))
    }

    /// As libprotobuf-c does it: texts and messages of the earlier one stay, lists are joined, and
    /// numbers come from the later one.
    @Test func messagesThatComeTwiceAreMerged() throws {
        let sample = try Self.read(
            Self.message { writer in
                writer.message(19) { part in
                    part.field(1, text: "a")
                    part.field(2, varint: 5)
                    part.present(3, bytes: [1])
                    part.message(4) { $0.field(1, signed: 3) }
                }
                writer.message(19) { $0.present(3, bytes: [2]) }
            }
        )
        var part = CodedSample.Part()
        part.name = "a"
        part.parts = [[1], [2]]
        part.inner = CodedSample.Leaf(value: 3)
        #expect(sample.sometimes == part)
    }

    @Test func theLastMemberOfAChoiceCounts() throws {
        let members: [(CodedSample.Choice, Bytes)] = [
            (.number(0), Self.message { $0.present(20, varint: 0) }),
            (.signed(-1), Self.message { $0.present(22, signed: -1) }),
            (.bytes([]), Self.message { $0.present(24, bytes: []) }),
            (.part(CodedSample.Part()), Self.message { $0.message(26) { _ in } }),
        ]
        for first in members {
            for last in members {
                #expect(try Self.read(first.1 + last.1).choice == last.0)
            }
        }
        // A message in a choice is replaced, and not merged.
        let named = Self.message { $0.message(26) { $0.field(1, text: "a") } }
        #expect(try Self.read(named + members[3].1).choice == members[3].0)
    }

    @Test func numbersMayBePackedAndSingle() throws {
        let sample = try Self.read(
            Self.message { writer in
                writer.present(15, varint: 1)
                writer.present(15, bytes: [2, 0x83, 1])
                writer.present(15, varint: 4)
                writer.present(15, bytes: [])
                writer.present(17, bytes: Bytes(repeating: 1, count: 16))
                writer.tag(17, .fixed64)
                writer.fixed64(9)
            }
        )
        #expect(sample.packed == [1, 2, 131, 4])
        #expect(sample.fixeds == [0x0101_0101_0101_0101, 0x0101_0101_0101_0101, 9])
        for cut: Bytes in [[0x7A, 1, 0x80], [0x8A, 1, 7, 1, 2, 3, 4, 5, 6, 7]] {
            #expect(throws: MalformedBytes.self) { try Self.read(cut) }
        }
    }

    // MARK: Values

    @Test func numbersThatAreTooLongAreCut() throws {
        let ten = Bytes(repeating: 0xFF, count: 9) + [0x7F]
        #expect(try Self.read([0x08] + ten).number == .max)
        #expect(try Self.read([0x10] + ten).short == .max)
        #expect(try Self.read([0x10, 0x81, 0x80, 0x80, 0x80, 0x10]).short == 1)
    }

    @Test func aFlagIsSetByAnyBit() throws {
        for set: Bytes in [[0x20, 2], [0x20, 0x80, 1], [0x22, 1, 0], [0x25, 0, 0, 0, 1]] {
            #expect(try Self.read(set).flag)
        }
        for clear: Bytes in [[0x20, 0], [0x20, 0x80, 0], [0x22, 0], [0x25, 0, 0, 0, 0x80]] {
            #expect(try !Self.read(clear).flag)
        }
    }

    @Test func textIsMendedOrRefused() throws {
        #expect(try Self.read([0x4A, 2, 0x61, 0xFF]).text == "a\u{FFFD}")
        #expect(try Self.read([0x62, 1, 0xFF]).texts == ["\u{FFFD}"])
        #expect(throws: MalformedBytes.self) { try Self.read([0x52, 1, 0xFF]) }
        #expect(throws: MalformedBytes.self) { try Self.read([0x6A, 1, 0xFF]) }
        #expect(throws: MalformedBytes.self) { try CodedSample(strict: [0x4A, 1, 0xFF]) }
    }

    // MARK: Memory and depth

    /// Lists of the smallest elements, in order and not: what is read keeps the bound.
    @Test(
        arguments: [
            [0x5A, 0], [0x62, 0], [0x6A, 0], [0x72, 0], [0x78, 1], [0x7A, 1, 1], [0x80, 1, 1],
            [0x5A, 1, 7], [0x72, 2, 0x1A, 0], [0x92, 1, 2, 0x1A, 0],
        ] as [Bytes]
    )
    func memoryIsBounded(element: Bytes) throws {
        var refused = 0
        for count in [1_000, 10_000, 300_000] {
            for prefix: Bytes in [[], [0xC0, 0x0C, 1]] {
                let bytes = prefix + repeatElement(element, count: count).joined()
                do throws(MalformedBytes) {
                    let sample = try CodedSample(tolerant: bytes, growth: 4)
                    #expect(sample.heldBytes <= 4 * bytes.count + 256 << 10)
                } catch {
                    #expect(error.reason.contains("small parts"))
                    refused += 1
                }
            }
        }
        #expect(refused > 0)
    }

    @Test func nestingIsBounded() throws {
        struct Nest: Coded {
            var inner: [Nest] = []

            mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
                try coder.list(1, &inner)
            }
        }
        func nested(_ depth: Int) -> Bytes {
            (0..<depth).reduce([]) { inner, _ in Self.message { $0.present(1, bytes: inner) } }
        }
        #expect(try Nest(tolerant: nested(16), growth: 128).inner.count == 1)
        for depth in [17, 1_000] {
            #expect(throws: MalformedBytes.self) {
                try Nest(tolerant: nested(depth), growth: 128)
            }
        }
    }
}
