// The open store: the sessions at the database, and this process's term.
//
// Shared by the engine and its snapshots; it is closed when the last of them is gone.

import CumulusModel
import CumulusStorage
import Synchronization

final class PostgresStore: Sendable {
    let pool: SessionPool
    let writer: CommitWriter
    /// The number of this process, see `Term`.
    let process: Int64
    private let isFenced = Atomic<Bool>(false)

    init(_ pool: SessionPool, _ session: Session, process: Int64) {
        self.pool = pool
        self.process = process
        writer = CommitWriter(session, pool, process)
    }

    /// Tells the next start that it need not wait; it finds out by itself, too.
    deinit {
        if !isFenced.load(ordering: .relaxed) { writer.end() }
    }

    /// Throws once another process has taken the store over.
    func checkTerm() throws(EngineError) {
        if isFenced.load(ordering: .relaxed) { throw .failed(Term.loss) }
    }

    /// Runs a change beside the commits, whose statement has the fence `Term.share`.
    ///
    /// It is durable when this returns, and may have been sent twice.
    func change(_ question: Question) throws(EngineError) -> Answer {
        try checkTerm()
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
            guard answer.count == 1 else { throw .failed(Term.loss) }
            return answer
        case .full(let text): throw .full("the disk of the database is full: \(text)")
        }
    }

    private enum ChangeOutcome: Sendable {
        case done(Answer)
        case full(String)
    }

    /// Gives a sign of life; returns false once another process has taken the store over.
    ///
    /// A database that can't be reached is asked again a second later.
    func giveSign() -> Bool {
        var parameters = Parameters()
        parameters.add(process)
        let answer = try? pool.use { session throws(StatementError) in
            try session.run(Term.sign, parameters)
        }
        guard answer?.count == 0 else { return true }
        isFenced.store(true, ordering: .relaxed)
        return false
    }
}
