// How packs are cut into parts, and which of them a read asks for.

import CumulusModel
import CumulusTesting
import Testing

@testable import PostgresStorage

@Suite struct PackPartsTests {
    private static let unit = PackParts.size

    private func cut(_ pieces: [Bytes]) -> [(first: Int, parts: [Bytes])] {
        var parts = PackParts(pieces.map { $0[...] })
        var all: [(first: Int, parts: [Bytes])] = []
        while let some = parts.next() { all.append(some) }
        return all
    }

    @Test func aPackWithoutBytesHasOnePart() {
        for pieces in [[], [[]], [[], []]] as [[Bytes]] {
            let all = cut(pieces)
            #expect(all.map(\.first) == [0])
            #expect(all.map(\.parts) == [[[]]])
        }
    }

    /// Whatever the pieces are.
    @Test(arguments: [1_000, 262_143, 262_144, 262_145, 700_000, 3_000_000])
    func partsAreFullButTheLastOne(size: Int) {
        let bytes = SampleAsset.stream(9 * Self.unit + 77)
        let pieces = stride(from: 0, to: bytes.count, by: size).map {
            Bytes(bytes[$0..<min($0 + size, bytes.count)])
        }
        let all = cut(pieces)
        #expect(all.map(\.first) == [0, 4, 8])
        let parts = all.flatMap(\.parts)
        #expect(parts.map(\.count) == Array(repeating: Self.unit, count: 9) + [77])
        #expect(Bytes(parts.joined()) == bytes)
    }

    @Test func aReadAsksForAPageOfParts() {
        let unit = Self.unit
        #expect(PackParts.page(of: 0..<5) == 0..<5)
        #expect(PackParts.page(of: 0..<9 * unit) == 0..<8 * unit)
        #expect(PackParts.page(of: unit - 1..<20 * unit) == unit - 1..<8 * unit)
        #expect(PackParts.page(of: unit..<20 * unit) == unit..<9 * unit)
        #expect(PackParts.count(in: 0..<0) == 1)
        #expect(PackParts.count(in: 0..<unit) == 1)
        #expect(PackParts.count(in: unit - 1..<unit + 1) == 2)
        #expect(PackParts.count(in: unit..<unit) == 1)
        #expect(PackParts.count(in: 1..<8 * unit) == 8)
    }
}
