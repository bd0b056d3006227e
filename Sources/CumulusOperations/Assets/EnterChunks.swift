// Enters the chunks of one durable pack into a database, for the caller who sent them.
//
// A snapshot shows which chunks of a message have to be stored, before a chunk of it is expanded.
// Once these lie in a pack, the writer looks again and enters them. A message with a chunk that no
// prepared asset contains is refused as a whole: the asset that it was for has expired, or never
// was. So nobody fills the disk with what would never be collected. In the public database and in
// another user's the caller itself must have prepared the asset, and has to send even what others
// have sent: that is written to a pack, but then only the caller's lease is new.

package import CumulusAssets
package import CumulusModel
package import CumulusStorage

package struct EnterChunks: ContainerChange {
    package var database: DatabaseScope
    /// The zone that the chunks are for; set in the shared database only.
    package var zone: ZoneAddress?
    package var chunks: [PackedChunk]
    /// The length of the pack in bytes.
    package var length: Int

    package init(
        database: DatabaseScope,
        zone: ZoneAddress? = nil,
        chunks: [PackedChunk],
        length: Int
    ) {
        self.database = database
        self.zone = zone
        self.chunks = chunks
        self.length = length
    }

    package struct Outcome: Hashable, Sendable {
        /// Why the message is refused; nil means that all chunks are here now.
        package var refusal: ModifyOutcome.Failure?
        /// Whether the pack is used; if not, its file can go.
        package var isUsed: Bool

        package init(refusal: ModifyOutcome.Failure?, isUsed: Bool) {
            self.refusal = refusal
            self.isUsed = isUsed
        }
    }

    package func keeps(_ outcome: Outcome) -> Bool { outcome.refusal == nil }

    package func run(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<Outcome, ServiceError> {
        .success(try enter(for: asker.caller, in: scope, &transaction))
    }

    private func enter(
        for caller: Caller,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Outcome {
        let place: AssetPlace
        switch try transaction.assetPlace(in: database, zone, of: scope, by: caller) {
        case .success(let found): place = found
        case .failure(let error):
            return Outcome(refusal: ModifyOutcome.Failure(error), isUsed: false)
        }
        guard let number = try transaction.database(scope, place.database) else {
            return Outcome(refusal: EnterChunks.unwanted(chunks.first?.digest ?? []), isUsed: false)
        }
        let entries = chunks.map(\.entry)
        let holder =
            place.needsClaims ? Leaseholder(database: number, user: caller.user) : nil
        if let holder, let unwanted = try transaction.sift(entries, of: holder).unwanted {
            return Outcome(refusal: EnterChunks.unwanted(unwanted), isUsed: false)
        }
        let (wanted, unwanted) = try transaction.sift(entries, in: number)
        if let unwanted {
            return Outcome(refusal: EnterChunks.unwanted(unwanted), isUsed: false)
        }
        let missing = chunks.filter { wanted.contains($0.digest) }
        DatabaseAssets(of: number).enter(missing, length: length, &transaction)
        if let holder {
            for chunk in chunks { try holder.hold(chunk.digest, &transaction) }
        }
        return Outcome(refusal: nil, isUsed: !missing.isEmpty)
    }

    // MARK: Before the writer's turn

    /// The chunks of a message that have to be stored; throws if the message is to be refused.
    package static func missing(
        of chunks: [Chunk],
        in database: DatabaseScope,
        _ zone: ZoneAddress? = nil,
        of scope: ScopeNumber,
        by caller: Caller,
        _ limits: Limits,
        _ reader: ReadTransaction
    ) throws -> [Chunk] {
        try check(chunks, limits)
        let place = try reader.assetPlace(in: database, zone, of: scope, by: caller).get()
        guard let number = try reader.database(scope, place.database) else {
            throw unwanted(chunks.first?.digest ?? []).error
        }
        let entries = chunks.map { ChunkList.Entry(digest: $0.digest, size: $0.size) }
        let (wanted, unwanted) =
            place.needsClaims
            ? try reader.sift(entries, of: Leaseholder(database: number, user: caller.user))
            : try reader.sift(entries, in: number)
        if let unwanted { throw EnterChunks.unwanted(unwanted).error }
        return chunks.filter { wanted.contains($0.digest) }
    }

    private static func check(_ chunks: [Chunk], _ limits: Limits) throws(ServiceError) {
        var seen: Set<Bytes> = []
        for chunk in chunks {
            guard chunk.isWellFormed else {
                throw ServiceError(.invalidArguments, .invalidValue, Chunk.shape)
            }
            guard seen.insert(chunk.digest).inserted else {
                throw ServiceError(
                    .invalidArguments,
                    .invalidValue,
                    "chunk \(chunk.digest.hex) stands twice in one message"
                )
            }
        }
        let byteCount = chunks.reduce(0) { $0 + $1.size }
        let (mostChunks, mostBytes) = (limits.chunksPerMessage, limits.chunkBytesPerMessage)
        guard chunks.count <= mostChunks, byteCount <= mostBytes else {
            throw ServiceError(
                .limitExceeded,
                .tooLarge,
                """
                a message has \(chunks.count) chunks of \(byteCount) plain bytes; the limits are \
                \(mostChunks) chunks and \(mostBytes) bytes: send them in several
                """
            )
        }
    }

    private static func unwanted(_ digest: Bytes) -> ModifyOutcome.Failure {
        let error = ServiceError(
            .invalidArguments,
            .assetNotPrepared,
            """
            no asset that was prepared in this database has the chunk \(digest.hex); prepare the \
            asset, and then send what is missing
            """
        )
        return ModifyOutcome.Failure(error)
    }
}
