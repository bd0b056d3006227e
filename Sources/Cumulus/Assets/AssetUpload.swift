// Uploads the content of assets: cuts it, asks which chunks are missing, sends them, and asks again
// until none is missing.
//
// Saves call it before they send their records. After a lost connection, or a restart of the node
// or of this process, the upload continues where the server's next answer says. hot: once per
// chunk.
//
// Folder: files of records on their way up and down. Read `AssetUpload`, then `AssetDownload` and
// `AssetCache`.

import CumulusAssets
import CumulusModel
import CumulusWire
import Synchronization

struct AssetUpload: Sendable {
    let core: ClientCore
    let database: DatabaseScope
    /// The zone of the records that will name the assets, in the shared database; nil elsewhere.
    let zone: WireZoneID?
    let progress: AssetProgress?

    /// Bytes of chunks that share a message.
    ///
    /// Each becomes one file of the server, and to make one durable costs as much as hundreds of
    /// kilobytes in it.
    private static let messageBytes = 2 << 20
    /// How smaller files are cut is not worth remembering.
    private static let rememberedBytes: UInt64 = 16 << 20
    /// Small chunks that share a message.
    private static let messageChunks = 256
    /// Messages that are packed while others are sent.
    private static let packers = 3

    /// An asset that was cut.
    private struct Prepared: Sendable {
        let source: AssetSource
        let list: ChunkList
    }

    /// A chunk that has to travel, and where its bytes are.
    private struct Piece: Sendable {
        let source: AssetSource
        let start: UInt64
        let entry: ChunkList.Entry
    }

    /// The same assets, with the digests under which the server knows them now.
    func run(_ assets: [Asset]) async throws -> [Asset] {
        var prepared: [Prepared] = []
        let limit = try await core.hello().limits.assetBytes
        for asset in assets {
            guard let content = asset.source else { continue }
            let source = try AssetSource(content)
            guard source.size <= limit else {
                throw ServiceError(
                    .limitExceeded,
                    .tooLarge,
                    "an asset has \(source.size) bytes; the server takes \(limit)"
                )
            }
            prepared.append(Prepared(source: source, list: try await list(of: source)))
        }
        let (totalBytes, totalChunks) = prepared.reduce((0, 0)) {
            ($0.0 + $1.list.size, $0.1 + $1.list.count)
        }
        progress?.update {
            $0.totalBytes += totalBytes
            $0.totalChunks += totalChunks
        }
        try await send(prepared)
        return prepared.map { Asset($0.list, $0.source) }
    }

    private func list(of source: AssetSource) async throws -> ChunkList {
        guard let path = source.path, source.size >= AssetUpload.rememberedBytes else {
            return try await source.chunkList()
        }
        let known = core.assetCache.cuts(of: path)
        let list = try await source.chunkList(known: known)
        if list != known { core.assetCache.keepCuts(list, of: path) }
        return list
    }

    // MARK: What is missing

    private func send(_ prepared: [Prepared]) async throws {
        var pieces = try await missing(of: prepared)
        noteSkipped(prepared, pieces)
        var deadline = core.environment.now() + core.settings.callMilliseconds
        var attempt = 0
        while !pieces.isEmpty {
            var problem = AssetUpload.stillMissing
            do {
                try await stream(pieces)
            } catch let error as Interruption {
                problem = error.why
            }
            let rest = try await missing(of: prepared)
            // The upload goes on as long as some chunks arrive.
            if rest.count < pieces.count {
                deadline = core.environment.now() + core.settings.callMilliseconds
                attempt = 0
            }
            pieces = rest
            if pieces.isEmpty { return }
            guard core.environment.now() < deadline else { throw problem }
            try await core.pause(attempt)
            attempt += 1
        }
    }

    private static let stillMissing = ServiceError(
        .serviceUnavailable,
        .assetIncomplete,
        "the server took the content of an asset, and still says that it lacks it"
    )

    /// The upload ended early; another try may bring the rest.
    private struct Interruption: Error {
        let why: ServiceError
    }

    private func noteSkipped(_ prepared: [Prepared], _ pieces: [Piece]) {
        let total = prepared.reduce(into: (bytes: UInt64(0), chunks: 0)) {
            $0.bytes += $1.list.size
            $0.chunks += $1.list.count
        }
        let bytes = pieces.reduce(0) { $0 + UInt64($1.entry.size) }
        progress?.update {
            $0.completedBytes += total.bytes - bytes
            $0.skippedBytes += total.bytes - bytes
            $0.completedChunks += total.chunks - pieces.count
        }
    }

    /// Asks the server, in as many requests as it takes.
    private func missing(of prepared: [Prepared]) async throws -> [Piece] {
        let limits = try await core.hello().limits
        var pieces: [Piece] = []
        var seen: Set<Bytes> = []
        var start = 0
        while start < prepared.count {
            var (end, byteCount) = (start, 64)
            while end < prepared.count, end - start < limits.assetsPerRequest {
                byteCount += prepared[end].list.bytes.count + 8
                if end > start, byteCount > limits.requestBytes { break }
                end += 1
            }
            let part = prepared[start..<end]
            for (asset, indexes) in zip(part, try await missing(ofPart: part)) {
                pieces += AssetUpload.pieces(of: asset, indexes, &seen)
            }
            start = end
        }
        return pieces
    }

    private func missing(ofPart part: ArraySlice<Prepared>) async throws -> [[Int]] {
        let request = PrepareAssetsRequest(
            database: database,
            lists: part.map(\.list.bytes),
            zone: zone
        )
        let messages = try await core.read(.assetsPrepare, request.encoded())
        let results = try decoding {
            try messages.flatMap { try PrepareAssetsResponse(wire: $0).results }
        }
        try Database.check(results.count, of: part.count)
        return try results.map { try $0.get() }
    }

    private static func pieces(
        of asset: Prepared,
        _ indexes: [Int],
        _ seen: inout Set<Bytes>
    ) -> [Piece] {
        if indexes.isEmpty { return [] }
        let wanted = Set(indexes)
        var pieces: [Piece] = []
        var start: UInt64 = 0
        for (index, entry) in asset.list.entries.enumerated() {
            if wanted.contains(index), seen.insert(entry.digest).inserted {
                pieces.append(Piece(source: asset.source, start: start, entry: entry))
            }
            start += UInt64(entry.size)
        }
        return pieces
    }

    // MARK: On its way

    /// One message, packed.
    private struct Message: Sendable {
        let bytes: MessagePieces
        let plainBytes: Int
        let chunks: Int
    }

    private func stream(_ pieces: [Piece]) async throws {
        let sent = SentMessages(progress)
        let upload = try await UploadStream.open(
            core,
            CallHeader(.assetsUpload),
            UploadChunksRequest(database: database, zone: zone).encoded(),
            onCredit: { sent.acknowledge($0) }
        )
        var isOpen = true
        let room = try await core.hello().limits.frameBytes / 2
        let groups = AssetUpload.groups(of: pieces, min(AssetUpload.messageBytes, room))
        try await packing(groups) { message in
            sent.add(message.bytes.count, message.plainBytes, message.chunks)
            isOpen = await upload.send(message.bytes)
            return isOpen
        }
        switch await upload.finish() {
        case .answer: sent.acknowledgeAll()
        case .lost:
            throw Interruption(
                why: ServiceError(.networkFailure, "the connection was lost during an upload")
            )
        case .refused(let error) where error.isPassing || error.reason == .assetNotPrepared:
            throw Interruption(why: error)
        // The node found bytes that are not what they were when they were hashed.
        case .refused(let error) where error.reason == .invalidValue: throw AssetSource.modified
        case .refused(let error): throw error
        }
    }

    /// Reads and compresses a few messages ahead of the one that is being sent.
    private func packing(
        _ groups: [ArraySlice<Piece>],
        _ send: (Message) async -> Bool
    ) async throws {
        try await withThrowingTaskGroup(of: (Int, Message).self) { tasks in
            var (packed, next, number) = ([Int: Message](), 0, 0)
            func begin() {
                guard next < groups.count else { return }
                let (index, group) = (next, groups[next])
                tasks.addTask { (index, try AssetUpload.pack(group)) }
                next += 1
            }
            for _ in 0..<AssetUpload.packers { begin() }
            while number < groups.count {
                while packed[number] == nil, let (index, message) = try await tasks.next() {
                    packed[index] = message
                }
                guard let message = packed.removeValue(forKey: number) else { return }
                begin()
                number += 1
                guard await send(message) else { return tasks.cancelAll() }
            }
        }
    }

    private static func groups(of pieces: [Piece], _ messageBytes: Int) -> [ArraySlice<Piece>] {
        var groups: [ArraySlice<Piece>] = []
        var (start, byteCount) = (0, 0)
        for (index, piece) in pieces.enumerated() {
            let isFull =
                byteCount + piece.entry.size > messageBytes || index - start >= messageChunks
            if isFull, index > start {
                groups.append(pieces[start..<index])
                (start, byteCount) = (index, 0)
            }
            byteCount += piece.entry.size
        }
        if start < pieces.count { groups.append(pieces[start...]) }
        return groups
    }

    private static func pack(_ pieces: ArraySlice<Piece>) throws -> Message {
        let codec = codecs.take()
        defer { codecs.give(codec) }
        var chunks: [Chunk] = []
        for piece in pieces {
            let plain = try piece.source.read(piece.start, piece.entry.size)
            guard plain.count == piece.entry.size else { throw AssetSource.modified }
            chunks.append(codec.chunk(plain[...], digest: piece.entry.digest))
        }
        return Message(
            bytes: WireChunks(chunks).pieces(),
            plainBytes: pieces.reduce(0) { $0 + $1.entry.size },
            chunks: pieces.count
        )
    }

    static let codecs = ChunkCodecs()
}

extension Asset {
    /// An asset whose content is on the server.
    fileprivate init(_ list: ChunkList, _ source: AssetSource) {
        self.init(digest: list.digest, size: list.size)
    }
}

/// libzstd's contexts are large and are used again; each by one task at a time.
final class ChunkCodecs: Sendable {
    private struct Codec: @unchecked Sendable {
        // Only the task that has taken it from the pool uses it.
        let codec: ChunkCodec
    }

    private let idle = Mutex<[Codec]>([])

    func take() -> ChunkCodec {
        idle.withLock { $0.popLast() }?.codec ?? ChunkCodec()
    }

    func give(_ codec: ChunkCodec) {
        let codec = Codec(codec: codec)
        idle.withLock { if $0.count < 4 { $0.append(codec) } }
    }
}

/// Messages that were sent, in order, and how many of them the server is done with.
private final class SentMessages: Sendable {
    private struct State {
        var waiting: [(bytes: Int, plain: Int, chunks: Int)] = []
        /// Bytes of credit that belong to no whole message yet.
        var credit = 0
        var isWindow = true
    }

    private let state = Mutex(State())
    private let progress: AssetProgress?

    init(_ progress: AssetProgress?) {
        self.progress = progress
    }

    func add(_ bytes: Int, _ plain: Int, _ chunks: Int) {
        state.withLock { $0.waiting.append((bytes, plain, chunks)) }
    }

    /// The first credit is the window that the server opens; what follows is for messages.
    func acknowledge(_ byteCount: Int) {
        note { state in
            if state.isWindow {
                state.isWindow = false
                return
            }
            state.credit += byteCount
        }
    }

    func acknowledgeAll() {
        note { state in state.credit = .max / 2 }
    }

    private func note(_ change: (inout State) -> Void) {
        let done = state.withLock { state in
            change(&state)
            var done = (bytes: 0, plain: 0, chunks: 0)
            while let first = state.waiting.first, first.bytes <= state.credit {
                state.waiting.removeFirst()
                state.credit -= first.bytes
                done = (
                    done.bytes + first.bytes, done.plain + first.plain, done.chunks + first.chunks
                )
            }
            return done
        }
        guard done.chunks > 0 else { return }
        progress?.update {
            $0.completedBytes += UInt64(done.plain)
            $0.transferredBytes += UInt64(done.bytes)
            $0.completedChunks += done.chunks
        }
    }
}
