// The hand-written protobuf primitives: reading inverts writing, and damaged bytes are refused.

import CumulusModel
import CumulusTesting
import Testing

@Suite struct CanonicalCodingTests {
    static let numbers: [(UInt64, Bytes)] = [
        (0, [0]),
        (1, [1]),
        (127, [0x7F]),
        (128, [0x80, 1]),
        (300, [0xAC, 2]),
        (1 << 63, [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1]),
        (.max, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]),
    ]

    /// The length of a nested message takes more bytes where the message is longer.
    @Test(arguments: [0, 1, 127, 128, 16_383, 16_384, 2_097_152])
    func aNestedMessageIsItsBytesBehindTheirLength(count: Int) {
        let content = Bytes(repeating: 7, count: count)
        var nested = CanonicalWriter()
        nested.raw([1])
        nested.message(5) { outer in
            outer.message(6) { $0.raw(content) }
            outer.raw([2])
        }
        nested.raw([3])
        var inner = CanonicalWriter()
        inner.present(6, bytes: content)
        inner.raw([2])
        var flat = CanonicalWriter()
        flat.raw([1])
        flat.present(5, bytes: inner.bytes)
        flat.raw([3])
        #expect(nested.bytes == flat.bytes)
    }

    @Test(arguments: numbers)
    func varintsAreShortest(value: UInt64, bytes: Bytes) throws {
        var writer = CanonicalWriter()
        writer.varint(value)
        #expect(writer.bytes == bytes)
        var reader = CanonicalReader(bytes)
        #expect(try reader.varint() == value)
        #expect(reader.isAtEnd)
    }

    @Test(arguments: numbers)
    func aVarintCutAnywhereIsRefused(value: UInt64, bytes: Bytes) {
        for length in 0..<bytes.count {
            var reader = CanonicalReader(Bytes(bytes.prefix(length)))
            #expect(throws: MalformedBytes.self) { try reader.varint() }
        }
    }

    @Test func longVarintsAreReadUpTo64Bits() throws {
        var reader = CanonicalReader([0x81, 0x80, 0x80, 0])
        #expect(try reader.varint() == 1)
        let ones = Bytes(repeating: 0xFF, count: 9)
        for last in [2, 0x7F, 0x81, 0xFF] as Bytes {
            var reader = CanonicalReader(ones + [last, 0])
            #expect(throws: MalformedBytes.self) { try reader.varint() }
        }
    }

    @Test func smallNumbersOfEitherSignStayShort() {
        let pairs: [(Int64, UInt64)] = [
            (0, 0), (-1, 1), (1, 2), (-2, 3), (.max, .max - 1), (.min, .max),
        ]
        for (signed, unsigned) in pairs {
            #expect(zigzag(signed) == unsigned)
            #expect(unzigzag(unsigned) == signed)
        }
    }

    @Test(arguments: UInt64(1)...4)
    func randomValuesComeBack(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let width = UInt64.random(in: 0...63, using: &dice)
            let word = dice.next() >> width
            let signed = Int64(bitPattern: dice.next()) >> Int64(width)
            let content = (0..<Int.random(in: 0...300, using: &dice)).map { UInt8($0 & 0xFF) }
            var writer = CanonicalWriter()
            writer.varint(word)
            writer.varint(zigzag(signed))
            writer.fixed64(word)
            writer.bigEndian(word)
            writer.delimited(content)
            var reader = CanonicalReader(writer.bytes)
            #expect(try reader.varint() == word)
            #expect(try reader.signed() == signed)
            #expect(try reader.fixed64() == word)
            #expect(try reader.bigEndian() == word)
            #expect(try reader.delimitedBytes() == content)
            #expect(reader.isAtEnd)
        }
    }

    @Test func defaultsAreLeftOutAndPresentFieldsAreNot() {
        var writer = CanonicalWriter()
        writer.field(1, varint: 0)
        writer.field(2, signed: 0)
        writer.field(3, fixed64: 0)
        writer.field(4, bytes: [])
        writer.field(5, text: "")
        #expect(writer.bytes.isEmpty)
        writer.present(1, bytes: [])
        writer.present(2, signed: 0)
        writer.message(3) { _ in }
        #expect(writer.bytes == [0x0A, 0, 0x10, 0, 0x1A, 0])
    }

    @Test func bothByteOrdersStandAsTheyShould() {
        var writer = CanonicalWriter()
        writer.fixed64(1)
        writer.bigEndian(1)
        #expect(writer.bytes.hex == "01000000000000000000000000000001")
    }

    @Test func fieldsAreWalkedAndSkipped() throws {
        var writer = CanonicalWriter()
        writer.field(1, varint: 7)
        writer.present(2, double: 1.5)
        writer.field(3, text: "three")
        writer.tag(4, .fixed32)
        writer.raw([1, 2, 3, 4])
        writer.field(500, varint: 9)
        var reader = CanonicalReader(writer.bytes)
        var seen: [Int] = []
        while let (number, type) = try reader.nextField() {
            seen.append(number)
            try reader.skip(type)
        }
        #expect(seen == [1, 2, 3, 4, 500])
        for length in 1..<writer.bytes.count {
            let cut = Bytes(writer.bytes.prefix(length))
            let whole = try? CanonicalCodingTests.fieldCount(cut)
            #expect(whole == nil || Self.isBoundary(length, of: writer.bytes))
        }
    }

    private static func fieldCount(_ bytes: Bytes) throws(MalformedBytes) -> Int {
        var reader = CanonicalReader(bytes)
        var count = 0
        while let (_, type) = try reader.nextField() {
            try reader.skip(type)
            count += 1
        }
        return count
    }

    /// Whether fields end there.
    private static func isBoundary(_ length: Int, of bytes: Bytes) -> Bool {
        var reader = CanonicalReader(bytes)
        while let field = try? reader.nextField() {
            try? reader.skip(field.type)
            if reader.position == length { return true }
        }
        return false
    }

    static let impossibleTags: [Bytes] = [
        [0x03], [0x04], [0x06], [0x07],  // groups and unknown wire types
        [0x00], [0x02],  // field 0
        [0x80, 0x80, 0x80, 0x80, 0x10],  // field 2^29
    ]

    @Test(arguments: impossibleTags)
    func impossibleTagsAreRefused(bytes: Bytes) {
        var reader = CanonicalReader(bytes)
        #expect(throws: MalformedBytes.self) { try reader.nextField() }
    }

    @Test func lengthsBeyondTheEndAreRefused() {
        let lengths: [Bytes] = [
            [2, 0], [0xFF, 0xFF, 0xFF, 0xFF, 0x0F], Bytes(repeating: 0xFF, count: 9) + [1],
        ]
        for bytes in lengths {
            var reader = CanonicalReader(bytes)
            #expect(throws: MalformedBytes.self) { try reader.delimited() }
            var nested = CanonicalReader(bytes)
            #expect(throws: MalformedBytes.self) { try nested.message() }
        }
    }

    @Test func aNestedReaderEndsWithItsMessage() throws {
        var reader = CanonicalReader([2, 0x08, 0x05, 0x10, 0x06])
        var nested = try reader.message()
        #expect(try nested.nextField()?.number == 1)
        #expect(try nested.varint() == 5)
        #expect(try nested.nextField() == nil)
        #expect(throws: MalformedBytes.self) { try nested.byte() }
        #expect(try reader.nextField()?.number == 2)
    }

    @Test func textMustBeUTF8() throws {
        var good = CanonicalReader([3, 0xE2, 0x82, 0xAC])
        #expect(try good.text() == "€")
        for bad in [[1, 0xFF], [2, 0xC0, 0x80], [3, 0xED, 0xA0, 0x80], [2, 0xE2, 0x82]] as [Bytes] {
            var reader = CanonicalReader(bad)
            #expect(throws: MalformedBytes.self) { try reader.text() }
        }
    }

    @Test func countsAreHeldToTheirLimit() throws {
        var reader = CanonicalReader([5, 6])
        #expect(try reader.count(limit: 5) == 5)
        #expect(throws: MalformedBytes.self) { try reader.count(limit: 5) }
        var huge = CanonicalReader([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1])
        #expect(throws: MalformedBytes.self) { try huge.count() }
    }
}
