// Builds indexes that came after their records, and deletes the rows of those that are dropped.
//
// Run beside the listener until it is cancelled. It gives the writer small jobs one after the
// other, so that callers hardly notice; how far each index is stands in its row, and the next start
// goes on from there.

import CumulusModel
import CumulusStorage
import CumulusWire
import Logging
import Synchronization

package final class IndexKeeper: Sendable {
    /// Records that one step looks at, and zones whose rows one step deletes.
    private static let recordsAtOnce = 250
    private static let zonesAtOnce = 100

    private let node: Node

    package init(_ node: Node) {
        self.node = node
    }

    /// Returns when the task is cancelled.
    package func run() async {
        await tryWork()
        for await _ in node.gate.indexNews { await tryWork() }
    }

    private func tryWork() async {
        // What fails now, because the store has too much to do, is tried again a while later.
        while !Task.isCancelled {
            do {
                try await work()
                return
            } catch is CancellationError {
                return
            } catch {
                node.environment.logger.error(
                    "an index could not be built or dropped",
                    metadata: ["error": "\(error)"]
                )
            }
            try? await node.environment.sleep(1_000)
        }
    }

    /// Does all that there is to do.
    package func work() async throws {
        let scopes = try await node.gate.reading { reader in try ScopeDirectory.all(in: reader) }
        for (_, number) in scopes {
            try await build(number)
            try await drop(number)
        }
    }

    // MARK: Building

    private func build(_ scope: ScopeNumber) async throws {
        while let (work, zones) = try await next(scope) {
            try await build(work, scope, zones)
        }
    }

    /// What is to be built, and all zones that were there when it was made.
    private func next(_ scope: ScopeNumber) async throws -> (IndexWork, [ZoneNumber])? {
        try await node.gate.reading { reader in
            let work = try reader.indexWork(of: scope)
            return work.building.isEmpty ? nil : (work, try reader.zoneNumbers(of: scope))
        }
    }

    /// Until these indexes are ready, or other ones come.
    private func build(
        _ first: IndexWork,
        _ scope: ScopeNumber,
        _ zones: [ZoneNumber]
    ) async throws {
        var work = first
        var count = 0
        let start = node.environment.now()
        let types = Set(first.building.map(\.type)).sorted().joined(separator: ", ")
        note("building indexes", types, first.building.count, count)
        repeat {
            try Task.checkCancellation()
            let known = work
            let (looked, next) = try await node.gate.change(.housekeeping) {
                transaction throws(EngineError) in
                let looked = try transaction.buildIndexes(
                    known,
                    of: scope,
                    zones: zones,
                    limit: IndexKeeper.recordsAtOnce
                )
                return (looked, try transaction.indexWork(of: scope))
            }
            count += looked
            work = next
        } while Set(work.building.map(\.index.number)) == Set(first.building.map(\.index.number))
        let milliseconds = node.environment.now().milliseconds - start.milliseconds
        note("built indexes", types, first.building.count, count, milliseconds)
    }

    private func note(
        _ what: Logger.Message,
        _ types: String,
        _ indexes: Int,
        _ records: Int,
        _ milliseconds: Int64? = nil
    ) {
        var metadata: Logger.Metadata = ["types": "\(types)", "indexes": "\(indexes)"]
        if let milliseconds {
            metadata["records"] = "\(records)"
            metadata["milliseconds"] = "\(milliseconds)"
        }
        node.environment.logger.debug(what, metadata: metadata)
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
                let some = Array(rest.prefix(IndexKeeper.zonesAtOnce))
                rest = rest.dropFirst(IndexKeeper.zonesAtOnce)
                try await node.gate.change(.housekeeping) { transaction throws(EngineError) in
                    try transaction.dropIndexRows(of: index, in: some)
                }
            }
            try await node.gate.change(.housekeeping) { transaction throws(EngineError) in
                transaction.forgetIndex(index, of: type, in: scope)
            }
        }
    }
}
