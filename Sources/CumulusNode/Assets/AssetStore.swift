// The node's chunks: packs on the disk, and the threads that check, pack and read them.
//
// Owned by `Node`; sessions, the collector and the fetcher hand it work. Where a chunk lies is told
// by rows, which only the writer changes: a pack is written before the rows that name it, and goes
// after the rows that forgot it. hot: once per chunk.
//
// Folder: the chunks of assets on this node: kept, fetched from other nodes, verified, removed.
// Read `AssetStore`, then `AssetFetcher` and `AssetFetch`, and `AssetCollector`.

package import CumulusAssets
package import CumulusModel
package import CumulusStorage
import CumulusWire
import Synchronization

package final class AssetStore: Sendable {
    package typealias Work = @Sendable (ChunkCodec) -> Void

    private let packs: any PackFiles
    private let freeBytes: @Sendable () -> UInt64?
    private let reserve: DiskReserve
    private let next: Atomic<PackNumber>
    /// Bytes of all packs.
    let storedBytes: Atomic<Int>
    private let queue: WorkQueue<Work>
    private let workers = Mutex<[Worker]>([])
    /// No pack is removed while packs are copied.
    private let removal = Mutex(Removal())

    private struct Removal {
        var isHeld = false
        var waiting: Set<PackNumber> = []
    }

    /// - Parameters:
    ///   - next: Higher than the number of any pack that was.
    ///   - storedBytes: Bytes of the packs that exist.
    package init(
        _ packs: any PackFiles,
        next: PackNumber,
        storedBytes: Int = 0,
        capacity: Int,
        diskReserve: UInt64,
        deleteReserve: UInt64 = 0,
        freeBytes: @escaping @Sendable () -> UInt64?
    ) {
        self.packs = packs
        self.next = Atomic(next)
        self.storedBytes = Atomic(storedBytes)
        reserve = DiskReserve(first: diskReserve, second: deleteReserve)
        self.freeBytes = freeBytes
        queue = WorkQueue(capacity: capacity)
    }

    // MARK: Threads

    func start(threads: Int) {
        workers.withLock { workers in
            for _ in 0..<threads {
                workers.append(
                    Worker(named: "cumulus assets") {
                        let codec = ChunkCodec()
                        while self.runWork(codec) {}
                    }
                )
            }
        }
    }

    /// Finishes the queued work and ends the threads.
    func stop() {
        queue.close()
        let ending = workers.withLock { workers in
            defer { workers = [] }
            return workers
        }
        for worker in ending { worker.join() }
    }

    /// Returns false if too much is waiting.
    func perform(_ work: @escaping Work) -> Bool {
        queue.append(work)
    }

    /// Waits for work on one of the threads.
    func performing<Value: Sendable>(
        _ work: @escaping @Sendable (ChunkCodec) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { waiting in
            let isQueued = perform { codec in waiting.resume(with: Result { try work(codec) }) }
            if !isQueued { waiting.resume(throwing: AssetStore.busy) }
        }
    }

    private static let busy = ServiceError(
        .requestRateLimited,
        .overloaded,
        "too many chunks are waiting"
    )

    /// Something waits for a thread: `runWork` has something to do.
    package var hasWork: Bool { !queue.isEmpty }

    /// Waits for work and does it.
    ///
    /// Returns false when the queue is closed and empty.
    package func runWork(_ codec: ChunkCodec) -> Bool {
        guard let work = queue.take() else { return false }
        work(codec)
        return true
    }

    // MARK: Packs

    /// A pack whose file is durable and that no row names yet.
    package struct Pack: Sendable {
        package let number: PackNumber
        package let chunks: [PackedChunk]
        package let length: Int
    }

    /// Checks chunks and writes them into one pack.
    ///
    /// - Parameter compresses: Their sender has no zstd, so they are compressed here.
    func pack(
        _ chunks: [Chunk],
        _ codec: ChunkCodec,
        compresses: Bool = false
    ) throws(ServiceError) -> Pack {
        try check(chunks, codec)
        return try write(compresses ? chunks.map { $0.compressed(codec) } : chunks)
    }

    /// Throws unless all of them are what their digests say.
    func check(_ chunks: [Chunk], _ codec: ChunkCodec) throws(ServiceError) {
        for chunk in chunks {
            do {
                _ = try chunk.plain(codec)
            } catch {
                throw ServiceError(
                    .invalidArguments,
                    .invalidValue,
                    "chunk \(chunk.digest.hex): \(error.reason)"
                )
            }
        }
    }

    /// Writes chunks that are known to be good.
    ///
    /// - Parameter freesSpace: They are what is left of packs that go then, so they are written on
    ///   a disk that takes deletes only, too.
    package func write(
        _ chunks: [Chunk],
        freesSpace: Bool = false
    ) throws(ServiceError) -> Pack {
        let length = chunks.reduce(0) { $0 + $1.content.count }
        try checkRoom(for: UInt64(length), freesSpace)
        let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
        var offset = 0
        let packed = chunks.map { chunk in
            defer { offset += chunk.content.count }
            return PackedChunk(
                digest: chunk.digest,
                row: ChunkRow(
                    pack: number,
                    offset: offset,
                    length: chunk.content.count,
                    size: chunk.size,
                    isCompressed: chunk.isCompressed,
                    checksum: ChunkChecksum.of(chunk.content)
                )
            )
        }
        do {
            try packs.write(number, chunks.map(\.content))
        } catch {
            switch error {
            case .full: throw WriteStops.diskFull
            case .failed(let why): throw ServiceError(.internalError, "no chunk was stored: \(why)")
            }
        }
        storedBytes.add(length)
        return Pack(number: number, chunks: packed, length: length)
    }

    private func checkRoom(for length: UInt64, _ freesSpace: Bool) throws(ServiceError) {
        guard let free = freeBytes() else { return }
        let level = reserve.level(free: free > length ? free - length : 0)
        guard level == .all || (level == .deletes && freesSpace) else {
            throw WriteStops.refusal(at: level)
        }
    }

    /// A chunk, as it was stored; nil if its bytes are gone, or damaged.
    ///
    /// Throws where the system refuses to read just now: that says nothing of the bytes.
    package func read(_ digest: Bytes, _ row: ChunkRow) throws(ServiceError) -> Chunk? {
        let range = row.offset..<row.offset + row.length
        let content: Bytes?
        do {
            content = try packs.read(row.pack, range)
        } catch {
            throw AssetStore.unreadable(error)
        }
        guard let content = content?[...], ChunkChecksum.matches(content, row) else { return nil }
        return Chunk(
            digest: digest,
            size: row.size,
            isCompressed: row.isCompressed,
            content: content
        )
    }

    private static func unreadable(_ why: PackError) -> ServiceError {
        var error = ServiceError(
            .requestRateLimited,
            .overloaded,
            "this node can't read the files of assets now: \(why)"
        )
        error.retryAfterMilliseconds = 1_000
        return error
    }

    /// Whether a pack's file is there; one that can't be read may be.
    func holds(_ pack: PackNumber) -> Bool {
        do {
            return try packs.read(pack, 0..<0) != nil
        } catch {
            return true
        }
    }

    // MARK: Removal

    /// Removes packs that no durable row names.
    package func remove(_ numbers: Set<PackNumber>) {
        for number in numbers {
            removal.withLock { removal in
                if removal.isHeld {
                    removal.waiting.insert(number)
                } else {
                    storedBytes.add(-packs.remove(number))
                }
            }
        }
    }

    /// Removes packs that no durable row names, on one of the threads if there is room.
    func removeLater(_ numbers: Set<PackNumber>) {
        if numbers.isEmpty { return }
        if !perform({ [self] _ in remove(numbers) }) { remove(numbers) }
    }

    /// Runs while no pack is removed, so all packs that the store names exist.
    func keepingPacks<Value>(
        _ body: (any PackFiles) throws(ServiceError) -> Value
    ) throws(ServiceError) -> Value {
        removal.withLock { $0.isHeld = true }
        defer {
            let waiting = removal.withLock { removal in
                defer { removal = Removal() }
                return removal.waiting
            }
            remove(waiting)
        }
        return try body(packs)
    }
}
