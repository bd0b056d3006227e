// The calls on assets: prepare, upload, download; and what peers ask of an asset.
//
// An upload is a stream of messages, each of which becomes a pack; its credit comes back when that
// is durable, so credit is also what tells the caller how far it is. A download is a stream of
// pages like any list, read by the threads of the asset store. hot: once per message of chunks.

import CumulusAssets
import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire
import Logging
import Synchronization

/// What comes of an upload, on its session's loop.
struct ChunkUpload {
    let database: DatabaseScope
    let scope: ScopeID
    /// Bytes that the caller may still send.
    var credit: Int
    /// Messages on their way to the disk.
    var inProgress = 0
    /// Chunks that are durable.
    var stored: UInt64 = 0
    /// The caller has sent all.
    var isEnd = false
    /// When the caller has been silent too long; nil: it is this node's turn.
    var stallDeadline: Instant?
}

/// How much came in one message.
private struct MessageSize: Sendable {
    let bytes: Int
    let chunks: UInt64
}

/// Part of an asset has not reached this node: the page is read again after a while.
struct NotHereYet: Error {}

extension ClientSession {
    // MARK: Prepare

    func prepareAssets(_ call: Call) throws {
        let message = try PrepareAssetsRequest(wire: call.message)
        let lists = message.lists.map { bytes -> Result<ChunkList, ServiceError> in
            do throws(MalformedBytes) {
                return .success(try ChunkList(checking: bytes))
            } catch {
                return .failure(ServiceError(.invalidArguments, .invalidValue, error.reason))
            }
        }
        let request = PrepareAssets(
            database: try database(message.database),
            lists: lists,
            limits: limits
        )
        try request.checkCount()
        let scope = try callScope(call.header)
        let parts = request.parts(of: ClientSession.chunksAtOnce)
        if parts.count > 1 { return prepare(parts[...], call, scope) }
        change(call, .prepareAssets(request), in: scope) { _, answer in
            guard case .prepared(let outcome) = answer else { return [] }
            return [PrepareAssetsResponse.encoded(outcome.map { $0.mapError(\.error) })]
        }
    }

    /// Chunks that a job of the writer looks at, unless they are of one asset: others wait for it.
    private static let chunksAtOnce = 1_000

    /// One part after the other, so that others' changes come in between.
    private func prepare(
        _ parts: ArraySlice<PrepareAssets>,
        after outcome: PrepareAssets.Outcome = [],
        _ call: Call,
        _ scope: ScopeID
    ) {
        guard let token = calls[call.stream]?.token else { return }
        guard let part = parts.first else {
            let results = outcome.map { $0.mapError(\.error) }
            return finish(call.stream, [PrepareAssetsResponse.encoded(results)])
        }
        let request = WriteRequest(.prepareAssets(part), scope: scope, caller: identity.caller)
        let work = StoreGate.Work.request(request, token) { [self] answer in
            run { session in
                switch answer {
                case .success(.prepared(let results)):
                    session.prepare(parts.dropFirst(), after: outcome + results, call, scope)
                case .success: break
                case .failure(let error): session.fail(call.stream, error)
                }
            }
        }
        let write = StoreGate.QueuedWrite(work, byteCount: call.message.count, loop: link.loop)
        if node.gate.submit(write) { return }
        fail(call.stream, overloaded("too many writes are waiting"))
    }

    private func database(_ number: UInt32) throws(ServiceError) -> DatabaseScope {
        try RequestParser(caller: identity.caller, limits: limits).database(number)
    }

    // MARK: Upload

    func beginUpload(_ call: Call) throws {
        let message = try UploadChunksRequest(wire: call.message)
        let kind = try database(message.database)
        let id = try Authorisation.database(kind, for: identity.caller)
        if let refusal = Authorisation.refusal(
            .create,
            in: id,
            creator: nil,
            by: identity.caller
        ) {
            throw refusal
        }
        guard let state = calls[call.stream] else { return }
        let window = max(limits.initialCredit, limits.uploadWindowBytes)
        state.upload = ChunkUpload(
            database: kind,
            scope: try callScope(call.header),
            credit: window
        )
        makeEndless(call.stream)
        sendCredit(window - limits.initialCredit, on: call.stream)
        if call.isEnd { endUpload(call.stream) }
        awaitMore(state)
    }

    /// The next message of a stream that a caller sends.
    func receive(_ frame: Frame, now: Instant) throws(ProtocolFault) {
        guard let call = calls[frame.stream], call.upload?.isEnd == false else {
            throw ProtocolFault(
                "a MESSAGE on stream \(frame.stream), which takes no more of them"
            )
        }
        let byteCount = frame.payload.count
        guard byteCount == 0 || call.upload?.credit ?? 0 > 0 else {
            throw ProtocolFault("a MESSAGE on stream \(frame.stream) without credit")
        }
        if byteCount > 0 {
            call.upload?.credit -= byteCount
            call.upload?.inProgress += 1
            store(frame.payload, call, frame.stream)
        }
        if frame.isEnd { endUpload(frame.stream) }
        awaitMore(call)
    }

    private func endUpload(_ stream: UInt32) {
        guard let call = calls[stream] else { return }
        call.upload?.isEnd = true
        finishUpload(stream)
    }

    /// Answers when all that came is durable.
    private func finishUpload(_ stream: UInt32) {
        guard let upload = calls[stream]?.upload, upload.isEnd, upload.inProgress == 0 else {
            return
        }
        finish(stream, [UploadChunksResponse(chunks: upload.stored).encoded()])
    }

    /// A caller that owes a message has so long to begin with it.
    private func awaitMore(_ call: CallState) {
        guard let upload = call.upload else { return }
        let isTheirTurn = upload.inProgress == 0 && !upload.isEnd
        call.upload?.stallDeadline =
            isTheirTurn ? node.environment.now() + limits.stalledStateMilliseconds : nil
    }

    /// Checks the chunks of a message, writes those that are missing, and enters them: on the
    /// threads of the asset store, and then the writer's.
    private func store(_ message: Bytes, _ call: CallState, _ stream: UInt32) {
        guard let upload = call.upload else { return }
        let (caller, token) = (identity.caller, call.token)
        let queued = QueuedBytes(message.count, in: room)
        let isQueued = node.assets.perform { [self] codec in
            defer { queued.release() }
            if let refusal = token.cancellation { return resume { $0.fail(stream, refusal) } }
            do {
                let chunks = try WireChunks(wire: message).chunks
                let missing = try missing(of: chunks, upload, caller)
                let size = MessageSize(bytes: message.count, chunks: UInt64(chunks.count))
                if missing.isEmpty { return resume { $0.stored(size, stream) } }
                let pack = try node.assets.pack(missing, codec)
                enter(pack, upload, caller, size, stream)
            } catch let error as MalformedMessage {
                let error = ServiceError(.invalidArguments, .protocolError, error.message)
                resume { $0.fail(stream, error) }
            } catch {
                let error = serviceError(error)
                resume { $0.fail(stream, error) }
            }
        }
        if !isQueued { fail(stream, overloaded("too many chunks are waiting")) }
    }

    private func missing(
        of chunks: [Chunk],
        _ upload: ChunkUpload,
        _ caller: Caller
    ) throws -> [Chunk] {
        if chunks.isEmpty { return [] }
        let reader = node.gate.latest(reach: .disk)
        guard let scope = try reader.scope(upload.scope) else {
            throw Containers.unknown(upload.scope.container)
        }
        return try StoreChunks.missing(
            of: chunks,
            in: upload.database,
            of: scope,
            by: caller,
            reader
        )
    }

    private func enter(
        _ pack: AssetStore.Pack,
        _ upload: ChunkUpload,
        _ caller: Caller,
        _ size: MessageSize,
        _ stream: UInt32
    ) {
        let request = WriteRequest(
            .storeChunks(
                StoreChunks(database: upload.database, chunks: pack.chunks, length: pack.length)
            ),
            scope: upload.scope,
            caller: caller
        )
        let token = CallToken(deadline: node.environment.now() + limits.callMilliseconds)
        let work = StoreGate.Work.request(request, token) { [self] answer in
            var refusal: ServiceError?
            switch answer {
            case .success(.stored(let outcome)):
                if !outcome.isUsed { node.assets.removeLater([pack.number]) }
                refusal = outcome.refusal?.error
            case .success: break
            case .failure(let error):
                node.assets.removeLater([pack.number])
                refusal = error
            }
            run { session in
                if let refusal { return session.fail(stream, refusal) }
                session.stored(size, stream)
            }
        }
        let write = StoreGate.QueuedWrite(work, byteCount: 64 * pack.chunks.count, loop: link.loop)
        guard node.gate.submit(write) else {
            node.assets.removeLater([pack.number])
            let error = overloaded("too many writes are waiting")
            return resume { $0.fail(stream, error) }
        }
    }

    /// A message's chunks are durable.
    private func stored(_ size: MessageSize, _ stream: UInt32) {
        guard let call = calls[stream], call.upload != nil else { return }
        call.upload?.inProgress -= 1
        call.upload?.stored += size.chunks
        call.upload?.credit += size.bytes
        if call.upload?.isEnd == false { sendCredit(size.bytes, on: stream) }
        awaitMore(call)
        finishUpload(stream)
    }

    // MARK: Download

    func downloadAsset(_ call: Call) throws {
        let message = try DownloadAssetRequest(wire: call.message)
        let kind = try database(message.database)
        let (offset, rest) = (message.offset, UInt64.max - message.offset)
        let length = message.length == 0 ? rest : min(message.length, rest)
        let skipped = Set(message.except)
        let caller = identity.caller
        let scope = try callScope(call.header)
        let began = node.environment.now()
        stream(call, scope) { [node] number, reader in
            let found = try node.find(message.asset, since: began) { read in
                try read.run(number, in: kind, by: caller, reader)
            }
            let range = found.list.chunks(holding: offset..<offset + length).chunks
            let wanted = AssetPages.distinct(range.map { $0 }, of: found.list, except: skipped)
            return AssetPages(
                node: node,
                found: found,
                asset: message.asset,
                chunks: message.onlyList ? [] : wanted,
                since: began
            )
        }
    }

    /// A node asks for what it lacks.
    func servePeerAsset(_ call: Call) throws {
        let message = try PeerAssetRequest(wire: call.message)
        let id = DatabaseID(
            kind: try database(message.database),
            owner: String(decoding: message.owner, as: UTF8.self)
        )
        let scope = try scope(call.header.container, call.header.environment)
        stream(call, scope) { [node] number, reader in
            let found = try node.find(message.asset, since: nil) { read in
                try read.find(number, in: id, reader)
            }
            let wanted = message.chunks.filter { found.list.entries.indices.contains($0) }
            return AssetPages(
                node: node,
                found: found,
                asset: message.asset,
                chunks: wanted,
                since: nil
            )
        }
    }

    private func stream(
        _ call: Call,
        _ scope: ScopeID,
        _ open: @escaping @Sendable (ScopeNumber, ReadTransaction) throws -> AssetPages
    ) {
        calls[call.stream]?.readsAssets = true
        makeEndless(call.stream, patience: limits.stalledStateMilliseconds)
        readLater(call.stream) { [node] in
            let reader = node.gate.latest(reach: .disk)
            guard let number = try reader.scope(scope) else {
                throw Containers.unknown(scope.container)
            }
            return try open(number, reader).first(reader)
        }
    }
}

/// An asset on its way to somebody: its list, then its chunks, page by page.
///
/// Every page looks anew where its chunks lie: they may move, and the asset may go.
struct AssetPages: Sendable {
    let node: Node
    let found: ReadAsset.Found
    let asset: Bytes
    /// Indexes into the list.
    let chunks: [Int]
    /// Since when the caller has waited for what is not here; nil: it doesn't.
    let since: Instant?

    /// Each chunk once, without those that the caller has.
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
        // Who wants the chunks doesn't wait for that.
        for entry in chunks.isEmpty ? found.list.distinct : [] {
            let row = try reader.chunk(entry.digest, in: found.database)
            answer.storedBytes += UInt64(row?.length ?? 0)
        }
        return page(answer, next: 0)
    }

    private func page(_ answer: DownloadAssetResponse, next index: Int) -> Page {
        guard index < chunks.count else { return Page(message: answer.encoded()) }
        return Page(message: answer.encoded()) { try read(from: index) }
    }

    private func read(from start: Int) throws -> Page {
        let reader = node.gate.latest(reach: .disk)
        var answer = DownloadAssetResponse()
        var (index, byteCount) = (start, 0)
        while index < chunks.count, byteCount < node.configuration.limits.answerBytes {
            let chunk: Chunk
            do {
                chunk = try read(found.list[chunks[index]].digest, reader)
            } catch {
                if answer.chunks.isEmpty { throw error }
                // What is here goes first; the next page meets the same.
                break
            }
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
        // What happened to one may have happened to all.
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
    /// Finds an asset for somebody who may wait for it if it has not come yet.
    fileprivate func find(
        _ asset: Bytes,
        since: Instant?,
        _ find: (ReadAsset) throws -> ReadAsset.Found
    ) throws -> ReadAsset.Found {
        do {
            return try find(ReadAsset(asset: asset))
        } catch let wanted as ReadAsset.Wanted {
            throw missing(AssetKey(database: wanted.database, asset: asset), since: since)
        }
    }

    /// What to throw where part of an asset is not here: it is fetched, and the page read again,
    /// unless that was in vain.
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
            // What can't be read now may be read later.
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
            if isPackThere { return try transaction.lose(digest, at: row, in: database) }
            try transaction.lose(pack: row.pack)
            return []
        } then: { [assets] outcome in
            if case .success(let freed) = outcome { assets.remove(freed) }
        }
        let write = StoreGate.QueuedWrite(.job(job), byteCount: 0, loop: InPlaceLoop.shared)
        _ = gate.submit(write)
    }
}
