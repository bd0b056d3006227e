// Chunks from peers on their way to the disk. Chunks that arrive while a pack is being written
// share the next one, however many assets they belong to.
//
// `AssetFetch` calls it. A small asset alone would otherwise cost a file, its two flushes and a
// commit. Chunks are durable when `enter` returns. hot: once per message.

import CumulusAssets
import CumulusModel
import CumulusOperations
import CumulusStorage
import Synchronization

final class ChunkArrivals: Sendable {
    /// Like a message of an upload.
    private static let packBytes = 2 << 20

    private final class Arrival: Sendable {
        let chunks: [Chunk]
        let database: DatabaseNumber
        let result = Mutex<Result<Void, any Error>?>(nil)

        init(_ chunks: [Chunk], _ database: DatabaseNumber) {
            self.chunks = chunks
            self.database = database
        }
    }

    private let waiting = Mutex<[Arrival]>([])
    private let queue = TaskQueue()

    /// Checks chunks and stores the wanted ones.
    func enter(_ chunks: [Chunk], in database: DatabaseNumber, of node: Node) async throws {
        try await node.assets.performing { codec in try node.assets.check(chunks, codec) }
        let mine = Arrival(chunks, database)
        waiting.withLock { $0.append(mine) }
        await queue.enter()
        defer { queue.leave() }
        if let result = mine.result.withLock({ $0 }) { return try result.get() }
        let group = take(with: mine)
        let result: Result<Void, any Error>
        do {
            result = .success(try await write(group.flatMap(\.chunks), database, node))
        } catch {
            result = .failure(error)
        }
        for arrival in group { arrival.result.withLock { $0 = result } }
        try result.get()
    }

    /// Takes the arrivals that share a pack; the others wait for the next one.
    private func take(with mine: Arrival) -> [Arrival] {
        waiting.withLock { waiting in
            var (group, room) = ([Arrival](), ChunkArrivals.packBytes)
            waiting.removeAll { arrival in
                let size = arrival.chunks.reduce(0) { $0 + $1.content.count }
                let fits = arrival === mine || arrival.database == mine.database && size <= room
                if fits {
                    group.append(arrival)
                    room -= size
                }
                return fits
            }
            return group
        }
    }

    private func write(
        _ chunks: [Chunk],
        _ database: DatabaseNumber,
        _ node: Node
    ) async throws {
        let pack = try await node.assets.performing { _ in try node.assets.write(chunks) }
        do {
            let isUsed = try await node.gate.change(.housekeeping) {
                transaction throws(EngineError) in
                var (wanted, _) = try transaction.sift(pack.chunks.map(\.entry), in: database)
                // Two peers may have sent the same chunk.
                let missing = pack.chunks.filter { wanted.remove($0.digest) != nil }
                DatabaseAssets(of: database).enter(missing, length: pack.length, &transaction)
                return !missing.isEmpty
            }
            if !isUsed { node.assets.removeLater([pack.number]) }
        } catch {
            node.assets.removeLater([pack.number])
            throw error
        }
    }
}
