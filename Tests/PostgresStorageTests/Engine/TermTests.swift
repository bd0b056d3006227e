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

    /// The process that is fenced off learns it from its next commit, or at once by itself.
    ///
    /// As soon as the other one serves, it answers nothing from memory.
    @Test func aProcessThatWasTakenForDeadIsFencedOff() async throws {
        let database = try TestDatabase()
        let words = Mutex("")
        let first = try database.open { text in words.withLock { $0 = text } }
        try first.commit(.writing(.meta, [([1], [1])]))
        let second = try database.takeOver()
        #expect(second.notes.count == 1)
        #expect(throws: EngineError.self) { try first.checkTerm(.memory) }
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

    /// A process was stopped while its statement was on its way, and another one has the store
    /// since.
    ///
    /// Without the fence, acknowledged rows are lost: the second case shows that this is noticed.
    @Test(arguments: [true, false])
    func aStatementThatComesLateWritesNothing(isFenced: Bool) throws {
        let database = try TestDatabase()
        let first = try database.open()
        try first.commit(.writing(.meta, [([1], [1])]))
        let number = try database.run("SELECT id FROM cumulus_process").text(0, 0)
        let term = Term(id: try #require(Int64(number)), batch: 1)
        var batch = EngineBatch.writing(.meta, [([1], [2]), ([2], [2])])
        batch.deletedRanges = [(.log, .everything)]
        let late = CommitStatement(batch, term, isFenced: isFenced)

        let second = try database.takeOver()
        try second.commit(.writing(.meta, [([1], [3])]))
        try second.commit(.writing(.log, [([1], [3])]))
        let session = try database.session()
        let answer = try session.run(late.statement, late.parameters)
        let isKept =
            try second.get(.meta, [1], reach: .disk) == [3]
            && second.get(.meta, [2], reach: .disk) == nil
            && second.get(.log, [1], reach: .disk) == [3]
        #expect((answer.count == 0) == isFenced)
        #expect(isKept == isFenced)
        withExtendedLifetime(first) {}
    }

    /// A copy of a database has another number at its server, and the same store.
    @Test func aCopyOfADatabaseIsNoticed() throws {
        let database = try TestDatabase()
        let name = try database.open().name
        let copy = try database.copy()
        let engine = try copy.open()
        #expect(engine.name == name)
        #expect(engine.notes.count == 1)
        #expect(engine.notes.first?.contains("is a copy of another database") == true)
        _ = consume engine
        #expect(try copy.open().notes == [])
        #expect(try database.open().notes == [])
    }

    /// A process that was stopped keeps its sessions, and asks nothing for a term.
    @Test func aSilentProcessIsTakenForDead() throws {
        let database = try TestDatabase()
        try database.open().commit(.writing(.meta, [([1], [1])]))
        let silent = try database.silentProcess()
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
