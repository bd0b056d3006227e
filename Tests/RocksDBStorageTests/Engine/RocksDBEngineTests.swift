// The engine on a disk: the seam's promises, reads from memory, memory bounds, and what stops it.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Foundation
import RocksDBStorage
import Testing

@Suite struct RocksDBEngineTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test(arguments: MemoryProfile.allCases, [UInt64(1), 2])
    func conforms(profile: MemoryProfile, seed: UInt64) throws {
        // Each check begins with a store of its own; the one made last is opened again.
        var stores: [TemporaryStore] = []
        let conformance = StoreConformance(
            open: {
                let store = folder.store()
                stores.append(store)
                return try store.open(profile)
            },
            reopen: { engine in
                _ = consume engine
                return try #require(stores.last).open(profile)
            }
        )
        try conformance.check(seed: seed, steps: 120)
    }

    @Test func aColdReadIsNotInMemoryAndAWarmOneIs() throws {
        let store = folder.store()
        let rows = (0..<100).map { (bytes($0), Bytes(repeating: 7, count: 1_000)) }
        try store.use { try $0.commit(.writing(.records, rows)) }
        // They are in a table now; the opening after the next begins with an empty cache.
        try store.use { engine throws in #expect(try engine.count(.records) == 100) }
        let engine = try store.open()
        #expect(throws: EngineError.notInMemory) {
            try engine.get(.records, bytes(5), reach: .memory)
        }
        #expect(try engine.get(.records, bytes(5), reach: .disk)?.count == 1_000)
        #expect(try engine.get(.records, bytes(5), reach: .memory)?.count == 1_000)
        #expect(throws: EngineError.notInMemory) {
            try engine.get(.records, bytes(90), reach: .memory)
        }
    }

    /// Rows that were deleted by range take room in tables until they are merged.
    @Test func theDiskOfDeletedRowsIsGivenBack() throws {
        let engine = try folder.store().open()
        let range = KeyRange(start: [], end: [0xff])
        var dice = SeededGenerator(seed: 1)
        let rows = (0..<800).map { number in
            (bytes(number), (0..<10_000).map { _ in UInt8.random(in: 0...255, using: &dice) })
        }
        try engine.commit(.writing(.log, rows))
        try engine.reclaim(.log, range)
        #expect(try engine.byteCount(of: .log, range) > 7_000_000)
        #expect(try engine.byteCount(of: .records, range) == 0)
        var batch = EngineBatch()
        batch.deletedRanges = [(.log, KeyRange(start: [], end: bytes(700)))]
        try engine.commit(batch)
        try engine.reclaim(.log, range)
        #expect(try engine.byteCount(of: .log, range) < 2_000_000)
        #expect(try engine.count(.log) == 100)
    }

    @Test func aRowJustCommittedIsInMemory() throws {
        let engine = try folder.store().open()
        // The first batch of a store goes to tables.
        try engine.commit(.writing(.meta, [([0], [0])]))
        try engine.commit(.writing(.records, [([1], [2])]))
        #expect(try engine.get(.records, [1], reach: .memory) == [2])
        #expect(try engine.snapshot().get(.records, [1], reach: .memory) == [2])
        #expect(try engine.get(.records, [2], reach: .memory) == nil)
    }

    @Test func aSnapshotKeepsTheStoreOpenAfterItsEngine() throws {
        let store = folder.store()
        var engine: RocksDBEngine? = try store.open()
        try engine?.commit(.writing(.meta, [([1], [1])]))
        let snapshot = engine?.snapshot()
        engine = nil
        #expect(try snapshot?.get(.meta, [1], reach: .disk) == [1])
        #expect(try store.refusal() == .locked(directory: store.path))
    }

    @Test func smallStaysSmall() throws {
        let engine = try folder.store().open(.small)
        let profile = MemoryProfile.small
        var most = engine.memoryUse()
        // Five times the write buffers and twice the cache, spread over two families.
        for round in 0..<60 {
            let value = Bytes(repeating: UInt8(round), count: 10_000)
            let rows = (0..<100).map { (bytes(round * 100 + $0), value) }
            var batch = EngineBatch.writing(.records, rows)
            batch.writes += EngineBatch.writing(.log, rows).writes
            try engine.commit(batch)
            _ = try engine.count(.records)
            let use = engine.memoryUse()
            most.writeBuffers = max(most.writeBuffers, use.writeBuffers)
            most.blockCache = max(most.blockCache, use.blockCache)
            most.tables = max(most.tables, use.tables)
        }
        // One batch may arrive while the full buffer is on its way into a table.
        #expect(most.writeBuffers < 2 * UInt64(profile.writeBufferBytes))
        #expect(most.writeBuffers > UInt64(profile.writeBufferBytes) / 4)
        #expect(most.blockCache <= UInt64(profile.blockCacheBytes) * 11 / 10)
        #expect(most.blockCache > UInt64(profile.blockCacheBytes) / 2)
        #expect(most.tables < 1 << 20)
    }

    @Test func freeBytesAreThoseOfTheDisk() throws {
        #expect(try #require(folder.store().open().freeBytes()) > 0)
    }

    private let rows = (0..<100).map { (bytes($0), Bytes(repeating: 7, count: 100)) }

    /// A store with seven tables in the first level, one of them damaged.
    private func damaged() throws -> TemporaryStore {
        let store = folder.store()
        for _ in 0..<7 { try store.use { try $0.commit(.writing(.records, rows)) } }
        try store.flip(near: Bytes(repeating: 7, count: 100))
        return store
    }

    /// The eighth table lets all be merged.
    @Test func anErrorInTheBackgroundFailsTheNextCommits() throws {
        let store = try damaged()
        try store.use { try $0.commit(.writing(.records, rows)) }
        let engine = try store.open()
        let failure = try #require(throws: EngineError.self) {
            for number in 0..<5_000 { try engine.commit(.writing(.meta, [(bytes(number), [])])) }
        }
        guard case .failed = failure else { throw failure }
    }

    /// Damage that a read has met is not merged, and so stops no commits.
    @Test func damageThatIsKnownFailsReadsOnly() throws {
        let store = try damaged()
        for _ in 0..<2 {
            try store.use { engine throws in
                #expect {
                    try engine.count(.records)
                } throws: { error in
                    if case .corrupt = error as? EngineError { true } else { false }
                }
                try engine.commit(.writing(.records, rows))
            }
        }
    }
}
