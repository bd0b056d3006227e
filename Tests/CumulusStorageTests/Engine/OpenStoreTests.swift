// Opening a store: new, again, of a newer release, damaged.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct OpenStoreTests {
    @Test func aNewStoreKnowsItselfAndItsCluster() throws {
        let engine = MemoryEngine()
        var dice = SeededGenerator(seed: 1)
        let state = try OpenStore.open(engine, using: &dice)
        #expect(state.node.nodeID.count == 16)
        #expect(state.node.clusterID.count == 16)
        #expect(state.node.nodeID != state.node.clusterID)
        let reader = ReadTransaction(engine, reach: .disk)
        let format: NumberRow? = try reader.row(.format)
        #expect(format == NumberRow(number: OpenStore.formatVersion))
        #expect(try reader.scope(.cluster) == 0)
    }

    @Test func openingAgainKeepsTheNodeAndBeginsAnIncarnation() throws {
        let engine = MemoryEngine()
        var dice = SeededGenerator(seed: 1)
        let first = try OpenStore.open(engine, using: &dice)
        let rows = try ReadTransaction(engine, reach: .disk).rows(
            .meta,
            KeyRange(start: [], end: [0xFF])
        )
        let second = try OpenStore.open(engine, using: &dice)
        #expect(second.node == first.node)
        #expect(second.incarnation != first.incarnation)
        let after = try ReadTransaction(engine, reach: .disk).rows(
            .meta,
            KeyRange(start: [], end: [0xFF])
        )
        #expect(after.map(StoredRow.init) == rows.map(StoredRow.init))
    }

    @Test func theClockGoesOnWhereTheLastRunStopped() throws {
        var store = try ScratchStore()
        let stamp = try store.perform([.put(try Commit.Put("n", [:]))]).commit.stamp
        var dice = SeededGenerator(seed: 9)
        let state = try OpenStore.open(store.engine, using: &dice)
        var clock = state.clock
        #expect(clock.tick(now: 0) > stamp.time)
        #expect(state.node.lastIncarnation == stamp.dot.incarnation)
    }

    @Test func damageSaysWhatToDo() {
        let failure = OpenStore.Failure.engine(.corrupt("block checksum mismatch"))
        #expect(failure.message.hasPrefix("the data directory is damaged: block"))
        #expect(failure.message.hasSuffix(EngineError.remedy))
    }

    private static func commit(_ key: RowKey, _ value: Bytes?, to engine: MemoryEngine) {
        var batch = EngineBatch()
        batch.writes = [.init(family: key.family, key: key.bytes, value: value)]
        engine.commit(batch)
    }

    @Test(arguments: [1, 5, 9] as [UInt32]) func anotherFormatIsRefusedAndLeftAsItIs(
        version: UInt32
    ) throws {
        let engine = MemoryEngine()
        var dice = SeededGenerator(seed: 1)
        _ = try OpenStore.open(engine, using: &dice)
        Self.commit(.format, NumberRow(number: version).rowBytes, to: engine)
        let failure = #expect(throws: OpenStore.Failure.self) {
            try OpenStore.open(engine, using: &dice)
        }
        #expect(failure == (version < 6 ? .olderFormat(version) : .newerFormat(version)))
        #expect(failure?.message.contains("storage format \(version)") == true)
        let format: NumberRow? = try ReadTransaction(engine, reach: .disk).row(.format)
        #expect(format == NumberRow(number: version))
    }

    /// Format 6 lacks rows that may be absent; the number changes so that its releases refuse it.
    @Test func theFormatBeforeAssetsIsTakenOver() throws {
        let engine = MemoryEngine()
        var dice = SeededGenerator(seed: 1)
        let state = try OpenStore.open(engine, using: &dice)
        Self.commit(.format, NumberRow(number: 6).rowBytes, to: engine)
        let again = try OpenStore.open(engine, using: &dice)
        #expect(again.node.nodeID == state.node.nodeID)
        let format: NumberRow? = try ReadTransaction(engine, reach: .disk).row(.format)
        #expect(format == NumberRow(number: OpenStore.formatVersion))
    }

    @Test func damagedRowsAreReported() throws {
        for (key, value) in [(RowKey.format, [0x80]), (.node, [1]), (.node, nil)]
            as [(RowKey, Bytes?)]
        {
            let engine = MemoryEngine()
            var dice = SeededGenerator(seed: 1)
            _ = try OpenStore.open(engine, using: &dice)
            Self.commit(key, value, to: engine)
            let failure = #expect(throws: OpenStore.Failure.self) {
                try OpenStore.open(engine, using: &dice)
            }
            #expect(failure?.message.contains("damaged") == true)
        }
    }
}
