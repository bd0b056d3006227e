// Sessions that wait for their next use, and new ones where none waits.
//
// Readers and snapshots take sessions here and give them back. There is no bound on sessions in
// use: a thread that waited for one might wait for itself. The server has its own bound.

import CumulusStorage
import CumulusSystem
import Synchronization

final class SessionPool: Sendable {
    private let address: PostgresAddress
    /// The name by which the server, and other processes, know our sessions.
    let application: String
    /// How long an attempt to connect is repeated, while the database starts again.
    let patience: Duration
    private let idle = Mutex<[Session]>([])

    /// Sessions beyond this number are closed when they come back.
    private static let mostIdle = 16
    private static let pause: UInt32 = 100_000

    init(_ address: PostgresAddress, application: String, patience: Duration) {
        self.address = address
        self.application = application
        self.patience = patience
    }

    /// A session for the caller alone.
    func take() throws(PostgresError) -> Session {
        if let session = waiting() { return session }
        return try connect()
    }

    /// A session that waits for its next use, if there is one.
    func waiting() -> Session? { idle.withLock { $0.popLast() } }

    /// A new session; repeated for a while where that can help.
    func connect() throws(PostgresError) -> Session {
        let start = ContinuousClock.now
        while true {
            do {
                return try Session(address, application: application)
            } catch {
                guard case .unreachable = error, .now - start < patience else { throw error }
                usleep(SessionPool.pause)
            }
        }
    }

    func give(_ session: Session) {
        // A session that is left over is closed outside the lock.
        let rest = idle.withLock { idle -> Session? in
            guard idle.count < SessionPool.mostIdle else { return session }
            idle.append(session)
            return nil
        }
        _ = consume rest
    }

    /// Closes the sessions that wait: where one connection broke, the others did too.
    func forgetIdle() {
        let old = idle.withLock { idle in
            defer { idle = [] }
            return idle
        }
        _ = consume old
    }

    /// Runs work that may be repeated; once more on a new connection, if the first one broke.
    func use<Value: Sendable>(
        _ work: (Session) throws(StatementError) -> Value
    ) throws(EngineError) -> Value {
        do {
            return try attempt(take: take, work)
        } catch .broken {
            forgetIdle()
        } catch {
            throw error.ofEngine
        }
        do {
            return try attempt(take: connect, work)
        } catch {
            throw error.ofEngine
        }
    }

    private func attempt<Value: Sendable>(
        take: () throws(PostgresError) -> Session,
        _ work: (Session) throws(StatementError) -> Value
    ) throws(Failure) -> Value {
        let session: Session
        do {
            session = try take()
        } catch {
            throw .refused(error)
        }
        do {
            let value = try work(session)
            give(session)
            return value
        } catch {
            if error.isLost { throw .broken(error) }
            give(session)
            throw .statement(error)
        }
    }

    private enum Failure: Error {
        case refused(PostgresError)
        case broken(StatementError)
        case statement(StatementError)

        var ofEngine: EngineError {
            switch self {
            case .refused(let error): .unavailable("\(error)")
            case .broken(let error), .statement(let error): error.ofReading
            }
        }
    }
}
