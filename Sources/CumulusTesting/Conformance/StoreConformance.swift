// The promises of a storage engine, checked with seeded random work against a plain model.
//
// The tests of each engine make one of these and run its checks; a check throws at the first
// difference and says what it was, so that the seed and the step are all one needs to see it again.
//
// Folder: what each implementation of a storage seam has to do. Read `StoreConformance`, then
// `PackConformance`.

import CumulusModel
package import CumulusStorage

package struct StoreConformance {
    /// A difference between an engine and what the seam promises.
    package struct Violation: Error, CustomStringConvertible {
        package let description: String
    }

    /// Makes an engine without rows.
    private let open: () throws -> any StorageEngine
    /// Ends an engine, which nobody else holds any more, and starts it again over what it
    /// committed.
    private let reopen: (consuming any StorageEngine) throws -> any StorageEngine

    package init(
        open: @escaping () throws -> any StorageEngine,
        reopen: @escaping (consuming any StorageEngine) throws -> any StorageEngine
    ) {
        self.open = open
        self.reopen = reopen
    }

    /// All checks, in order of size.
    package func check(seed: UInt64, steps: Int) throws {
        try checkEmptyValuesAndOrder()
        try checkRangesAndWritesOfOneBatch()
        try checkEarlyEnd()
        try checkFamiliesAreApart()
        try checkPlans()
        try checkRandomWork(seed: seed, steps: steps)
    }

    private func checkEmptyValuesAndOrder() throws {
        let engine = try open()
        let keys: [Bytes] = [
            [0], [0, 0], [0, 0xff], [1], [0x7f], [0x80], [0xff], [0xff, 0], [0xff, 0xff],
        ]
        try engine.commit(.writing(.meta, keys.reversed().map { ($0, []) }))
        let rows = keys.map { Row(key: $0, value: []) }
        try expect(engine, .meta, .from([], to: [0xff, 0xff, 0xff]), rows, "all keys")
        try expect(engine, .meta, .from([0, 0], to: [0xff]), Array(rows[1..<6]), "bounds")
        try expect(engine, .meta, .from([1], to: [1]), [], "an empty range")
        try expect(engine, .meta, .from([2], to: [1]), [], "a range that ends before it starts")
        try expect(try engine.get(.meta, [0, 0], reach: .disk), [], "an empty value")
        try expect(try engine.get(.meta, [0, 1], reach: .disk), nil, "no value")
    }

    private func checkRangesAndWritesOfOneBatch() throws {
        let engine = try open()
        try engine.commit(.writing(.log, [([1], [1]), ([2], [2]), ([3], [3])]))
        var batch = EngineBatch.writing(.log, [([2], [20])])
        batch.deletedRanges = [(.log, .from([1], to: [3])), (.log, .from([9], to: [8]))]
        batch.writes.append(.init(family: .log, key: [3], value: nil))
        batch.writes.append(.init(family: .log, key: [4], value: nil))
        try engine.commit(batch)
        let left = [Row(key: [2], value: [20])]
        try expect(engine, .log, .from([], to: [0xff]), left, "range deletes come before writes")
        try engine.commit(EngineBatch())
        try expect(engine, .log, .from([], to: [0xff]), left, "an empty batch changes nothing")
    }

    private func checkEarlyEnd() throws {
        let engine = try open()
        try engine.commit(.writing(.index, (0..<9).map { ([$0], [$0]) }))
        for backwards in [false, true] {
            var seen: [UInt8] = []
            let range = KeyRange.from([2], to: [7])
            try engine.scan(.index, range, backwards: backwards) { key, _ in
                seen += key
                return seen.count < 3
            }
            try expect(seen, backwards ? [6, 5, 4] : [2, 3, 4], "a scan that is told to stop")
        }
    }

    private func checkFamiliesAreApart() throws {
        let engine = try open()
        for family in Family.allCases {
            try engine.commit(.writing(family, [([7], [family.rawValue])]))
        }
        var batch = EngineBatch()
        batch.deletedRanges = [(.records, .from([], to: [0xff]))]
        try engine.commit(batch)
        for family in Family.allCases {
            let value = try engine.get(family, [7], reach: .disk)
            try expect(value, family == .records ? nil : [family.rawValue], "families are apart")
        }
    }

    /// Plans with nothing in them, with more keys than are read at a time, and with little room.
    private func checkPlans() throws {
        let engine = try open()
        let rows = (0..<200).map { (key: UInt8) in ([key], Bytes(repeating: key, count: 9)) }
        try engine.commit(.writing(.records, rows))
        let nothing = try engine.read(ReadPlan())
        try expect(nothing.values, [], "a plan without keys")
        try expect(nothing.ranges.count, 0, "a plan without ranges")
        let keys = (0..<250).reversed().map { RowKey(.records, [$0]) }
        let wanted = (0..<250).reversed().map { (key: UInt8) -> ReadRows.Value in
            key < 200 ? .found(Bytes(repeating: key, count: 9)) : .missing
        }
        try expect(try engine.read(ReadPlan(keys: keys)).values, wanted, "all keys")
        let little = try engine.read(ReadPlan(keys: keys, byteLimit: 90)).values
        for (value, wanted) in zip(little, wanted) where value != .unread {
            try expect(value, wanted, "a plan with little room")
        }
        let found = little.filter { if case .found = $0 { true } else { false } }.count
        // A reader may read a stretch of rows before it counts their bytes.
        try expect(10...10 + 64 ~= found, true, "\(found) rows of a plan with room for 10")
        let none = try engine.read(ReadPlan(keys: keys, byteLimit: 0)).values
        try expect(none.allSatisfy { $0 == .unread }, true, "a plan without room")
    }

    /// Writes batches of all shapes.
    ///
    /// After each batch, reads of the engine, of snapshots taken before, and of the engine started
    /// again must equal the model's.
    private func checkRandomWork(seed: UInt64, steps: Int) throws {
        var dice = SeededGenerator(seed: seed)
        var engine = try open()
        var model = Model()
        var snapshots: [(reader: any EngineReader, model: Model)] = []
        for step in 0..<steps {
            let batch = dice.batch()
            try engine.commit(batch)
            model.apply(batch)
            try compare(engine, model, &dice, "seed \(seed), step \(step)")
            if let old = snapshots.randomElement(using: &dice) {
                try compare(old.reader, old.model, &dice, "seed \(seed), step \(step), snapshot")
            }
            switch Int.random(in: 0..<40, using: &dice) {
            case 0..<4: snapshots.append((try engine.snapshot(), model))
            case 4..<7 where !snapshots.isEmpty: snapshots.removeFirst()
            case 39:
                snapshots = []
                engine = try reopen(consume engine)
                try compare(engine, model, &dice, "seed \(seed), step \(step), reopened")
            default: break
            }
        }
    }

    /// A few point reads and scans with bounds of all kinds, both ways.
    private func compare(
        _ reader: any EngineReader,
        _ model: Model,
        _ dice: inout SeededGenerator,
        _ place: String
    ) throws {
        for _ in 0..<4 {
            let family = dice.family()
            let key = dice.key()
            let value = try reader.get(family, key, reach: .disk)
            try expect(value, model.get(family, key), "\(place): \(family) \(key.hex)")
        }
        let family = dice.family()
        let range = KeyRange.from(dice.key(), to: dice.key())
        try expect(reader, family, range, model.rows(family, range), "\(place): \(family)")
        let all = KeyRange.from([], to: [0xff, 0xff, 0xff, 0xff, 0xff])
        try expect(reader, family, all, model.rows(family, all), "\(place): \(family)")
        try comparePlan(reader, model, &dice, place)
    }

    /// A plan with keys of all families, some of them twice, and with ranges.
    private func comparePlan(
        _ reader: any EngineReader,
        _ model: Model,
        _ dice: inout SeededGenerator,
        _ place: String
    ) throws {
        var keys = (0..<Int.random(in: 0...70, using: &dice)).map { _ in
            RowKey(dice.family(), dice.key())
        }
        keys += keys.prefix(3)
        let family = dice.family()
        let range = KeyRange.from(dice.key(), to: dice.key())
        let limit = Int.random(in: 0...5, using: &dice)
        let ranges = [false, true].map {
            RowRange(family, range, backwards: $0, limit: limit)
        }
        let rows = try reader.read(ReadPlan(keys: keys, ranges: ranges))
        let wanted = keys.map { key in
            model.get(key.family, key.bytes).map { ReadRows.Value.found($0) } ?? .missing
        }
        try expect(rows.values, wanted, "\(place): \(keys.map(\.bytes.hex))")
        let all = model.rows(family, range)
        try expect(
            rows.ranges.map { $0.map(Row.init) },
            [Array(all.prefix(limit)), Array(all.reversed().prefix(limit))],
            "\(place): \(family), \(limit) rows of \(range)"
        )
    }

    /// A scan in either direction finds exactly `rows`.
    private func expect(
        _ reader: any EngineReader,
        _ family: Family,
        _ range: KeyRange,
        _ rows: [Row],
        _ what: String
    ) throws {
        for backwards in [false, true] {
            var found: [Row] = []
            try reader.scan(family, range, backwards: backwards) { key, value in
                found.append(Row(key: key, value: value))
                return true
            }
            let way = backwards ? "backwards" : "forwards"
            try expect(
                found,
                backwards ? rows.reversed() : rows,
                "\(what), \(range.start.hex)..<\(range.end.hex) \(way)"
            )
        }
    }

    private func expect<Value: Equatable>(_ found: Value, _ wanted: Value, _ what: String) throws {
        guard found != wanted else { return }
        throw Violation(description: "\(what): found \(found), expected \(wanted)")
    }
}

private struct Row: Equatable, CustomStringConvertible {
    var key: Bytes
    var value: Bytes
    var description: String { "\(key.hex)=\(value.hex)" }
}

/// The rows of each family as a sorted array, with nothing clever about it.
private struct Model {
    private var families: [Family: [Row]] = [:]

    func get(_ family: Family, _ key: Bytes) -> Bytes? {
        families[family, default: []].first { $0.key == key }?.value
    }

    func rows(_ family: Family, _ range: KeyRange) -> [Row] {
        families[family, default: []].filter { range.contains($0.key) }
    }

    mutating func apply(_ batch: EngineBatch) {
        for (family, range) in batch.deletedRanges {
            families[family]?.removeAll { range.contains($0.key) }
        }
        for write in batch.writes {
            families[write.family, default: []].removeAll { $0.key == write.key }
            guard let value = write.value else { continue }
            families[write.family, default: []].append(Row(key: write.key, value: value))
        }
        for family in families.keys {
            families[family]?.sort { $0.key.lexicographicallyPrecedes($1.key) }
        }
    }
}

extension EngineBatch {
    fileprivate static func writing(_ family: Family, _ rows: [(Bytes, Bytes)]) -> EngineBatch {
        var batch = EngineBatch()
        batch.writes = rows.map { Write(family: family, key: $0.0, value: $0.1) }
        return batch
    }
}

extension RowKey {
    /// Any bytes as a key of a family.
    fileprivate init(_ family: Family, _ bytes: Bytes) {
        let subspaces = [Family.meta: Subspace.scope, .records: .record, .index: .change]
        self.init(subspaces[family] ?? .commit, bytes: bytes)
    }
}

extension KeyRange {
    fileprivate static func from(_ start: Bytes, to end: Bytes) -> KeyRange {
        KeyRange(start: start, end: end)
    }
}

/// Random work.
extension SeededGenerator {
    fileprivate mutating func family() -> Family {
        Family(rawValue: UInt8.random(in: 0..<4, using: &self)) ?? .meta
    }

    /// Few bytes at few places: keys repeat, are prefixes of others, and hold the lowest and the
    /// highest byte.
    fileprivate mutating func key() -> Bytes {
        let alphabet: Bytes = [0, 1, 0x61, 0xfe, 0xff]
        return (0..<Int.random(in: 1...4, using: &self)).map { _ in
            alphabet[Int.random(in: 0..<alphabet.count, using: &self)]
        }
    }

    fileprivate mutating func batch() -> EngineBatch {
        var batch = EngineBatch()
        if Int.random(in: 0..<6, using: &self) == 0 {
            batch.deletedRanges.append((family(), .from(key(), to: key())))
        }
        var rows: [Family: Set<Bytes>] = [:]
        for _ in 0..<Int.random(in: 0..<9, using: &self) {
            let (family, key) = (family(), key())
            guard rows[family, default: []].insert(key).inserted else { continue }
            batch.writes.append(.init(family: family, key: key, value: value()))
        }
        return batch
    }

    private mutating func value() -> Bytes? {
        switch Int.random(in: 0..<8, using: &self) {
        case 0..<2: nil
        case 2: []
        default: Bytes(repeating: UInt8.random(in: 0...255, using: &self), count: Int(next() % 40))
        }
    }
}
