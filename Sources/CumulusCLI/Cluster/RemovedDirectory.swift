// The data directory of a node that was removed, while no process uses it.
//
// Opened by `cumulus cluster rescue`. The engine's lock keeps nodes out meanwhile. Nothing is
// written but what the engine itself notes when it opens.

import Cumulus
import CumulusAssets
import CumulusModel
import CumulusReplication
import CumulusStorage
import CumulusSystem
import CumulusTerminal
import RocksDBStorage

struct RemovedDirectory {
    let source: RescueSource
    /// nil if the directory holds no assets.
    private let packs: PackDirectory?

    init(_ path: String) throws {
        let manager = FileManager.default
        guard !manager.fileExists(atPath: path + "/database") else {
            throw InputProblem(
                "the store of \(path) is in a database, and a rescue reads data directories only; "
                    + "'cumulusd --read-only --store URL' shows what the store holds"
            )
        }
        guard manager.fileExists(atPath: path + "/store/CURRENT") else {
            throw InputProblem(
                "\(path) is no node's data directory: there is no store in it; name the one that "
                    + "the node was started with (--data)"
            )
        }
        do {
            let engine = try RocksDBEngine(
                directory: path + "/store",
                profile: .small,
                reserve: 0,
                readOnly: true
            )
            source = try RescueSource(ReadTransaction(engine, reach: .disk))
            let hasAssets = manager.fileExists(atPath: path + "/assets")
            packs = hasAssets ? try PackDirectory(path + "/assets") : nil
        } catch RocksDBError.locked {
            throw InputProblem(
                "a process uses \(path): stop the node, cumulusd --read-only too, and try again"
            )
        } catch let error as RocksDBError {
            throw InputProblem("\(error)")
        } catch let failure as OpenStore.Failure {
            throw InputProblem(failure.message)
        } catch {
            throw InputProblem("\(path) can't be read: \(error)")
        }
    }

    /// The node's id in hexadecimal digits, as operators see it.
    var nodeID: String { source.node.nodeID.hex }
    var clusterID: String { source.node.clusterID.hex }

    /// Bytes of chunks after which a message is closed.
    private static let messageBytes = 1 << 20

    /// The list of an asset; nil if the directory hasn't got it.
    func list(of asset: RescueSource.Asset, in scope: ScopeNumber) throws -> ChunkList? {
        guard let database = try source.reader.database(scope, asset.database) else { return nil }
        return try source.reader.chunkList(of: asset.digest, in: database)
    }

    /// Passes on the wanted chunks that are here, one message after the other.
    ///
    /// - Parameter indexes: Into the list.
    func read(
        _ indexes: [Int],
        of list: ChunkList,
        _ asset: RescueSource.Asset,
        in scope: ScopeNumber,
        pass: ([Chunk]) async throws -> Void
    ) async throws {
        guard let database = try source.reader.database(scope, asset.database) else { return }
        var (chunks, size) = ([Chunk](), 0)
        for index in indexes where (0..<list.count).contains(index) {
            guard let chunk = try chunk(list[index].digest, in: database) else { continue }
            chunks.append(chunk)
            size += chunk.content.count
            if size < RemovedDirectory.messageBytes { continue }
            try await pass(chunks)
            (chunks, size) = ([], 0)
        }
        if !chunks.isEmpty { try await pass(chunks) }
    }

    /// nil if its bytes are gone; the node that gets them judges them.
    private func chunk(_ digest: Bytes, in database: DatabaseNumber) throws -> Chunk? {
        guard let packs, let row = try source.reader.chunk(digest, in: database),
            let content = try packs.read(row.pack, row.offset..<row.offset + row.length)
        else { return nil }
        return Chunk(
            digest: digest,
            size: row.size,
            isCompressed: row.isCompressed,
            content: content[...]
        )
    }
}
