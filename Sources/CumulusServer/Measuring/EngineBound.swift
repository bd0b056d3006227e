// `cumulusd bound engine`: the engine alone commits the rows that saves write, in a fresh store.
//
// It is the bound of durable saves: no network, no protocol, no checks. Like the node, it reads the
// old records before it writes the new ones, and commits `--in-flight` saves with one flush.

import ArgumentParser
import CumulusModel
import CumulusStorage
import CumulusSystem
import RocksDBStorage

struct EngineBound: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "engine",
        abstract: "Commit the rows of saves to a fresh store."
    )

    @Option(help: "Directory for the store; must not hold one.") var data: String
    @Option(help: "How long to measure.") var seconds = 10.0
    @Option(help: "Saves per commit.") var inFlight = 64
    @Option(help: "Records that are there before.") var records = 100_000
    @Option(help: "Take no more than so many bytes of a record's fields.") var fieldBytes: Int?
    @Option(help: "Memory: small or standard.") var profile = "standard"

    func run() throws {
        guard let profile = MemoryProfile(rawValue: profile), inFlight > 0, records >= inFlight,
            fieldBytes ?? 1 > 0
        else { throw ValidationError("see --help") }
        let engine = try RocksDBEngine(directory: try DataHome(data).store, profile: profile)
        var saver = EngineSaver(engine: engine, records: records, fieldBytes: fieldBytes)
        for start in stride(from: 0, to: records, by: 200) {
            try saver.save(Array(start..<min(start + 200, records)))
        }
        let figure = try BoundFigure.measure(seconds: seconds) {
            try saver.save(saver.choose(inFlight))
            return inFlight
        }
        try figure.printLine()
    }
}

/// Writes what a node's writer writes, row by row.
private struct EngineSaver {
    private let engine: RocksDBEngine
    /// Bodies to take in turn: equal ones would be easier to store.
    private let bodies: [Bytes]
    /// The last commit of each record: 0 before the first.
    private var seqs: [UInt64]
    private var seq: UInt64 = 0
    private var dice = SeededGenerator(seed: 1)
    private let incarnation = Incarnation(1)
    private let caller = "_0123456789abcdef0123456789abcdef"
    private let zone: ZoneNumber = 1
    private let scope: ScopeNumber = 1

    init(engine: RocksDBEngine, records: Int, fieldBytes: Int?) {
        self.engine = engine
        bodies = (0..<256).map {
            Bytes(BoundRecord.view($0 * 16).fields.prefix(fieldBytes ?? .max))
        }
        seqs = Array(repeating: 0, count: records)
    }

    /// Different records, at random.
    mutating func choose(_ count: Int) -> [Int] {
        var chosen: Set<Int> = []
        while chosen.count < count { chosen.insert(Int.random(in: seqs.indices, using: &dice)) }
        return Array(chosen)
    }

    /// One commit with one flush.
    mutating func save(_ indices: [Int]) throws {
        var batch = EngineBatch()
        let keys = indices.map { RowKey.record(zone, EngineSaver.name($0)) }
        _ = try engine.read(ReadPlan(keys: keys))
        for index in indices { add(index, to: &batch) }
        put(.vector(scope, incarnation), Bytes(repeating: 1, count: 52), in: &batch)
        put(.zoneState(zone), Bytes(repeating: 2, count: 24), in: &batch)
        put(.zoneHead(1, incarnation, "_defaultZone"), Bytes(repeating: 3, count: 4), in: &batch)
        try engine.commit(batch)
    }

    private mutating func add(_ index: Int, to batch: inout EngineBatch) {
        let name = EngineSaver.name(index)
        let key = RowKey.record(zone, name)
        if seqs[index] != 0 {
            put(.change(zone, Dot(incarnation, seqs[index]), name), nil, in: &batch)
        }
        seq += 1
        seqs[index] = seq
        let dot = Dot(incarnation, seq)
        let body = bodies[Int(seq % UInt64(bodies.count))]
        // Stamps, authors and lengths stand around the fields of a record and of a commit.
        put(key, body + Bytes(repeating: 5, count: 200), in: &batch)
        put(.commit(scope, dot), body + Bytes(repeating: 6, count: 200), in: &batch)
        put(.change(zone, dot, name), [], in: &batch)
        let request = RequestID(milliseconds: Int64(seq), using: &dice)
        put(.request(request, scope, caller), Bytes(repeating: 8, count: 150), in: &batch)
    }

    private func put(_ key: RowKey, _ value: Bytes?, in batch: inout EngineBatch) {
        batch.writes.append(EngineBatch.Write(family: key.family, key: key.bytes, value: value))
    }

    private static func name(_ index: Int) -> String {
        let digits = String(index)
        return "record-" + String(repeating: "0", count: max(0, 8 - digits.count)) + digits
    }
}
