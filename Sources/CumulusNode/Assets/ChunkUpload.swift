// An upload: a stream of messages, each of which becomes a pack.
//
// Made by `AssetCalls`, driven by the call's frames on the connection's loop. Credit comes back
// when a message is durable, so credit also tells the caller how far it is. hot: once per message.

import CumulusAssets
import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

final class ChunkUpload: CallInput, @unchecked Sendable {
    // Its counters are confined to the connection's loop.

    private let context: CallContext
    private let database: DatabaseScope
    /// The zone of the records that will name the assets, in the shared database; nil elsewhere.
    private let zone: ZoneAddress?
    private let scope: ScopeID
    /// Bytes that the caller may still send.
    private var credit: Int
    /// Messages on their way to the disk.
    private var inProgress = 0
    /// Chunks that are durable.
    private var stored: UInt64 = 0
    /// The caller has sent all.
    private var isEnd = false
    private(set) var deadline: Instant?

    /// How much came in one message.
    private struct MessageSize: Sendable {
        let bytes: Int
        let chunks: UInt64
    }

    init(
        _ context: CallContext,
        database: DatabaseScope,
        zone: ZoneAddress?,
        scope: ScopeID,
        credit: Int
    ) {
        self.context = context
        self.database = database
        self.zone = zone
        self.scope = scope
        self.credit = credit
    }

    private var node: Node { context.node }
    private var limits: Limits { context.limits }
    private var stream: UInt32 { context.call.stream }

    // MARK: On the loop

    /// - Parameter isEnd: The caller sends nothing at all.
    func begin(isEnd: Bool) {
        if isEnd { end() }
        awaitMore()
    }

    func receive(_ message: Bytes, isEnd: Bool) throws(ProtocolFault) {
        guard !self.isEnd else {
            throw ProtocolFault("a MESSAGE on stream \(stream), which takes no more of them")
        }
        guard message.isEmpty || credit > 0 else {
            throw ProtocolFault("a MESSAGE on stream \(stream) without credit")
        }
        if !message.isEmpty {
            credit -= message.count
            inProgress += 1
            store(message)
        }
        if isEnd { end() }
        awaitMore()
    }

    private func end() {
        isEnd = true
        finishIfStored()
    }

    /// Answers when all received chunks are durable.
    private func finishIfStored() {
        guard isEnd, inProgress == 0 else { return }
        context.finish([UploadChunksResponse(chunks: stored).encoded()])
    }

    /// Gives a caller that owes a message so long to begin with it.
    private func awaitMore() {
        let isTheirTurn = inProgress == 0 && !isEnd
        deadline = isTheirTurn ? node.environment.now() + limits.stalledStateMilliseconds : nil
    }

    /// A message's chunks are durable.
    private func stored(_ size: MessageSize) {
        inProgress -= 1
        stored += size.chunks
        credit += size.bytes
        if !isEnd { context.sendCredit(size.bytes) }
        awaitMore()
        finishIfStored()
    }

    // MARK: On the threads of the store

    /// Checks the chunks of a message, writes the missing ones, and enters them: first on the
    /// threads of the asset store, then in the writer.
    private func store(_ message: Bytes) {
        let queued = context.queued(message.count)
        let isQueued = node.assets.perform { [self] codec in
            defer { queued.release() }
            if let refusal = context.token.cancellation { return fail(refusal) }
            do {
                let chunks = try WireChunks(wire: message).chunks
                let missing = try missing(of: chunks)
                let size = MessageSize(bytes: message.count, chunks: UInt64(chunks.count))
                if missing.isEmpty { return succeed(size) }
                let compresses = context.identity.wantsPlainChunks
                enter(try node.assets.pack(missing, codec, compresses: compresses), size)
            } catch let error as MalformedMessage {
                fail(ServiceError(.invalidArguments, .protocolError, error.message))
            } catch {
                fail(node.serviceError(error))
            }
        }
        if !isQueued { context.fail(.overloaded("too many chunks are waiting")) }
    }

    private func fail(_ error: ServiceError) {
        context.onLoop { [context] in context.fail(error) }
    }

    private func succeed(_ size: MessageSize) {
        context.onLoop { [self] in
            if context.isInProgress { stored(size) }
        }
    }

    private func missing(of chunks: [Chunk]) throws -> [Chunk] {
        if chunks.isEmpty { return [] }
        let reader = node.gate.latest(reach: .disk)
        guard let number = try reader.scope(scope) else {
            throw Containers.unknown(scope.container)
        }
        return try EnterChunks.missing(
            of: chunks,
            in: database,
            zone,
            of: number,
            by: context.caller,
            limits,
            reader
        )
    }

    /// Enters a pack's chunks into the store.
    private func enter(_ pack: AssetStore.Pack, _ size: MessageSize) {
        let chunks = EnterChunks(
            database: database,
            zone: zone,
            chunks: pack.chunks,
            length: pack.length
        )
        // What came is entered even if the call ends meanwhile.
        let token = CallToken(deadline: node.environment.now() + limits.callMilliseconds)
        let byteCount = 64 * pack.chunks.count
        let isQueued = context.queue(chunks, in: scope, token, byteCount: byteCount) {
            [self] answer in
            if let refusal = refusal(answer, of: pack) { return fail(refusal) }
            succeed(size)
        }
        if isQueued { return }
        node.assets.removeLater([pack.number])
        fail(.tooManyWrites)
    }

    /// Why a pack was not entered; nil if it was.
    ///
    /// Removes the pack if no row names it.
    private func refusal(
        _ answer: Result<EnterChunks.Outcome, ServiceError>,
        of pack: AssetStore.Pack
    ) -> ServiceError? {
        switch answer {
        case .success(let outcome):
            if !outcome.isUsed { node.assets.removeLater([pack.number]) }
            return outcome.refusal?.error
        case .failure(let error):
            node.assets.removeLater([pack.number])
            return error
        }
    }
}
