// The node's chunk store on its own: stored chunks are read, and damage is noticed.

import Crypto
import CumulusAssets
import CumulusModel
import CumulusNode
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct AssetStoreTests {
    private static func store(_ packs: MemoryPacks) -> AssetStore {
        AssetStore(packs, next: 1, capacity: 8, diskReserve: 0, freeBytes: { nil })
    }

    private static func chunk(_ content: Bytes) -> Chunk {
        ChunkCodec().chunk(content[...], digest: content.withUnsafeBytes(Chunk.digest(of:)))
    }

    private static let chunks = [
        chunk(SampleAsset.stream(70_000)), chunk(Bytes(repeating: 7, count: 90_000)),
        chunk([1]),
    ]

    /// What a release before format 8 would have entered.
    private static func early(_ row: ChunkRow, _ chunk: Chunk) -> ChunkRow {
        var row = row
        row.checksum = Bytes(SHA256.hash(data: chunk.content).prefix(8))
        return row
    }

    @Test func checksumsOfThisFormatAndTheOneBeforeAreTaken() throws {
        let store = Self.store(MemoryPacks())
        let pack = try store.write(Self.chunks)
        for (chunk, packed) in zip(Self.chunks, pack.chunks) {
            #expect(packed.row.checksum.count == 16)
            #expect(try store.read(chunk.digest, packed.row) == chunk)
            #expect(try store.read(chunk.digest, Self.early(packed.row, chunk)) == chunk)
        }
    }

    @Test func everyChangedByteIsSeen() throws {
        let packs = MemoryPacks()
        let chunk = Self.chunks[1]
        let row = try Self.store(packs).write([chunk]).chunks[0].row
        let whole = try #require(packs.content[row.pack])
        for place in whole.indices {
            var bytes = whole
            bytes[place] ^= 1
            let store = Self.store(MemoryPacks([row.pack: bytes]))
            #expect(try store.read(chunk.digest, row) == nil)
            #expect(try store.read(chunk.digest, Self.early(row, chunk)) == nil)
        }
    }

    @Test(arguments: [[], [1], Bytes(1...8), Bytes(0..<16), Bytes(0..<17)])
    func anotherChecksumIsDamage(checksum: Bytes) throws {
        let store = Self.store(MemoryPacks())
        var row = try store.write([Self.chunks[0]]).chunks[0].row
        row.checksum = checksum
        #expect(try store.read(Self.chunks[0].digest, row) == nil)
    }
}
