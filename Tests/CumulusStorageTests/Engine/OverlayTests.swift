// The overlay and the write transaction over it: random work, save points and scans against a plain
// model.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct OverlayTests {
    /// Rows of one family as a dictionary: what overlay and engine together must show.
    private typealias Model = [Bytes: Bytes]

    private static func key(using dice: inout SeededGenerator) -> Bytes {
        let length = Int.random(in: 1...2, using: &dice)
        return (0..<length).map { _ in .random(in: 0...9, using: &dice) }
    }

    private static func rows(_ model: Model, in range: KeyRange, backwards: Bool) -> [StoredRow] {
        let rows = model.filter { range.contains($0.key) }.map { StoredRow(($0.key, $0.value)) }
            .sorted { precedes($0.key, $1.key) }
        return backwards ? rows.reversed() : rows
    }

    /// A key of the index family with any bytes, every other one of an index: what a transaction
    /// takes is a `RowKey`.
    private static func rowKey(_ bytes: Bytes) -> RowKey {
        RowKey((bytes.last ?? 0) % 2 == 0 ? .change : .indexRow) { $0.add(fixed: bytes) }
    }

    private static let whole = KeyRange(
        start: KeyRange.all(.change).start,
        end: KeyRange.all(.indexRow).end
    )

    @Test(arguments: UInt64(1)...12)
    func aTransactionShowsItsWritesOverTheStore(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        var store = try ScratchStore(seed: seed)
        var model = try Self.fill(&store, using: &dice)
        var transaction = WriteTransaction(engine: store.engine, state: store.state)
        try Self.work(250, in: &transaction, &model, using: &dice)
        store.engine.commit(transaction.finish().rows.batch())
        #expect(try Self.left(in: store) == Self.rows(model, in: Self.whole, backwards: false))
    }

    /// The batch before reaches the engine at any moment: it makes no difference to what is read.
    @Test(arguments: UInt64(1)...12)
    func aTransactionShowsTheBatchThatIsOnItsWay(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        var store = try ScratchStore(seed: seed)
        var model = try Self.fill(&store, using: &dice)
        var transaction = WriteTransaction(engine: store.engine, state: store.state)
        try Self.work(80, in: &transaction, &model, using: &dice)
        for _ in 0..<4 {
            let (earlier, state) = transaction.finish()
            transaction = WriteTransaction(engine: store.engine, state: state, over: earlier)
            try Self.work(.random(in: 0...60, using: &dice), in: &transaction, &model, using: &dice)
            store.engine.commit(earlier.batch())
            try Self.work(.random(in: 0...60, using: &dice), in: &transaction, &model, using: &dice)
        }
        store.engine.commit(transaction.finish().rows.batch())
        #expect(try Self.left(in: store) == Self.rows(model, in: Self.whole, backwards: false))
    }

    /// Rows that are in the engine.
    private static func fill(
        _ store: inout ScratchStore,
        using dice: inout SeededGenerator
    ) throws -> Model {
        let keys = (0..<60).map { _ in rowKey(key(using: &dice)) }
        try store.write { (transaction: inout WriteTransaction) throws(EngineError) in
            for key in keys { transaction.put(key, [0xFF]) }
        }
        return Model(keys.map { ($0.bytes, [0xFF]) }) { first, _ in first }
    }

    private static func left(in store: ScratchStore) throws -> [StoredRow] {
        try store.reader.rows(.index, whole).map(StoredRow.init)
    }

    /// Random work, which reads as the model does after each step.
    private static func work(
        _ steps: Int,
        in transaction: inout WriteTransaction,
        _ model: inout Model,
        using dice: inout SeededGenerator
    ) throws {
        var points: [(WriteTransaction.SavePoint, Model, Int)] = []
        for step in 0..<steps {
            switch Int.random(in: 0..<13, using: &dice) {
            case 12:
                let keys = (0..<20).map { _ in rowKey(Self.key(using: &dice)) }
                try transaction.readAhead(keys + keys.prefix(2))
            case 0..<4:
                let key = rowKey(key(using: &dice))
                transaction.put(key, [UInt8(step % 200)])
                model[key.bytes] = [UInt8(step % 200)]
            case 4, 5:
                let key = rowKey(key(using: &dice))
                transaction.put(key, nil)
                model[key.bytes] = nil
            case 6:
                let range = scanRange(using: &dice)
                transaction.deleteRange(.index, range)
                model = model.filter { !range.contains($0.key) }
            case 7:
                points.append((transaction.savePoint, model, transaction.byteCount))
            case 8:
                guard let (point, earlier, byteCount) = points.popLast() else { continue }
                transaction.rollBack(to: point)
                model = earlier
                #expect(transaction.byteCount == byteCount)
            default:
                try compareScan(transaction, model, using: &dice)
            }
            let key = rowKey(key(using: &dice))
            #expect(try transaction.get(key) == model[key.bytes])
        }
        try compareScan(transaction, model, using: &dice)
    }

    private static func scanRange(using dice: inout SeededGenerator) -> KeyRange {
        KeyRange(
            start: rowKey(key(using: &dice)).bytes,
            end: rowKey(key(using: &dice)).bytes
        )
    }

    private static func compareScan(
        _ transaction: borrowing WriteTransaction,
        _ model: Model,
        using dice: inout SeededGenerator
    ) throws {
        let range = Bool.random(using: &dice) ? whole : scanRange(using: &dice)
        for backwards in [false, true] {
            let expected = rows(model, in: range, backwards: backwards)
            let limit = Int.random(in: 1...12, using: &dice)
            for limit in [limit, .max] {
                let found = try transaction.rows(.index, range, backwards: backwards, limit: limit)
                #expect(found.map(StoredRow.init) == Array(expected.prefix(limit)))
            }
        }
    }

    /// They are cached for later batches as if each had been read alone.
    @Test func smallRowsThatAreReadAheadAreCachedAndDropped() throws {
        let store = try ScratchStore()
        let keys = [RowKey.format, .node, .restored, .zone(7, "z")]
        var transaction = WriteTransaction(engine: store.engine, state: store.state)
        try transaction.readAhead(keys + keys)
        for key in keys { #expect(try transaction.get(key) == store.reader.get(key)) }
        transaction.put(keys[3], [1])
        try transaction.readAhead(keys)
        #expect(try transaction.get(keys[3]) == [1])
        let (rows, state) = transaction.finish()
        store.engine.commit(rows.batch())
        var next = WriteTransaction(engine: store.engine, state: state)
        try next.readAhead(keys)
        for key in keys { #expect(try next.get(key) == store.reader.get(key)) }
        #expect(try next.get(keys[3]) == [1])
    }

    @Test func theOverlayAloneKnowsWhatItDoesNotKnow() {
        var overlay = Overlay()
        #expect(overlay.isEmpty)
        overlay.put(.meta, [1], [7])
        overlay.put(.meta, [2], nil)
        overlay.deleteRange(.meta, KeyRange(start: [5], end: [8]))
        overlay.put(.meta, [6], [])
        func describe(_ key: Bytes) -> String {
            switch overlay.get(.meta, key) {
            case .value(let value): "value \(value)"
            case .deleted: "deleted"
            case .unknown: "unknown"
            }
        }
        #expect(
            [[1], [2], [3], [5], [6], [8]].map(describe) == [
                "value [7]", "deleted", "unknown", "deleted", "value []", "unknown",
            ]
        )
        let batch = overlay.batch()
        #expect(batch.deletedRanges.count == 1)
        #expect(batch.writes.map(\.key) == [[1], [2], [6]])
        #expect(batch.writes.map(\.value) == [[7], nil, []])
    }

    @Test func rollingEverythingBackLeavesNothing() {
        var overlay = Overlay()
        let start = overlay.savePoint
        overlay.put(.log, [1], [1])
        overlay.deleteRange(.log, KeyRange(start: [0], end: [9]))
        overlay.put(.log, [1], [2])
        overlay.rollBack(to: start)
        #expect(overlay.isEmpty)
        #expect(overlay.byteCount == 0)
        #expect(overlay.batch().isEmpty)
    }
}
