// A database for one test, on the server of this process.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Foundation
import Testing

@testable import PostgresStorage

/// Why suites are skipped.
let noServer = Comment(rawValue: PostgresServer.missing)

struct TestDatabase: Sendable {
    private let server: PostgresServer
    let name: String

    /// - Parameter server: nil means the server that all tests share.
    init(owner: String = "postgres", on server: PostgresServer? = nil) throws {
        let server = try server ?? PostgresServer.running()
        self.server = server
        name = try server.makeDatabase(owner: owner)
    }

    private init(server: PostgresServer, name: String) {
        (self.server, self.name) = (server, name)
    }

    /// A copy of it, which nobody may use meanwhile.
    func copy() throws -> TestDatabase {
        TestDatabase(server: server, name: try server.copy(of: name))
    }

    func address(
        user: String = "postgres",
        password: String? = nil
    ) throws(PostgresError) -> PostgresAddress {
        try PostgresAddress(server.url(of: name, user: user), password: password)
    }

    func open(
        user: String = "postgres",
        password: String? = nil,
        patience: Duration = .seconds(10),
        queueing: Duration? = nil,
        whenLost: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(PostgresError) -> PostgresEngine {
        try PostgresEngine(
            address(user: user, password: password),
            patience: patience,
            queueing: queueing,
            whenLost: whenLost
        )
    }

    /// What opening fails with.
    func refusal(user: String = "postgres", password: String? = nil) throws -> PostgresError {
        do {
            _ = try open(user: user, password: password, patience: .zero)
        } catch {
            return error
        }
        return try #require(nil, "the store opened")
    }

    func session() throws -> Session { try Session(address(), application: "test") }

    /// A process that has asked nothing for an hour, with a session of it.
    func silentProcess(_ id: Int64 = 5) throws -> Session {
        let session = try Session(address(), application: Term.application(id))
        _ = try session.run(
            """
            INSERT INTO cumulus_process (id, epoch, batch, alive, expires, endpoint)
            VALUES (\(id), 1, 0, true, now() - interval '1 h', 'silent')
            """
        )
        return session
    }

    @discardableResult
    func run(_ text: String) throws -> Answer { try session().run(text) }

    /// Ends all sessions of engines, as an operator or a restart of the server would.
    func endSessions() throws {
        try run(
            """
            SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name LIKE 'cumulusd %'
            """
        )
    }

    /// Opens the store although a process holds it, which gives signs of life, perhaps just before.
    func takeOver() throws -> PostgresEngine {
        for _ in 0..<20 {
            try endSessions()
            do {
                return try open(queueing: .zero)
            } catch {
                guard case .inUse = error else { throw error }
            }
        }
        return try #require(nil, "the process was always alive")
    }

    /// Waits until a query has an answer, which takes some milliseconds.
    func waitFor(_ query: String) async throws {
        let session = try session()
        for _ in 0..<1_000 {
            if try session.run(query).count > 0 { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        try #require(Bool(false), "no row for \(query)")
    }
}

/// Runs work that blocks, while the test goes on.
func inThread<Value: Sendable>(
    _ work: @escaping @Sendable () throws -> Value
) -> Task<Value, any Error> {
    Task {
        try await withCheckedThrowingContinuation { waiting in
            DispatchQueue.global().async { waiting.resume(with: Result { try work() }) }
        }
    }
}

extension EngineBatch {
    static func writing(_ family: Family, _ rows: [(Bytes, Bytes)]) -> EngineBatch {
        var batch = EngineBatch()
        batch.writes = rows.map { Write(family: family, key: $0.0, value: $0.1) }
        return batch
    }
}

extension EngineReader {
    func count(_ family: Family) throws -> Int {
        var count = 0
        try scan(family, .everything, backwards: false) { _, _ in
            count += 1
            return true
        }
        return count
    }
}

func bytes(_ number: Int) -> Bytes {
    withUnsafeBytes(of: UInt32(number).bigEndian) { Bytes($0) }
}

/// The text of an error of the engine that ends the process, or says that reads may succeed later.
func failure(_ work: () throws -> Void) throws -> String {
    let error = try #require(throws: EngineError.self) { try work() }
    switch error {
    case .failed(let text), .unavailable(let text): return text
    default: throw error
    }
}
