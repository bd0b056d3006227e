// The open store: the sessions at the database, and this process's term.
//
// Shared by the engine and its snapshots; it is closed when the last of them is gone.

import CumulusModel
import CumulusStorage

final class PostgresStore: Sendable {
    let pool: SessionPool
    let writer: CommitWriter
    /// The number of this process, see `Term`.
    let process: Int64
    let lease: Lease

    init(_ pool: SessionPool, _ session: Session, process: Int64, lease: Lease) {
        self.pool = pool
        self.process = process
        self.lease = lease
        writer = CommitWriter(session, pool, process, lease)
    }

    /// Tells the next start that it need not wait; it finds out by itself, too.
    deinit {
        if !lease.isLost { writer.endTerm() }
    }

    /// Runs a change beside the commits, whose statement has the fence `Term.share`.
    ///
    /// It is durable when this returns, and may have been sent twice.
    func change(_ question: Question) throws(EngineError) -> Answer {
        if lease.isLost { throw .unavailable(Term.loss) }
        let outcome = try pool.use { session throws(StatementError) -> ChangeOutcome in
            do throws(StatementError) {
                return .done(try session.run(question.statement, question.parameters))
            } catch {
                guard error.isFull else { throw error }
                return .full(error.text)
            }
        }
        switch outcome {
        case .done(let answer):
            guard answer.count == 1 else {
                lease.lose()
                throw .unavailable(Term.loss)
            }
            return answer
        case .full(let text): throw .full("the disk of the database is full: \(text)")
        }
    }

    private enum ChangeOutcome: Sendable {
        case done(Answer)
        case full(String)
    }

    /// Throws unless nobody else had served from this store at some moment of this call.
    ///
    /// Asks the database if the process doesn't know; with `.memory` it throws `.notInMemory` then.
    func checkTerm(_ reach: Reach) throws(EngineError) {
        if lease.holds() { return }
        if lease.isLost { throw .unavailable(Term.loss) }
        guard reach == .disk else { throw .notInMemory }
        try giveSign()
    }

    /// Asks the database whether the term goes on, which is a sign of life, too; throws if it
    /// doesn't, or if nobody knows.
    func giveSign() throws(EngineError) {
        var parameters = Parameters()
        parameters.add(process)
        let asked = ContinuousClock.now
        let answer = try pool.use { session throws(StatementError) in
            try session.run(Term.sign, parameters)
        }
        guard answer.count == 1 else {
            lease.lose()
            throw .unavailable(Term.loss)
        }
        lease.prove(asked)
    }
}
