// The promises of the seam of packs, checked on what a test opens.
//
// The tests of each kind of packs make one of these and run its checks; a check throws at the first
// difference and says what it was.

import CumulusModel
package import CumulusStorage

package struct PackConformance {
    /// A difference between packs and what the seam promises.
    package struct Violation: Error, CustomStringConvertible {
        package let description: String
    }

    private let packs: any PackFiles
    /// Opens the same packs again.
    private let reopen: () throws -> any PackFiles

    /// - Parameter packs: There are none yet.
    package init(_ packs: any PackFiles, reopen: @escaping () throws -> any PackFiles) {
        self.packs = packs
        self.reopen = reopen
    }

    /// All checks.
    package func check(seed: UInt64) throws {
        try checkNothing()
        try checkSmallPacks()
        try checkOrigin()
        try checkRandomPacks(seed: seed)
    }

    private func checkNothing() throws {
        try expect(try packs.all(), [:], "no packs")
        try expect(try packs.origin(), nil, "no origin")
        try expect(try packs.read(1, 0..<0), nil, "a pack that is missing")
        try expect(try packs.read(1, 0..<9), nil, "bytes of a pack that is missing")
        try expect(packs.remove(1), 0, "the removal of a pack that is missing")
    }

    private func checkSmallPacks() throws {
        try packs.write(1, [[1, 2], [], [3]])
        try packs.write(2, [])
        try packs.write(3, [[4]])
        try expect(try packs.all(), [1: 3, 2: 0, 3: 1], "three packs")
        try expect(try packs.read(1, 0..<3), [1, 2, 3], "pieces are one after the other")
        try expect(try packs.read(1, 1..<2), [2], "a stretch")
        try expect(try packs.read(1, 0..<0), [], "a pack that is there")
        try expect(try packs.read(2, 0..<0), [], "an empty pack that is there")
        try expect(try packs.read(1, 2..<4), nil, "more than there is")
        try expect(try packs.read(1, 1_000_000..<1_000_001), nil, "bytes far behind the end")
        try expect(packs.remove(1), 3, "the size of what was removed")
        try expect(packs.remove(1), 0, "a second removal")
        try expect(try packs.read(1, 0..<1), nil, "a pack that was removed")
        try expect(try packs.all(), [2: 0, 3: 1], "the packs that are left")
        for pack: PackNumber in 2...3 { packs.remove(pack) }
    }

    private func checkOrigin() throws {
        for run in [UInt64.max, 0x0f3a_44c1_d2e0_b7f5].map(Incarnation.init) {
            try packs.setOrigin(run)
            try expect(try packs.origin(), run, "an origin")
            try expect(try reopen().origin(), run, "an origin, opened again")
        }
    }

    /// Packs have about the size of a part or of a page, in pieces of any size.
    private func checkRandomPacks(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        let unit = 256 << 10
        let sizes = [1, unit - 1, unit, unit + 1, 4 * unit, 4 * unit + 1, 9 * unit + 12_345]
        var written: [PackNumber: Bytes] = [:]
        for (index, size) in sizes.enumerated() {
            let pack = PackNumber(999 + index)
            let bytes = SampleAsset.stream(size, from: UInt64(index))
            try packs.write(pack, pieces(of: bytes, &dice))
            written[pack] = bytes
        }
        packs.remove(999)
        written[999] = nil
        for packs in [packs, try reopen()] {
            try expect(try packs.all(), written.mapValues(\.count), "all packs")
            for (pack, bytes) in written {
                try checkStretches(of: bytes, { try packs.read(pack, $0) }, &dice)
            }
        }
    }

    private func pieces(
        of bytes: Bytes,
        _ dice: inout SeededGenerator
    ) -> [ArraySlice<UInt8>] {
        var (pieces, rest) = ([ArraySlice<UInt8>](), bytes[...])
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 1...700_000, using: &dice))
            pieces.append(piece)
            rest = rest.dropFirst(piece.count)
        }
        return pieces
    }

    private func checkStretches(
        of bytes: Bytes,
        _ read: (Range<Int>) throws -> Bytes?,
        _ dice: inout SeededGenerator
    ) throws {
        try expect(try read(0..<bytes.count) == bytes, true, "a whole pack")
        try expect(try read(0..<bytes.count + 1), nil, "a byte more than there is")
        for _ in 0..<8 {
            let start = Int.random(in: 0..<bytes.count, using: &dice)
            let end = Int.random(in: start...bytes.count, using: &dice)
            let isRight = try read(start..<end) == Bytes(bytes[start..<end])
            try expect(isRight, true, "bytes \(start)..<\(end) of \(bytes.count)")
        }
    }

    private func expect<Value: Equatable>(
        _ found: @autoclosure () throws -> Value,
        _ wanted: Value,
        _ what: String
    ) throws {
        let found = try found()
        guard found != wanted else { return }
        throw Violation(description: "\(what): \(found) in place of \(wanted)")
    }
}
