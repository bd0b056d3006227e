// Enters the chunks of one durable pack into a database, for a caller who sent them.
//
// Run by the writer. A chunk that no prepared asset contains is refused: so nobody fills the disk
// with what would never be collected, and the asset that it was for has expired.

package import CumulusModel
package import CumulusStorage

package struct StoreChunks: Sendable {
    package var database: DatabaseScope
    package var chunks: [PackedChunk]
    /// Bytes of the pack.
    package var length: Int

    package init(database: DatabaseScope, chunks: [PackedChunk], length: Int) {
        self.database = database
        self.chunks = chunks
        self.length = length
    }

    package struct Outcome: Hashable, Sendable {
        /// nil: all of them are here now.
        package var refusal: ModifyOutcome.Failure?
        /// If not, the pack's file is of no use.
        package var isUsed: Bool
    }

    package func run(
        _ scope: ScopeNumber,
        by caller: Caller,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Outcome {
        let id: DatabaseID
        do throws(ServiceError) {
            id = try Authorisation.database(database, for: caller)
            if let refusal = Authorisation.refusal(.create, in: id, creator: nil, by: caller) {
                throw refusal
            }
        } catch {
            return Outcome(refusal: ModifyOutcome.Failure(error), isUsed: false)
        }
        guard let number = try transaction.database(scope, id) else {
            return Outcome(refusal: StoreChunks.unwanted(chunks.first?.digest ?? []), isUsed: false)
        }
        let (isHere, isUsed) = try transaction.enter(chunks, length: length, in: number)
        let lost = zip(chunks, isHere).first { !$0.1 }
        return Outcome(refusal: lost.map { StoreChunks.unwanted($0.0.digest) }, isUsed: isUsed)
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
