// Gives back, in the background, the space of assets that nothing has named for the time of grace.
//
// Run by `Collector`. It walks through all assets in steps on the reader threads, lets the writer
// decide, and removes files once it has. Packs of which less than half is still wanted are written
// again, small: their chunks move into a new pack.

import CumulusAssets
import CumulusModel
import CumulusOperations
import CumulusStorage
import Logging

struct AssetCollector: Sendable {
    let node: Node
    /// Between two steps, in milliseconds.
    let pause: Int64
    private static let assetsAtOnce = 1_000
    private static let packsAtOnce = 1_000
    /// Bytes of a new pack, at least, before it is written.
    private static let packBytes = 1 << 20

    /// One walk through everything.
    func run() async throws {
        for (_, scope) in try await node.gate.reading({ try ScopeDirectory.all(in: $0) }) {
            for database in try await databases(of: scope) { try await forgetIdle(in: database) }
        }
        try await rewriteSparse()
    }

    private func databases(of scope: ScopeNumber) async throws -> [DatabaseNumber] {
        try await node.gate.reading { reader in
            try reader.rows(.meta, .databases(of: scope)).map {
                try NumberRow(row: $0.value).number
            }
        }
    }

    // MARK: Assets

    private func forgetIdle(in database: DatabaseNumber) async throws {
        let grace = node.configuration.limits.assetGraceMilliseconds
        let collection = AssetCollection(idleBefore: node.clock - grace)
        var last: Bytes? = []
        while let after = last {
            let step = try await node.gate.reading { reader in
                try collection.find(
                    in: database,
                    after: after,
                    limit: AssetCollector.assetsAtOnce,
                    reader
                )
            }
            if !step.findings.isEmpty {
                let settled = try await node.gate.change(.housekeeping) {
                    transaction throws(EngineError) in
                    try collection.settle(step.findings, in: database, &transaction)
                }
                remove(settled.freed)
            }
            last = step.last
            if last != nil { try await node.environment.sleep(pause) }
        }
    }

    private func remove(_ packs: Set<PackNumber>) {
        if !node.assets.perform({ [node] _ in node.assets.remove(packs) }) {
            node.assets.remove(packs)
        }
    }

    // MARK: Packs

    /// A chunk that is still wanted, of a pack most of which is not.
    private struct Survivor: Sendable {
        let database: DatabaseNumber
        let digest: Bytes
        let row: ChunkRow
    }

    private func rewriteSparse() async throws {
        var after: PackNumber? = 0
        var waiting: [Survivor] = []
        while let from = after {
            let (survivors, last) = try await node.gate.reading { reader in
                try AssetCollector.sparse(after: from, reader)
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

    /// What is wanted of the next packs that are mostly waste.
    private static func sparse(
        after pack: PackNumber,
        _ reader: ReadTransaction
    ) throws -> (survivors: [Survivor], last: PackNumber?) {
        var range = KeyRange.all(.pack)
        range.start = RowKey.pack(pack).bytes + [0]
        let rows = try reader.rows(.records, range, limit: packsAtOnce)
        var survivors: [Survivor] = []
        var last: PackNumber?
        for (key, value) in rows {
            var parts = KeyReader(key)
            let number: PackNumber = try parts.number()
            last = number
            var live: [Survivor] = []
            for (_, value) in try reader.rows(.index, .packed(number)) {
                let packed = try PackedRow(row: value)
                guard let row = try reader.chunk(packed.digest, in: packed.database) else {
                    continue
                }
                live.append(Survivor(database: packed.database, digest: packed.digest, row: row))
            }
            let bytes = live.reduce(0) { $0 + $1.row.length }
            if try 2 * bytes < PackRow(row: value).length { survivors += live }
        }
        return (survivors, rows.count < packsAtOnce ? nil : last)
    }

    private func rewrite(_ survivors: [Survivor]) async throws {
        let (pack, moved) = try await working { [node] in
            var kept: [Survivor] = []
            var chunks: [Chunk] = []
            for survivor in survivors {
                guard let chunk = node.assets.read(survivor.digest, survivor.row) else {
                    node.lose(survivor.digest, at: survivor.row, in: survivor.database)
                    continue
                }
                kept.append(survivor)
                chunks.append(chunk)
            }
            return (chunks.isEmpty ? nil : try node.assets.write(chunks), kept)
        }
        guard let pack else { return }
        let outcome = try await node.gate.change(.housekeeping) { transaction throws(EngineError) in
            try transaction.move(
                zip(moved, pack.chunks).map { ($0.database, $0.row, $1) },
                length: pack.length
            )
        }
        remove(outcome.isUsed ? outcome.freed : outcome.freed.union([pack.number]))
    }

    /// Waits for work on a thread of the asset store.
    private func working<Value: Sendable>(
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { waiting in
            let isQueued = node.assets.perform { _ in waiting.resume(with: Result { try work() }) }
            if !isQueued { waiting.resume(throwing: CancellationError()) }
        }
    }
}
