// Commits batches on a connection of its own, one after another, and finds out what became of one
// whose reply was lost.
//
// Owned by `PostgresStore`; the node's writer calls it through the engine. A commit that returns is
// durable. `.full` means that nothing of it was written. Every other error ends the process;
// `.unavailable` says that another one has taken the store over.
//
// Folder: how batches are committed, and the right to do so. Read `CommitWriter`, then
// `CommitStatement`, `RangePieces`, `Term` and `Lease`.

import CumulusModel
import CumulusStorage
import CumulusSystem

final class CommitWriter: @unchecked Sendable {
    // Two threads take turns to write, and each turn begins when the one before it has ended.

    private let pool: SessionPool
    private var session: Session?
    private var term: Term
    private let lease: Lease

    /// How often a batch is sent that was not there when its reply was lost.
    private static let mostAttempts = 5
    private static let pause: UInt32 = 20_000

    init(_ session: Session, _ pool: SessionPool, _ process: Int64, _ lease: Lease) {
        self.session = session
        self.pool = pool
        self.lease = lease
        term = Term(id: process)
    }

    /// Commits a batch.
    ///
    /// It is sent again where it certainly isn't there. Nobody has seen it before, since one
    /// process alone reads a store, and shows nothing of a batch before this returns.
    func write(_ batch: EngineBatch) throws(EngineError) {
        if batch.isEmpty { return }
        for _ in 0..<CommitWriter.mostAttempts {
            let isWritten: Bool
            do {
                isWritten = try send(batch)
            } catch {
                if try isThere(after: error) { return }
                continue
            }
            guard isWritten else { throw lost() }
            term.batch += 1
            return
        }
        throw .failed("the database broke off a commit \(CommitWriter.mostAttempts) times")
    }

    /// Returns false if another process has taken the store over.
    private func send(_ batch: EngineBatch) throws(StatementError) -> Bool {
        guard let session else {
            throw StatementError(state: "", text: "there is no connection", isLost: true)
        }
        let commit = CommitStatement(batch, term)
        let asked = ContinuousClock.now
        guard try session.run(commit.statement, commit.parameters).count == 1 else { return false }
        lease.prove(asked)
        return true
    }

    private func lost() -> EngineError {
        lease.lose()
        return .unavailable(Term.loss)
    }

    /// Whether the batch is durable although there was an error.
    ///
    /// Throws unless it is, or may be sent again.
    private func isThere(after error: StatementError) throws(EngineError) -> Bool {
        if error.isLost { return try isThere() }
        if error.isFull { throw .full("the disk of the database is full: \(error.text)") }
        guard error.isPassing else {
            throw .failed("the database refused a commit: \(error.text)\(error.advice)")
        }
        usleep(CommitWriter.pause)
        return false
    }

    /// Ends the term, if the database can be told; no batch is written after that.
    func endTerm() {
        _ = try? session?.run(Term.ending(term.id))
    }

    // MARK: Lost replies

    /// Whether the commit after the last one is durable, after its reply was lost.
    ///
    /// The epoch rises first, so that nothing that is still on its way is written later. If even
    /// the last commit isn't there, the database went back to an earlier state.
    private func isThere() throws(EngineError) -> Bool {
        session = nil
        pool.forgetIdle()
        let (session, answer) = try settle()
        self.session = session
        guard answer.count == 1 else { throw lost() }
        term.epoch = answer.number(0, 0)
        let found = answer.number(0, 1)
        if found == term.batch + 1 {
            term.batch = found
            return true
        }
        guard found == term.batch else {
            throw .failed(
                """
                the database went back: it has commit \(found) of this process, and \(term.batch) \
                was acknowledged; was a backup restored, or did a standby take over that lacked \
                the last commits?
                """
            )
        }
        return false
    }

    private func settle() throws(EngineError) -> (Session, Answer) {
        var parameters = Parameters()
        parameters.add(term.id)
        for _ in 0..<CommitWriter.mostAttempts {
            let session: Session
            do {
                session = try pool.connect()
            } catch {
                throw .failed("\(error)")
            }
            do {
                return (session, try session.run(Term.settling, parameters))
            } catch {
                guard error.isLost else { throw error.ofReading }
            }
        }
        throw .failed("the database breaks off each connection")
    }
}
