// An asset on its way to a caller or a peer, page by page; and the reaction of a node that lacks
// bytes which it should have.
//
// Made by `AssetCalls`, read on the threads of the asset store. hot: once per page of chunks.

import CumulusAssets
import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire
import Logging
import Synchronization

/// An asset on its way to a reader: its list, then its chunks, page by page.
///
/// Every page looks anew where its chunks lie: they may move, and the asset may go.
struct AssetPages: Sendable {
    let node: Node
    let found: ReadAsset.Found
    let asset: Bytes
    /// Indexes into the list.
    let chunks: [Int]
    /// When the caller began to wait for missing bytes; nil means it doesn't wait.
    let since: Instant?
    /// Whether the reader gets the chunks as plain bytes.
    var isPlain = false
    /// Throws if the caller may not have the next page.
    let check: @Sendable (ReadTransaction) throws -> Void

    /// Each chunk once, without chunks that the caller has.
    static func distinct(
        _ chunks: [Int],
        of list: ChunkList,
        except skipped: Set<Bytes>
    ) -> [Int] {
        var seen = skipped
        return chunks.filter { seen.insert(list[$0].digest).inserted }
    }

    func first(_ reader: ReadTransaction) throws -> Page {
        var answer = DownloadAssetResponse(list: found.list.bytes)
        answer.missing = UInt32(clamping: found.row.missing)
        // A caller that wants the chunks doesn't wait for that.
        for entry in chunks.isEmpty ? found.list.distinct : [] {
            let row = try reader.chunk(entry.digest, in: found.database)
            answer.storedBytes += UInt64(row?.length ?? 0)
        }
        return page(answer, next: 0)
    }

    private func page(_ answer: DownloadAssetResponse, next index: Int) -> Page {
        guard index < chunks.count else { return Page(message: answer.pieces()) }
        return Page(message: answer.pieces()) { try read(from: index) }
    }

    private func read(from start: Int) throws -> Page {
        let reader = node.gate.latest(reach: .disk)
        try check(reader)
        var answer = DownloadAssetResponse()
        var (index, byteCount) = (start, 0)
        let codec = isPlain ? ChunkCodec() : nil
        while index < chunks.count, byteCount < node.configuration.limits.answerBytes {
            var chunk: Chunk
            do {
                chunk = try read(found.list[chunks[index]].digest, reader)
            } catch {
                if answer.chunks.isEmpty { throw error }
                // Chunks that are here go first; the next page meets the same gap.
                break
            }
            if let codec { chunk = try chunk.expanded(codec) }
            byteCount += chunk.content.count
            // Two large ones are two messages.
            if !answer.chunks.isEmpty, byteCount > node.configuration.limits.answerBytes { break }
            answer.chunks.append(chunk)
            index += 1
        }
        return page(answer, next: index)
    }

    private func read(_ digest: Bytes, _ reader: ReadTransaction) throws -> Chunk {
        guard let row = try reader.chunk(digest, in: found.database) else { throw missing() }
        if let chunk = try node.assets.read(digest, row) { return chunk }
        // It may have moved meanwhile.
        let newest = node.gate.latest(reach: .disk)
        if let moved = try newest.chunk(digest, in: found.database), moved != row,
            let chunk = try node.assets.read(digest, moved)
        {
            return chunk
        }
        // If one chunk is lost, the others of the pack may be too.
        let isQueued = node.assets.perform { [node, found] _ in
            _ = node.loseDamaged(of: found.list, in: found.database)
        }
        if !isQueued { node.lose(digest, at: row, in: found.database) }
        throw missing()
    }

    private func missing() -> any Error {
        let key = AssetKey(database: found.database, asset: asset)
        return node.missing(key, since: since)
    }
}

extension Node {
    /// Finds an asset for a reader who may wait for it.
    func find(
        _ read: ReadAsset,
        since: Instant?,
        _ find: (ReadAsset) throws -> ReadAsset.Found
    ) throws -> ReadAsset.Found {
        do {
            return try find(read)
        } catch let wanted as ReadAsset.Wanted {
            throw missing(AssetKey(database: wanted.database, asset: read.asset), since: since)
        }
    }

    /// The error for an asset that is partly missing: it is fetched and the page read again, unless
    /// a fetch has just failed.
    fileprivate func missing(_ key: AssetKey, since: Instant?) -> any Error {
        let isLinked = connections.withLock { !$0.isEmpty }
        if let since, isLinked, demand.wait(for: key, since: since) { return NotHereYet() }
        let reader = gate.latest(reach: .disk)
        let endpoints = ((try? Members.others(than: nodeID, in: reader)) ?? []).map(\.endpoint)
        return ReadAsset(asset: key.asset).notHereYet(mayBeAt: endpoints.filter { !$0.isEmpty })
    }

    /// Looks at every chunk of an asset that is said to be here; on a thread of the asset store.
    ///
    /// - Returns: How many were looked at, and how many of them are gone or damaged.
    func loseDamaged(
        of list: ChunkList,
        in database: DatabaseNumber
    ) -> (checked: Int, damaged: Int) {
        let reader = gate.latest(reach: .disk)
        var (checked, damaged) = (0, 0)
        for entry in list.distinct {
            guard let row = try? reader.chunk(entry.digest, in: database) else { continue }
            // A chunk that can't be read now may be readable later.
            guard let chunk = try? assets.read(entry.digest, row) as Chunk?? else { continue }
            checked += 1
            if chunk != nil { continue }
            damaged += 1
            lose(entry.digest, at: row, in: database)
        }
        return (checked, damaged)
    }

    /// A chunk's bytes are gone or damaged: it counts as missing from now on.
    func lose(_ digest: Bytes, at row: ChunkRow, in database: DatabaseNumber) {
        environment.logger.error(
            "a chunk of an asset is damaged, and counts as missing",
            metadata: ["chunk": "\(digest.hex)", "pack": "\(row.pack)"]
        )
        let isPackThere = assets.holds(row.pack)
        let job = StoreGate.Job(.housekeeping) { transaction throws(EngineError) in
            if isPackThere {
                return try DatabaseAssets(of: database).lose(digest, at: row, &transaction)
            }
            try Packs.lose(row.pack, &transaction)
            return []
        } then: { [assets] outcome in
            if case .success(let freed) = outcome { assets.remove(freed) }
        }
        let write = StoreGate.QueuedWrite(job, byteCount: 0, loop: InPlaceLoop.shared)
        _ = gate.submit(write)
    }
}
