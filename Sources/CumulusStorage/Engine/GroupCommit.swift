// Gathers the requests that are waiting into one overlay, one batch and one flush.
//
// The node's writer thread drives it; tests and the simulator run it in place. A refused request is
// rolled back and leaves no trace. Outcomes are valid only once the batch is flushed.

import CumulusModel

package struct GroupCommit: ~Copyable {
    private let engine: any StorageEngine
    private var transaction: WriteTransaction
    /// Number of requests in the batch.
    package private(set) var count = 0

    /// - Parameter earlier: Rows of the previous batch, which the engine may not have yet.
    package init(engine: any StorageEngine, state: WriterState, over earlier: Overlay? = nil) {
        self.engine = engine
        transaction = WriteTransaction(engine: engine, state: state, over: earlier)
    }

    /// True if there is nothing to commit.
    package var isEmpty: Bool { transaction.isEmpty }

    /// Whether further requests are to wait for the next batch.
    package var isFull: Bool { transaction.isFull }

    /// Bytes that the batch has gathered so far.
    package var byteCount: Int { transaction.byteCount }

    /// Reads rows together that requests of the batch will probably ask for.
    package mutating func readAhead(
        _ likely: (borrowing WriteTransaction) throws(EngineError) -> [RowKey]
    ) throws(EngineError) {
        let keys = try likely(transaction)
        try transaction.readAhead(keys)
    }

    /// Runs a request.
    ///
    /// Its writes stay only if the request says so.
    ///
    /// An error of the engine also rolls the request back and leaves the batch as it was.
    package mutating func run<Outcome>(
        now: Int64,
        _ request: (inout WriteTransaction) throws(EngineError) -> (Outcome, keep: Bool)
    ) throws(EngineError) -> Outcome {
        let point = transaction.savePoint
        transaction.begin(now: now)
        do {
            let (outcome, keep) = try request(&transaction)
            if keep {
                count += 1
            } else {
                transaction.rollBack(to: point)
            }
            return outcome
        } catch {
            transaction.rollBack(to: point)
            throw error
        }
    }

    /// Ends the batch: returns the rows for the engine, and the state that follows once it has
    /// them.
    package consuming func plan() -> (rows: Overlay, state: WriterState) {
        transaction.finish()
    }

    /// Commits the batch with one flush.
    ///
    /// An empty batch is not flushed.
    ///
    /// An error means that the outcome is unknown: the process must end.
    package consuming func commit() throws(EngineError) -> WriterState {
        let engine = engine
        let (rows, state) = plan()
        if !rows.isEmpty { try engine.commit(rows.batch()) }
        return state
    }
}
