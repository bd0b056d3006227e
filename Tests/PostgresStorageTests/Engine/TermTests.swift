// One process writes to a store: a second one is refused, and one that was believed dead is fenced
// off.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Foundation
import Synchronization
import Testing

@testable import PostgresStorage

@Suite(.enabled(if: PostgresServer.isInstalled, noServer))
struct TermTests {
    @Test func aSecondProcessIsRefused() throws {
        let database = try TestDatabase()
        let engine = try database.open()
        let refusal = try database.refusal()
        guard case .inUse(_, let process) = refusal else { throw refusal }
        #expect(process.hasSuffix(", process \(getpid())"))
        #expect("\(refusal)".contains("in use by another cumulusd"))
        try engine.commit(.writing(.meta, [([1], [1])]))
    }

    @Test func aStartAfterAnEndNeedsNoWait() throws {
        let database = try TestDatabase()
        for number in 0..<3 {
            let engine = try database.open(patience: .seconds(3))
            #expect(engine.isNew == (number == 0))
            #expect(engine.notes == [])
            #expect(try engine.count(.meta) == number)
            try engine.commit(.writing(.meta, [(bytes(number), [])]))
            _ = try engine.snapshot()
        }
    }

    @Test func aStoreKeepsItsName() throws {
        let database = try TestDatabase()
        let first = try database.open().name
        #expect(first.count == 32)
        #expect(try database.open().name == first)
        #expect(try TestDatabase().open().name != first)
    }

    /// The process that is fenced off learns it from its next commit, or within a second.
    @Test func aProcessThatWasTakenForDeadIsFencedOff() async throws {
        let database = try TestDatabase()
        let words = Mutex("")
        let first = try database.open { text in words.withLock { $0 = text } }
        try first.commit(.writing(.meta, [([1], [1])]))
        let second = try takeOver(database)
        #expect(second.notes.count == 1)
        let text = try failure { try first.commit(.writing(.meta, [([1], [2])])) }
        #expect(text == Term.loss)
        #expect(try second.get(.meta, [1], reach: .disk) == [1])
        for _ in 0..<500 where words.withLock({ $0.isEmpty }) {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(words.withLock { $0 } == Term.loss)
        #expect(try failure { _ = try first.get(.meta, [1], reach: .disk) } == Term.loss)
        #expect(try failure { _ = try first.snapshot() } == Term.loss)
        try second.commit(.writing(.meta, [([1], [3])]))
        #expect(try second.get(.meta, [1], reach: .disk) == [3])
    }

    /// The first process gives a sign of life each second, perhaps just before the start.
    private func takeOver(_ database: TestDatabase) throws -> PostgresEngine {
        for _ in 0..<20 {
            try database.endSessions()
            do {
                return try database.open(patience: .zero)
            } catch {
                guard case .inUse = error else { throw error }
            }
        }
        return try #require(nil, "the process was always alive")
    }

    /// A process that was stopped keeps its sessions, and asks nothing for 4 s.
    @Test func aSilentProcessIsTakenForDead() throws {
        let database = try TestDatabase()
        try database.open().commit(.writing(.meta, [([1], [1])]))
        let silent = try Session(database.address(), application: Term.application(5))
        _ = try silent.run(
            """
            INSERT INTO cumulus_process (id, epoch, batch, alive, expires, endpoint)
            VALUES (5, 1, 0, true, now() - interval '1 h', 'silent')
            """
        )
        let refusal = try database.refusal()
        guard case .inUse(_, "silent") = refusal else { throw refusal }
        let engine = try database.open()
        #expect(engine.notes.count == 1)
        #expect(engine.notes.first?.contains("(silent)") == true)
        #expect(throws: StatementError.self) { _ = try silent.run("SELECT 1") }
    }

    /// A commit that waits at the server keeps others out, however long it takes.
    @Test func aLongCommitIsNoSilence() async throws {
        let database = try TestDatabase()
        let engine = try database.open()
        let blocker = try database.session()
        _ = try blocker.run("BEGIN; LOCK TABLE cumulus_meta IN EXCLUSIVE MODE")
        let commit = inThread { try engine.commit(.writing(.meta, [([1], [1])])) }
        try await database.waitFor(
            """
            SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'cumulusd %'
            AND datname = current_database() AND wait_event_type = 'Lock'
            """
        )
        let refusal = try database.refusal()
        guard case .inUse = refusal else { throw refusal }
        _ = try blocker.run("ROLLBACK")
        try await commit.value
        #expect(try engine.get(.meta, [1], reach: .disk) == [1])
    }
}
