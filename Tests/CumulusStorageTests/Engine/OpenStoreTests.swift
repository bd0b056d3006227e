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

    /// The node's row is written with a run's first commit; later times are in the rows of runs.
    @Test func theClockGoesOnWhereTheLastRunStopped() throws {
        var store = try ScratchStore()
        try store.perform([.put(try Commit.Put("n", [:]))])
        let node = try store.reader.get(.node)
        let stamp = try store.perform([.put(try Commit.Put("m", [:]))]).commit.stamp
        #expect(try store.reader.get(.node) == node)
        var dice = SeededGenerator(seed: 9)
        let state = try OpenStore.open(store.engine, using: &dice)
        var clock = state.clock
        #expect(clock.tick(now: 0) > stamp.time)
        #expect(state.node.lastIncarnation == stamp.dot.incarnation)
    }

    @Test func theClockGoesOnBehindTheCommitsOfOthers() throws {
        var other = try ScratchStore(seed: 2)
        other.now += 86_400_000
        let theirs = try other.perform([.put(try Commit.Put("n", [:]))]).commit
        var store = try ScratchStore()
        try store.perform([.put(try Commit.Put("m", [:]))])
        let (node, scope) = (try store.reader.get(.node), store.scope)
        try store.write { (transaction: inout WriteTransaction) throws(EngineError) in
            _ = try transaction.apply(theirs, bytes: theirs.encoded(), in: scope)
        }
        #expect(try store.reader.get(.node) == node)
        var dice = SeededGenerator(seed: 9)
        var clock = try OpenStore.open(store.engine, using: &dice).clock
        #expect(clock.tick(now: 0) > theirs.stamp.time)
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

    @Test(arguments: [1, 5, OpenStore.formatVersion + 1]) func anotherFormatIsRefusedAndLeftAsItIs(
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

    /// Before format 9 nobody counted the bytes of assets.
    @Test func assetsAreCountedWhereTheyWereNot() throws {
        var store = try ScratchStore()
        let asset = FieldValue.asset(Asset(digest: Bytes(repeating: 1, count: 32), size: 1_000))
        for name in ["a", "b", "c"] {
            let fields: [String: FieldValue] = name == "c" ? ["n": 1] : ["n": 1, "file": asset]
            try store.perform([.put(try Commit.Put(name, fields.mapValues { .some($0) }))])
        }
        let zone = try #require(try store.zoneNumber())
        let right: ZoneState? = try store.reader.row(.zoneState(zone))
        #expect(right?.assetBytes == 2_000)
        var old = try #require(right)
        old.assetBytes = 0
        Self.commit(.zoneState(zone), old.rowBytes, to: store.engine)
        Self.commit(.format, NumberRow(number: 8).rowBytes, to: store.engine)
        var dice = SeededGenerator(seed: 2)
        _ = try OpenStore.open(store.engine, using: &dice)
        #expect(try store.reader.row(.zoneState(zone)) == right)
        // In a store of this format nothing is read for it.
        Self.commit(.zoneState(zone), old.rowBytes, to: store.engine)
        _ = try OpenStore.open(store.engine, using: &dice)
        #expect(try store.reader.row(.zoneState(zone)) == old)
    }

    // MARK: Format 11

    /// A store of three commits, each with a row for its position in the local order.
    ///
    /// Breaks have positions too, so the last one is 200.
    private static func storeOfFormat11() throws -> ScratchStore {
        var store = try ScratchStore()
        for name in ["a", "b", "c"] { try store.perform([.put(try Commit.Put(name, [:]))]) }
        let scope = store.scope
        let runs = try store.reader.runs(of: scope)
        let run = try #require(runs.vector.dots.first).incarnation
        for (position, seq) in [(UInt8(1), UInt64(1)), (5, 2), (200, 3)] {
            let number = [97, UInt8(scope >> 8), UInt8(scope & 0xFF)]
            let bytes = number + Bytes(repeating: 0, count: 7) + [position]
            var value = CanonicalWriter()
            value.dot(Dot(run, seq))
            value.varint(1)
            commit(RowKey(.commit, bytes: bytes), value.bytes, to: store.engine)
        }
        let end = try #require(runs[run])
        commit(.vector(scope, run), end.rowBytes, to: store.engine)
        commit(.format, NumberRow(number: 11).rowBytes, to: store.engine)
        #expect(try store.reader.progress(of: scope).position == 0)
        return store
    }

    private static func expectTakenOver(_ reader: ReadTransaction, _ scope: ScopeNumber) throws {
        #expect(try reader.progress(of: scope).position == 200)
        #expect(try reader.rows(.log, KeyRange(prefix: [97])).isEmpty)
        let format: NumberRow? = try reader.row(.format)
        #expect(format == NumberRow(number: OpenStore.formatVersion))
    }

    @Test func positionsGoOnWhereRowsOfTheLocalOrderEnded() throws {
        var store = try Self.storeOfFormat11()
        let scope = store.scope
        let runs = try store.reader.runs(of: scope)
        for _ in 0..<2 {
            var dice = SeededGenerator(seed: 2)
            store.adopt(try OpenStore.open(store.engine, using: &dice))
            try Self.expectTakenOver(store.reader, scope)
            #expect(try store.reader.runs(of: scope).rows == runs.rows)
        }
        try store.perform([.put(try Commit.Put("d", [:]))])
        #expect(try store.reader.progress(of: scope).position == 201)
        #expect(try DerivedRows.differences(in: store.engine) == [])
        #expect(try LogReplay.differences(in: store.engine) == [])
    }

    /// A start may end before or after any call of the store; the next one takes over what is left.
    @Test(arguments: CountingEngine.Moment.allCases)
    func aStartThatEndsInBetweenIsRepeated(moment: CountingEngine.Moment) throws {
        let store = try Self.storeOfFormat11()
        var call = 1
        while true {
            let rows = MemoryEngine(reopening: store.engine)
            let engine = CountingEngine(rows)
            engine.end(at: call, moment)
            var dice = SeededGenerator(seed: 2)
            _ = try? OpenStore.open(engine, using: &dice)
            guard engine.hasEnded else { break }
            let left = MemoryEngine(reopening: rows)
            _ = try OpenStore.open(left, using: &dice)
            try Self.expectTakenOver(ReadTransaction(left, reach: .disk), store.scope)
            call += 1
        }
        #expect(call > 1, "there was nothing to interrupt")
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
