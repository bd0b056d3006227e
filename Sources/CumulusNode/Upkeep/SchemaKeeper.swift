// Follows the schema in the background: builds indexes that were added after their records, and
// deletes the rows of dropped indexes and the records of dropped types.
//
// Run beside the listener until it is cancelled. It looks for records on a reader thread and gives
// the writer small jobs one after the other, so that callers hardly notice: the number of a job's
// records is bounded, and so are their bytes. How far each index is stands in its row, and the next
// start goes on from there. Records of dropped types are looked for once after each drop and each
// start.

import CumulusModel
import CumulusReplication
import CumulusStorage
import CumulusWire
import Logging
import Synchronization

package final class SchemaKeeper: Sendable {
    /// Records that one job of the writer is about, and about how many rows it writes.
    private static let recordsAtOnce = 100
    private static let rowsAtOnce = 1_000
    /// Records of whatever type that are looked at before it is noted how far an index is.
    private static let looksAtOnce = 10_000
    /// Records that are visited in search of dropped types before the found ones are deleted.
    private static let sweptAtOnce = 250
    /// Zones whose rows one step deletes.
    private static let zonesAtOnce = 100

    private let node: Node
    /// The drops after which a scope's records were walked.
    private let swept = Mutex<[ScopeNumber: DropCounts]>([:])

    package init(_ node: Node) {
        self.node = node
    }

    /// Returns when the task is cancelled.
    package func run() async {
        // A failure usually means too much work or no room on the disk.
        await ScopeWork(
            node: node,
            news: node.gate.schemaNews.stream,
            problem:
                "the schema's indexes, or records of dropped types, can't be brought up to date",
            work: work
        ).run()
    }

    private func work(_ scope: ScopeID, _ number: ScopeNumber) async throws {
        try await drop(number)
        try await sweep(scope, number)
        try await build(number)
    }

    // MARK: Building

    private func build(_ scope: ScopeNumber) async throws {
        while let (work, zones) = try await next(scope) {
            let start = node.environment.now()
            let types = Set(work.building.map(\.type)).sorted().joined(separator: ", ")
            try await build(work, scope, zones)
            let milliseconds = node.environment.now().milliseconds - start.milliseconds
            node.environment.logger.log(
                // Fields that appear by themselves in development are nothing to tell about.
                level: milliseconds < 1_000 ? .debug : .info,
                "indexes are ready",
                metadata: ["types": "\(types)", "milliseconds": "\(milliseconds)"]
            )
        }
    }

    /// The indexes to build, and all zones that existed when they were made.
    private func next(_ scope: ScopeNumber) async throws -> (IndexWork, [ZoneNumber])? {
        try await node.gate.reading { reader in
            let work = try reader.indexWork(of: scope)
            return work.building.isEmpty ? nil : (work, try reader.zoneNumbers(of: scope))
        }
    }

    /// Builds indexes until they are ready or no longer wanted.
    private func build(
        _ first: IndexWork,
        _ scope: ScopeNumber,
        _ zones: [ZoneNumber]
    ) async throws {
        var work = first
        while !work.building.isEmpty {
            try Task.checkCancellation()
            let known = work
            let page = try await node.gate.reading { [node] reader in
                try reader.indexPage(
                    for: known,
                    in: zones,
                    limit: SchemaKeeper.recordsAtOnce,
                    byteLimit: node.configuration.limits.storedBytesPerTurn,
                    lookLimit: SchemaKeeper.looksAtOnce
                )
            }
            work = try await node.gate.change(.derived) { transaction throws(EngineError) in
                try ScopeIndexes(of: scope).build(
                    known,
                    with: page,
                    rowLimit: SchemaKeeper.rowsAtOnce,
                    &transaction
                )
            }
        }
    }

    // MARK: Dropping

    private func drop(_ scope: ScopeNumber) async throws {
        let (dropped, zones) = try await node.gate.reading { reader in
            (try reader.indexWork(of: scope).dropped, try reader.zoneNumbers(of: scope))
        }
        for (type, index) in dropped {
            var rest = zones[...]
            while !rest.isEmpty {
                try Task.checkCancellation()
                let some = Array(rest.prefix(SchemaKeeper.zonesAtOnce))
                rest = rest.dropFirst(SchemaKeeper.zonesAtOnce)
                try await node.gate.change(.housekeeping) { transaction throws(EngineError) in
                    try ScopeIndexes(of: scope).dropRows(of: index, in: some, &transaction)
                }
            }
            try await node.gate.change(.housekeeping) { transaction throws(EngineError) in
                ScopeIndexes(of: scope).forget(index, of: type, &transaction)
            }
        }
    }

    // MARK: Records of dropped types

    private func sweep(_ scope: ScopeID, _ number: ScopeNumber) async throws {
        let (lens, zones) = try await node.gate.reading { reader in
            (try RecordLens(of: number, in: reader), try reader.zones(of: number))
        }
        let drops = lens.typeDrops
        guard !drops.isEmpty, swept.withLock({ $0[number] != drops }) else { return }
        // While another node's state is taken, nothing else changes.
        guard node.beginTransfer(of: scope) else { throw WriteStops.merging }
        defer { node.endTransfer(of: scope) }
        for zone in zones { try await sweep(zone, of: number, by: lens) }
        swept.withLock { $0[number] = drops }
    }

    private func sweep(
        _ zone: Commit.Zone,
        of scope: ScopeNumber,
        by lens: RecordLens
    ) async throws {
        var last: String?
        repeat {
            try Task.checkCancellation()
            let after = last
            let found = try await node.gate.reading { [node] reader in
                try DroppedRecords.find(
                    in: zone,
                    of: scope,
                    after: after,
                    limit: SchemaKeeper.sweptAtOnce,
                    byteLimit: node.configuration.limits.storedBytesPerTurn,
                    by: lens,
                    reader
                )
            }
            if !found.names.isEmpty {
                try await node.gate.change(.commits) { transaction throws(EngineError) in
                    try DroppedRecords.delete(found.names, of: zone, in: scope, &transaction)
                }
            }
            last = found.last
        } while last != nil
    }
}
