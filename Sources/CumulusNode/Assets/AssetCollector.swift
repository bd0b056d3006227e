// Gives back, in the background, the space of assets that nothing has named for the time of grace,
// and ends leases of that age.
//
// Run by `Collector`. It walks through all assets in steps on the reader threads, lets the writer
// decide, and removes files once it has. Packs that are less than half in use are written
// again, small: their chunks move into a new pack.

import CumulusAssets
import CumulusModel
import CumulusOperations
import CumulusStorage
import Logging

struct AssetCollector: Sendable {
    let node: Node
    /// Milliseconds between two steps.
    let pause: Int64
    /// Rows that a step looks at, and a job of the writer, unless it is about one asset.
    private static let rowsAtOnce = 1_000
    private static let packsAtOnce = 1_000
    /// Bytes of a new pack, at least, before it is written.
    private static let packBytes = 1 << 20

    /// One walk through everything.
    func run() async throws {
        let scopes = try await node.gate.reading { try ScopeDirectory.all(in: $0) }
        for (_, scope) in scopes {
            let databases = try await node.gate.reading { try $0.databases(of: scope) }
            for (_, database) in databases {
                let grace = node.configuration.limits.assetGraceMilliseconds
                let collection = AssetCollection(idleBefore: node.clock - grace)
                try await endLeases(collection, in: database)
                try await forgetIdle(collection, in: database)
            }
        }
        try await rewriteSparse()
    }

    // MARK: Assets

    private func endLeases(
        _ collection: AssetCollection,
        in database: DatabaseNumber
    ) async throws {
        try await walk { after in
            let step = try await node.gate.reading { reader in
                try collection.findLeases(
                    in: database,
                    after: after,
                    limit: AssetCollector.rowsAtOnce,
                    reader
                )
            }
            if !step.ended.isEmpty {
                try await node.gate.change(.housekeeping) { transaction throws(EngineError) in
                    try collection.end(step.ended, &transaction)
                }
            }
            return step.last
        }
    }

    private func forgetIdle(
        _ collection: AssetCollection,
        in database: DatabaseNumber
    ) async throws {
        try await walk { after in
            let step = try await node.gate.reading { reader in
                try collection.find(
                    in: database,
                    after: after,
                    limit: AssetCollector.rowsAtOnce,
                    reader
                )
            }
            for findings in AssetCollector.batches(of: step.findings) {
                let settled = try await node.gate.change(.housekeeping) {
                    transaction throws(EngineError) in
                    try collection.settle(findings, in: database, &transaction)
                }
                node.assets.removeLater(settled.freed)
                try await node.environment.sleep(pause)
            }
            return step.last
        }
    }

    /// Takes one step after the other, with a pause between two.
    ///
    /// - Parameter step: Given the last key of the step before, empty at first; returns its own, or
    ///   nil if nothing is left.
    private func walk(_ step: (Bytes) async throws -> Bytes?) async throws {
        var last: Bytes? = []
        while let after = last {
            last = try await step(after)
            if last != nil { try await node.environment.sleep(pause) }
        }
    }

    /// Callers wait for the writer meanwhile: some milliseconds for each thousand rows.
    private static func batches(
        of findings: [AssetCollection.Finding]
    ) -> [[AssetCollection.Finding]] {
        var batches: [[AssetCollection.Finding]] = []
        var room = 0
        for finding in findings {
            if finding.cost > room {
                batches.append([])
                room = rowsAtOnce
            }
            batches[batches.count - 1].append(finding)
            room -= finding.cost
        }
        return batches
    }

    // MARK: Packs

    private func rewriteSparse() async throws {
        var after: PackNumber? = 0
        var waiting: [SparsePacks.Survivor] = []
        while let from = after {
            let (survivors, last) = try await node.gate.reading { reader in
                try SparsePacks.find(after: from, limit: AssetCollector.packsAtOnce, reader)
            }
            for survivor in survivors {
                waiting.append(survivor)
                if waiting.reduce(0, { $0 + $1.row.length }) < AssetCollector.packBytes { continue }
                try await rewrite(waiting)
                waiting = []
            }
            after = last
            if after != nil { try await node.environment.sleep(pause) }
        }
        if !waiting.isEmpty { try await rewrite(waiting) }
    }

    private func rewrite(_ survivors: [SparsePacks.Survivor]) async throws {
        let (pack, moved) = try await node.assets.performing { [node] _ in
            var kept: [SparsePacks.Survivor] = []
            var chunks: [Chunk] = []
            for survivor in survivors {
                guard let chunk = try node.assets.read(survivor.digest, survivor.row) else {
                    node.lose(survivor.digest, at: survivor.row, in: survivor.database)
                    continue
                }
                kept.append(survivor)
                chunks.append(chunk)
            }
            return (chunks.isEmpty ? nil : try node.assets.write(chunks, freesSpace: true), kept)
        }
        guard let pack else { return }
        do {
            let outcome = try await node.gate.change(.housekeeping) {
                transaction throws(EngineError) in
                try Packs.move(
                    zip(moved, pack.chunks).map { ($0.database, $0.row, $1) },
                    length: pack.length,
                    &transaction
                )
            }
            node.assets.removeLater(outcome.freed.union(outcome.isUsed ? [] : [pack.number]))
        } catch {
            node.assets.removeLater([pack.number])
            throw error
        }
    }
}
