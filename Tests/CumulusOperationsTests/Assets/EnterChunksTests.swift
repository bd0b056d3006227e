// Tests chunks that a caller sent: all of a message enters or none of it, at the same cost however
// many assets contain them.

import CumulusAssets
import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct EnterChunksTests {
    private let engine = CountingEngine()
    private let store: TestStore
    private static let caller = Caller(role: .user("_ada"))
    private static let shared = ChunkList.Entry(digest: digest(0), size: 1_000)

    init() throws { store = try TestStore(engine: engine) }

    private static func digest(_ number: Int) -> Bytes {
        Bytes((0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 % 4 * 8)) })
    }

    private static func list(_ entries: [ChunkList.Entry]) -> ChunkList {
        var list = ChunkList()
        for entry in entries { list.append(entry) }
        return list
    }

    private func prepare(_ lists: [ChunkList]) throws -> [[Int]?] {
        let request = PrepareAssets(
            database: .private,
            lists: lists.map { .success($0) },
            limits: .standard
        )
        return try store.run(store.request(request, by: Self.caller)).get().map { try? $0.get() }
    }

    private func send(_ chunks: [ChunkList.Entry], pack: PackNumber) throws -> EnterChunks.Outcome {
        let packed = chunks.enumerated().map { index, chunk in
            PackedChunk(
                digest: chunk.digest,
                row: ChunkRow(
                    pack: pack,
                    offset: 1_000 * index,
                    length: 1_000,
                    size: chunk.size,
                    isCompressed: true,
                    checksum: Bytes(repeating: 1, count: 16)
                )
            )
        }
        let request = EnterChunks(
            database: .private,
            chunks: packed,
            length: 1_000 * chunks.count
        )
        return try store.run(store.request(request, by: Self.caller)).get()
    }

    @Test func aChunkOfManyAssetsIsEnteredAtOnce() throws {
        let lists = (1...500).map { number in
            Self.list([
                ChunkList.Entry(digest: Self.digest(number), size: ContentCutter.smallest),
                Self.shared,
            ])
        }
        _ = try prepare(lists + [Self.list([Self.shared])])
        let before = engine.rowsWritten
        #expect(try send([Self.shared], pack: 1) == EnterChunks.Outcome(refusal: nil, isUsed: true))
        #expect(engine.rowsWritten - before < 10)
        #expect(try DerivedRows.differences(in: engine) == [])
        #expect(try prepare([lists[7], Self.list([Self.shared])]) == [[0], []])
    }

    @Test func aMessageStandsOrFallsAsAWhole() throws {
        _ = try prepare([Self.list([Self.shared])])
        let unknown = ChunkList.Entry(digest: Self.digest(9), size: 70_000)
        let outcome = try send([Self.shared, unknown], pack: 1)
        #expect(outcome.refusal?.error.reason == .assetNotPrepared)
        #expect(outcome.isUsed == false)
        #expect(try prepare([Self.list([Self.shared])]) == [[0]])
        #expect(try DerivedRows.differences(in: engine) == [])
    }

    /// The chunk's digest is in many lists with a wrong size.
    @Test func wrongSizesDontHideTheRightOne() throws {
        let right = Self.list([Self.shared])
        let lists = (1...999).map {
            Self.list([ChunkList.Entry(digest: Self.shared.digest, size: $0)])
        }
        // The wrong lists come before the right one.
        let wrong = lists.filter { precedes($0.digest, right.digest) }
        #expect(wrong.count > 200)
        _ = try prepare(wrong + [right])
        #expect(try send([Self.shared], pack: 1).refusal == nil)
        #expect(try prepare([right, wrong[0]]) == [[], [0]])
    }
}
