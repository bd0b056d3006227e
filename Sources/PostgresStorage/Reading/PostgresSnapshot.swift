// One state of the store, for as long as anybody reads it: a transaction on a session of its own.
//
// Made by the engine after each batch. Readers of one snapshot take turns. If its connection
// breaks, or a read fails, a new transaction is the same state as long as no batch was committed
// since: the number of the last one says so. Then the snapshot goes on, and otherwise its reads
// fail.

import CumulusModel
import CumulusStorage
import Synchronization

final class PostgresSnapshot: RowSource {
    private let store: PostgresStore
    /// The number of the last commit in it.
    private let batch: Int64
    /// nil where the connection broke and no other one showed the same state yet.
    private let session: Mutex<Session?>

    init(_ store: PostgresStore) throws(EngineError) {
        let (session, batch) = try PostgresSnapshot.begin(store)
        self.store = store
        self.batch = batch
        self.session = Mutex(session)
    }

    deinit {
        if let last = session.withLock({ $0 }) { end(last) }
    }

    private static func begin(_ store: PostgresStore) throws(EngineError) -> (Session, Int64) {
        if store.lease.isLost { throw .unavailable(Term.loss) }
        let session: Session
        do {
            session = try store.pool.take()
        } catch {
            throw .unavailable("\(error)")
        }
        if let batch = try attempt(session, store) { return (session, batch) }
        // Sessions that waited may all have broken.
        store.pool.forgetIdle()
        let other: Session
        do {
            other = try store.pool.connect()
        } catch {
            throw .unavailable("\(error)")
        }
        guard let batch = try attempt(other, store) else {
            throw .unavailable("the database breaks off each connection")
        }
        return (other, batch)
    }

    /// Begins the transaction; nil if the connection is broken.
    private static func attempt(
        _ session: Session,
        _ store: PostgresStore
    ) throws(EngineError) -> Int64? {
        let answer: Answer
        let asked = ContinuousClock.now
        do {
            answer = try session.run(Term.snapshot(store.process))
        } catch {
            if error.isLost { return nil }
            throw error.ofReading
        }
        guard answer.count == 1, let batch = Int64(answer.text(0, 0)) else {
            store.lease.lose()
            throw .unavailable(Term.loss)
        }
        store.lease.prove(asked)
        return batch
    }

    // MARK: Reads

    /// What this transaction shows is the newest state only as long as nobody else commits.
    func ask(_ questions: [Question]) throws(EngineError) -> [Answer] {
        let answers = try answers(to: questions)
        try store.checkTerm(.disk)
        return answers
    }

    private func answers(to questions: [Question]) throws(EngineError) -> [Answer] {
        try session.withLock { held throws(EngineError) in
            for _ in 0..<2 {
                let session = if let held { held } else { try resumed() }
                held = session
                do throws(StatementError) {
                    return try session.run(questions)
                } catch {
                    // After an error PostgreSQL answers nothing more in this transaction.
                    held = nil
                    guard error.isLost else {
                        end(session)
                        throw error.ofReading
                    }
                }
            }
            throw .unavailable("the database breaks off each connection")
        }
    }

    private func resumed() throws(EngineError) -> Session {
        let (session, batch) = try PostgresSnapshot.begin(store)
        if batch == self.batch { return session }
        end(session)
        throw .unavailable("a read of the database failed, and what it showed is past: ask again")
    }

    /// Ends the transaction of a session, which is used again.
    ///
    /// Nobody waits for that: this may be an event loop.
    private func end(_ session: Session) {
        if session.send("ROLLBACK") { store.pool.give(session) }
    }
}
