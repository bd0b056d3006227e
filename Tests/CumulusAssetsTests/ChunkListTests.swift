// Cuts and names: the golden samples, what an edit moves, and lists that came from outside.

import CumulusAssets
import CumulusModel
import CumulusTesting
import Testing

@Suite struct ChunkListTests {
    // MARK: Golden samples

    @Test func theGoldenSamplesAreCutAndNamed() throws {
        var made: [String] = []
        for sample in SampleAsset.all {
            let list = sample.content.withUnsafeBytes { ChunkList(cutting: $0) }
            made.append("asset \(list.digest.hex) \(sample.content.count) \(sample.name)")
            made += list.entries.map { "chunk \($0.digest.hex) \($0.size)" }
        }
        let kept = try Golden.text("golden/chunks.txt").split(separator: "\n").map(String.init)
        #expect(made == kept.filter { !$0.hasPrefix("#") })
    }

    // MARK: Cuts

    @Test(arguments: 1...8 as ClosedRange<UInt64>) func chunksKeepToTheirSizes(seed: UInt64) {
        let content = randomBytes(3_000_000, seed: seed)
        let list = content.withUnsafeBytes { ChunkList(cutting: $0) }
        let sizes = list.entries.map(\.size)
        #expect(sizes.reduce(0, +) == content.count && list.size == 3_000_000)
        #expect(sizes.dropLast().allSatisfy { $0 >= ContentCutter.smallest })
        #expect(sizes.allSatisfy { $0 <= ContentCutter.largest })
    }

    /// One byte after the other, as the format is described.
    private static func plainCut(_ bytes: ArraySlice<UInt8>) -> Int {
        let bytes = Bytes(bytes.prefix(1 << 20))
        var fingerprint: UInt64 = 0
        for (index, byte) in bytes.enumerated().dropFirst(64 << 10) {
            fingerprint = fingerprint << 1 &+ ContentCutter.gear[Int(byte)]
            if fingerprint >> (index < 256 << 10 ? 44 : 48) == 0 { return index + 1 }
        }
        return bytes.count
    }

    /// Bytes are random, or make the fingerprint repeat itself, with all lengths around the ones
    /// that the cutter treats in one go.
    @Test func placesAreFoundAsByTheDescription() {
        var dice = SeededGenerator(seed: 12)
        var sizes: Set<Int> = []
        for round in 0..<4 {
            let period = round % 2 == 0 ? Int.random(in: 1...9_000, using: &dice) : .max
            let length =
                (64 << 10) + (round % 5) * (16 << 10) + Int.random(in: 0...40_000, using: &dice)
            let noise = randomBytes(min(period, 3 * length), seed: UInt64(round))
            let content = (0..<3 * length).map { noise[$0 % noise.count] }
            var rest = content[...]
            while !rest.isEmpty {
                let size = rest.withUnsafeBytes { ContentCutter.cut($0) }
                #expect(size == Self.plainCut(rest), "round \(round)")
                sizes.insert(size)
                rest = rest.dropFirst(size)
            }
        }
        #expect(sizes.count > 4)
    }

    @Test func theAverageIsNearWhatWasMeant() {
        let content = randomBytes(8 << 20, seed: 5)
        let count = content.withUnsafeBytes { ChunkList(cutting: $0) }.count
        let average = content.count / count
        #expect((160 << 10...480 << 10).contains(average), "\(average) bytes")
    }

    /// Content behind an edit keeps its chunks.
    @Test func anInsertionNearTheStartMovesFewCuts() {
        var content = randomBytes(4 << 20, seed: 6)
        let before = Set(content.withUnsafeBytes { ChunkList(cutting: $0) }.entries)
        content.insert(contentsOf: Array("one line more\n".utf8), at: 1_000)
        let after = content.withUnsafeBytes { ChunkList(cutting: $0) }.entries
        let new = after.filter { !before.contains($0) }
        #expect(!new.isEmpty && new.count <= 3, "\(new.count) of \(after.count) chunks are new")
    }

    // MARK: Lists

    @Test func aListSurvivesItsBytes() throws {
        let list = SampleAsset.list(of: [70_000, 65_536, 1_048_576, 1])
        #expect(try ChunkList(checking: list.bytes) == list)
        #expect(try ChunkList(checking: []) == ChunkList())
    }

    @Test func aListIsCutOffAnywhere() {
        let bytes = SampleAsset.list(of: [70_000, 80_000, 5]).bytes
        for length in 0..<bytes.count where length % ChunkList.entryBytes != 0 {
            #expect(throws: MalformedBytes.self) {
                try ChunkList(checking: Bytes(bytes[..<length]))
            }
        }
    }

    /// A list of a million entries stands for at least 64 GB, which limits on sizes refuse.
    @Test(arguments: [[0], [1_048_577], [65_535, 1], [70_000, 0], [1, 70_000]])
    func sizesThatNoCutMakesAreRefused(sizes: [Int]) {
        let bytes = SampleAsset.list(of: sizes).bytes
        #expect(throws: MalformedBytes.self) { try ChunkList(checking: bytes) }
    }

    @Test func aMutatedListIsAnotherAssetOrNone() {
        let list = SampleAsset.list(of: [70_000, 80_000, 5])
        var dice = SeededGenerator(seed: 7)
        for _ in 0..<2_000 {
            var bytes = list.bytes
            bytes[Int.random(in: 0..<bytes.count, using: &dice)] ^= 1 << UInt8.random(in: 0..<8)
            guard let other = try? ChunkList(checking: bytes) else { continue }
            #expect(other.digest != list.digest)
        }
    }

    // MARK: Ranges

    @Test func aRangeNamesTheChunksThatHoldIt() {
        let list = SampleAsset.list(of: [70_000, 80_000, 90_000])
        #expect(list.chunks(holding: 0..<240_000) == (0..<3, 0))
        #expect(list.chunks(holding: 0..<1) == (0..<1, 0))
        #expect(list.chunks(holding: 69_999..<70_001) == (0..<2, 0))
        #expect(list.chunks(holding: 70_000..<70_001) == (1..<2, 70_000))
        #expect(list.chunks(holding: 239_999..<240_000) == (2..<3, 150_000))
        #expect(list.chunks(holding: 5..<5).chunks.isEmpty)
        #expect(list.chunks(holding: 240_000..<240_001).chunks.isEmpty)
        #expect(ChunkList().chunks(holding: 0..<1).chunks.isEmpty)
    }
}

func randomBytes(_ count: Int, seed: UInt64) -> Bytes {
    SampleAsset.stream(count, from: seed << 32)
}
