// `cumulusd bound query`: the engine alone reads as many index rows and records as the first page
// of a query needs, in a store of its own.
//
// The bound of queries: no network, no protocol, no plan, and nothing is looked into. Prints a line
// per case: the median of how long it took.

import ArgumentParser
import CumulusModel
import CumulusStorage
import CumulusSystem
import RocksDBStorage

struct QueryBound: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query",
        abstract: "Read index rows and records from a store of its own."
    )

    @Option(help: "Directory for the store; must not hold one.") var data: String
    @Option(help: "How long to measure each case.") var seconds = 1.0
    @Option(help: "Records that are there.") var records = 100_000
    @Option(help: "Memory: small or standard.") var profile = "standard"
    @Flag(help: "Read the records one by one.") var alone = false
    @Argument(help: "Cases: ranges,rows,records") var cases: [String]

    func run() throws {
        guard let profile = MemoryProfile(rawValue: profile), records > 0 else {
            throw ValidationError("see --help")
        }
        let cases = try cases.map { text in
            let numbers = text.split(separator: ",").compactMap { Int($0) }
            guard numbers.count == 3, numbers.allSatisfy({ $0 > 0 }) else {
                throw ValidationError("see --help")
            }
            return (ranges: numbers[0], rows: numbers[1], records: numbers[2])
        }
        let engine = try RocksDBEngine(directory: try DataHome(data).store, profile: profile)
        var reader = IndexReader(engine: engine, count: records, alone: alone)
        try reader.fill()
        for one in cases {
            var microseconds: [Double] = []
            _ = try BoundFigure.measure(seconds: seconds) {
                let start = DispatchTime.now().uptimeNanoseconds
                try reader.read(ranges: one.ranges, rows: one.rows, records: one.records)
                let end = DispatchTime.now().uptimeNanoseconds
                microseconds.append(Double(end - start) / 1e3)
                return 1
            }
            print(microseconds.sorted()[microseconds.count / 2])
        }
    }
}

/// Reads what a query would, at random places.
private struct IndexReader {
    let engine: RocksDBEngine
    let count: Int
    let alone: Bool
    private var dice = SeededGenerator(seed: 1)
    private let zone: ZoneNumber = 1
    private let index: IndexNumber = 1

    init(engine: RocksDBEngine, count: Int, alone: Bool) {
        self.engine = engine
        self.count = count
        self.alone = alone
    }

    /// Records of 600 bytes under rising names, and an index whose values lead to any of them.
    func fill() throws {
        let body = BoundRecord.view(0).fields.prefix(600)
        var dice = dice
        for start in stride(from: 0, to: count, by: 2_000) {
            var batch = EngineBatch()
            for number in start..<min(start + 2_000, count) {
                let key = RowKey.record(zone, name(number))
                batch.writes.append(.init(family: key.family, key: key.bytes, value: Bytes(body)))
                let row = row(number, name(Int.random(in: 0..<count, using: &dice)))
                batch.writes.append(.init(family: row.family, key: row.bytes, value: []))
            }
            try engine.commit(batch)
        }
    }

    private func name(_ number: Int) -> String {
        let digits = String(number)
        return "item-" + String(repeating: "0", count: max(0, 8 - digits.count)) + digits
    }

    private func row(_ value: Int, _ name: String) -> RowKey {
        RowKey(.indexRow) {
            $0.add(zone)
            $0.add(index)
            $0.add(UInt8(1))
            $0.add(signed: Int64(value))
            $0.add(name)
        }
    }

    mutating func read(ranges: Int, rows: Int, records: Int) throws {
        var names: [String] = []
        let snapshot = engine.snapshot()
        let end = KeyRange.indexRows(of: zone, index).end
        for _ in 0..<ranges {
            let most = max(1, rows / ranges)
            var keys: [Bytes] = []
            let start = row(Int.random(in: 0..<max(1, count - most), using: &dice), "").bytes
            let range = KeyRange(start: Bytes(start.dropLast(2)), end: end)
            try snapshot.scan(.index, range, backwards: false) { key, _ in
                keys.append(key)
                return keys.count < most
            }
            for key in keys where names.count < records {
                var parts = KeyReader(Bytes(key))
                _ = try parts.bytes(17)
                names.append(try parts.text())
            }
        }
        let keys = names.map { RowKey.record(zone, $0) }
        if alone {
            for key in keys { _ = try snapshot.get(key.family, key.bytes, reach: .disk) }
        } else {
            _ = try snapshot.read(ReadPlan(keys: keys))
        }
    }
}
