// The engine of tests and the simulator: the seam's promises, and its tree.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct MemoryEngineTests {
    @Test(arguments: UInt64(1)...8)
    func conforms(seed: UInt64) throws {
        let conformance = StoreConformance(
            open: { MemoryEngine() },
            reopen: { MemoryEngine(reopening: try #require($0 as? MemoryEngine)) }
        )
        try conformance.check(seed: seed, steps: 300)
    }

    @Test func reopeningSeesNothingThatIsCommittedToTheOldEngineLater() {
        let old = MemoryEngine()
        old.commit(Self.batch(writing: [1]))
        let new = MemoryEngine(reopening: old)
        old.commit(Self.batch(writing: [2]))
        new.commit(Self.batch(writing: [3]))
        #expect(new.get(.meta, [1], reach: .memory) == [])
        #expect(new.get(.meta, [2], reach: .memory) == nil)
        #expect(old.get(.meta, [3], reach: .memory) == nil)
    }

    /// An engine on a disk can't promise that it reads nothing, so an event loop scans nothing.
    @Test func scansAreNotForEventLoops() throws {
        let engine = MemoryEngine()
        engine.commit(Self.batch(writing: [1]))
        let reader = ReadTransaction(engine, reach: .memory)
        let whole = KeyRange(start: [], end: [0xff])
        #expect(try reader.get(RowKey(.format, bytes: [1])) != nil)
        #expect(throws: EngineError.notInMemory) { try reader.rows(.meta, whole, limit: 1) }
        #expect(throws: EngineError.notInMemory) {
            try reader.lendRows(.meta, whole) { _, _ in true }
        }
    }

    private static func batch(writing key: Bytes) -> EngineBatch {
        var batch = EngineBatch()
        batch.writes = [.init(family: .meta, key: key, value: [])]
        return batch
    }

    /// A tree that leaned to one side would take seconds here, and its recursion would leave the
    /// stack.
    @Test func ascendingKeysStayCheap() throws {
        let engine = MemoryEngine()
        for number in UInt32(0)..<20_000 {
            engine.commit(Self.batch(writing: withUnsafeBytes(of: number.bigEndian) { Bytes($0) }))
        }
        var batch = EngineBatch()
        batch.deletedRanges = [(.meta, KeyRange(start: [0, 0, 0, 5], end: [0, 0, 0x4e, 0x1f]))]
        engine.commit(batch)
        var left: [Bytes] = []
        let whole = KeyRange(start: [], end: [1])
        try engine.scan(.meta, whole, backwards: false) { key, _ in
            left.append(key)
            return true
        }
        #expect(left.map { $0[3] } == [0, 1, 2, 3, 4, 0x1f])
    }
}
