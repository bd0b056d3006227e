// Many writers at once, and what each of them was told: what was acknowledged, what is under way.
//
// They go on across restarts of the node: the client repeats what was lost, under the same request
// id. Used by the tests that kill nodes.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Synchronization
import Testing

/// What the writers know.
struct Ledger {
    /// Names of the records that a save, or a batch of three, is about.
    typealias Change = [String]

    var acknowledged: Set<Change> = []
    var inFlight: Set<Change> = []
    /// Refused or lost for good, with the reason.
    var failed: [Change: String] = [:]
    /// Acknowledged increments, by record.
    var sums: [String: Int64] = [:]
    /// Increments whose outcome stayed unknown.
    var lostIncrements = 0
}

final class Writers: Sendable {
    static let zone = RecordZone.ID(zoneName: "Batches")
    static let counters = (0..<4).map { "counter\($0)" }

    private let database: Database
    /// Number of the first one: names of several sets of writers differ.
    private let first: Int
    private let ledger = Mutex(Ledger())
    private let isOver = Atomic<Bool>(false)

    init(_ database: Database, first: Int = 0) {
        self.database = database
        self.first = first
    }

    var state: Ledger { ledger.withLock { $0 } }

    /// Makes what the writers expect to find.
    func prepare() async throws {
        _ = try await database.save(RecordZone(zoneID: Writers.zone))
        for name in Writers.counters {
            var counter = Record(recordType: "Counter", recordID: Record.ID(recordName: name))
            counter["count"] = 0
            try await database.save(counter)
        }
    }

    /// Whether that is here, which another one prepared.
    var isPrepared: Bool {
        get async throws {
            let last = Record.ID(recordName: Writers.counters[Writers.counters.count - 1])
            return (try? await database.record(for: last)) != nil
        }
    }

    /// No further changes; those under way are finished.
    func finish() {
        isOver.store(true, ordering: .relaxed)
    }

    /// Writes with so many tasks until `finish`.
    func run(count: Int, seed: UInt64) async {
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<count {
                group.addTask { await self.write(self.first + writer, seed: seed) }
            }
        }
    }

    private func write(_ writer: Int, seed: UInt64) async {
        var dice = SeededGenerator(seed: seed &* 1_000_003 &+ UInt64(writer))
        var number = 0
        while !isOver.load(ordering: .relaxed) {
            number += 1
            let name = "w\(writer)-\(number)"
            switch Int.random(in: 0..<4, using: &dice) {
            case 0: await increment(Writers.counters[Int.random(in: 0..<4, using: &dice)])
            case 1: await change((0..<3).map { "\(name)-\($0)" }, in: Writers.zone)
            default: await change([name], in: .default)
            }
        }
    }

    private func change(_ names: Ledger.Change, in zone: RecordZone.ID) async {
        ledger.withLock { _ = $0.inFlight.insert(names) }
        let records = names.map { name in
            var record = Record(
                recordType: "Note",
                recordID: Record.ID(recordName: name, zoneID: zone)
            )
            record["text"] = .string(name)
            return record
        }
        var failure: String?
        do {
            let results = try await database.modifyRecords(saving: records, deleting: [])
            for result in results.saveResults.values { _ = try result.get() }
        } catch {
            failure = "\(error)"
        }
        ledger.withLock { ledger in
            ledger.inFlight.remove(names)
            if let failure {
                ledger.failed[names] = failure
            } else {
                ledger.acknowledged.insert(names)
            }
        }
    }

    private func increment(_ name: String) async {
        var record = Record(recordType: "Counter", recordID: Record.ID(recordName: name))
        record.increment("count")
        do {
            let results = try await database.modifyRecords(
                saving: [record],
                deleting: [],
                savePolicy: .changedKeys
            )
            for result in results.saveResults.values { _ = try result.get() }
            ledger.withLock { $0.sums[name, default: 0] += 1 }
        } catch {
            ledger.withLock { $0.lostIncrements += 1 }
        }
    }
}
