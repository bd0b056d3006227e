// One overlay, one batch, one flush, shared by all requests that were waiting.
//
// Driven by the node's writer thread, and in place by tests and the simulator. A request that is
// refused is rolled back and leaves no trace; outcomes count only once the batch is flushed.

import CumulusModel

package struct GroupCommit: ~Copyable {
    private let engine: any StorageEngine
    private var transaction: WriteTransaction
    /// Requests that are part of the batch.
    package private(set) var count = 0

    /// - Parameter earlier: The rows of the batch before, while the engine may not have them yet.
    package init(engine: any StorageEngine, state: WriterState, over earlier: Overlay? = nil) {
        self.engine = engine
        transaction = WriteTransaction(engine: engine, state: state, over: earlier)
    }

    /// There is nothing to commit.
    package var isEmpty: Bool { transaction.isEmpty }

    /// Whether further requests are to wait for the next batch.
    package var isFull: Bool { transaction.isFull }

    /// Bytes that the batch has gathered so far.
    package var byteCount: Int { transaction.byteCount }

    /// Runs a request.
    ///
    /// What it wrote stays only if it says so.
    ///
    /// An error of the engine rolls the request back too, and leaves the batch as it was.
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

    /// Ends the batch: the rows that the engine is to take, and the state once it has.
    package consuming func plan() -> (rows: Overlay, state: WriterState) {
        transaction.finish()
    }

    /// Commits the batch with one flush.
    ///
    /// Without writes nothing is flushed.
    ///
    /// An error means that the outcome is unknown: the process must end.
    package consuming func commit() throws(EngineError) -> WriterState {
        let engine = engine
        let (rows, state) = plan()
        if !rows.isEmpty { try engine.commit(rows.batch()) }
        return state
    }
}
