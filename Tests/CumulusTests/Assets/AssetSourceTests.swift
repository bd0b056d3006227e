// Files that were cut before: unchanged parts are only hashed, and the cuts equal the cuts of a
// first upload.

import CumulusAssets
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@testable import Cumulus

@Suite struct AssetSourceTests {
    private static let content = SampleAsset.stream(9_000_000)
    private static let known = cut(content)

    private static func cut(_ content: Bytes) -> ChunkList {
        content.withUnsafeBytes { ChunkList(cutting: $0) }
    }

    private func source(_ content: Bytes, in folder: TemporaryFolder) throws -> AssetSource {
        let path = "\(folder.path)/file"
        try Data(content).write(to: URL(filePath: path))
        return try AssetSource(.file(path: path))
    }

    /// Places where something may be different: cuts, and others.
    private static func place(_ content: Bytes, _ dice: inout SeededGenerator) -> Int {
        if Bool.random(using: &dice) { return Int.random(in: 0..<content.count, using: &dice) }
        var cuts = [0]
        for entry in known.entries { cuts.append(cuts[cuts.count - 1] + entry.size) }
        let cut = cuts.randomElement(using: &dice) ?? 0
        return max(0, min(content.count - 1, cut + .random(in: -1...1, using: &dice)))
    }

    private static func edited(_ dice: inout SeededGenerator) -> Bytes {
        var content = content
        for _ in 0..<Int.random(in: 0...2, using: &dice) {
            let place = place(content, &dice)
            switch Int.random(in: 0..<5, using: &dice) {
            case 0: content[place] ^= 1
            case 1: content.insert(contentsOf: Bytes("more".utf8), at: place)
            case 2: content.remove(at: place)
            case 3: content.removeSubrange(max(place, 1)...)
            default: content += SampleAsset.stream(.random(in: 1...400_000, using: &dice))
            }
        }
        return content
    }

    @Test(arguments: 1...30 as ClosedRange<UInt64>) func editedFilesAreCutAsIfNew(
        seed: UInt64
    ) async throws {
        var dice = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder()
        let content = Self.edited(&dice)
        let list = try await source(content, in: folder).chunkList(known: Self.known)
        #expect(list == Self.cut(content))
    }

    /// Nobody cuts like this: it comes back only where nothing was cut.
    @Test func whatIsTheSameIsNotCut() async throws {
        let folder = try TemporaryFolder()
        var odd = ChunkList()
        for start in stride(from: 0, to: Self.content.count, by: 100_000) {
            let end = min(start + 100_000, Self.content.count)
            let digest = Self.content[start..<end].withUnsafeBytes(Chunk.digest(of:))
            odd.append(ChunkList.Entry(digest: digest, size: end - start))
        }
        let same = try source(Self.content, in: folder)
        #expect(try await same.chunkList(known: odd) == odd)
        var changed = Self.content
        changed[4_350_000] ^= 1
        let list = try await source(changed, in: folder).chunkList(known: odd)
        #expect(list.entries.prefix(43) == odd.entries.prefix(43))
        #expect(list.entries[43...] == Self.cut(Bytes(changed[4_300_000...])).entries[...])
    }

    @Test func cutsAreRemembered() throws {
        let folder = try TemporaryFolder()
        let cache = AssetCache(directory: "\(folder.path)/cache", byteLimit: 100_000)
        var list = ChunkList()
        for number in 0..<64 {
            let digest = Bytes(repeating: UInt8(number), count: 32)
            list.append(ChunkList.Entry(digest: digest, size: 300_000))
        }
        cache.keepCuts(list, of: "/a")
        #expect(cache.cuts(of: "/a") == list && cache.cuts(of: "/b") == nil)
        let names = try FileManager.default.contentsOfDirectory(atPath: cache.directory)
        let file = "\(cache.directory)/\(try #require(names.first))"
        var bytes = Bytes(try Data(contentsOf: URL(filePath: file)))
        bytes[200] ^= 1
        try Data(bytes).write(to: URL(filePath: file))
        #expect(names.count == 1 && cache.cuts(of: "/a") == nil)
        try Data().write(to: URL(filePath: file))
        #expect(cache.cuts(of: "/a") == nil)
        // They take part in the room of the cache.
        for number in 0..<60 { cache.keepCuts(list, of: "/\(number)") }
        let left = try FileManager.default.contentsOfDirectory(atPath: cache.directory)
        #expect(left.count == 42 && cache.cuts(of: "/59") == list)
    }
}
