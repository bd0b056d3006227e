// Connections that break: in a commit, between commits, and under readers. Nothing is lost, nothing
// is written twice.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@testable import PostgresStorage

@Suite(.enabled(if: PostgresServer.isInstalled, noServer))
struct LostReplyTests {
    private let database: TestDatabase

    init() throws { database = try TestDatabase() }

    /// Epoch and number of the last commit.
    private func term() throws -> [String] {
        let answer = try database.run("SELECT epoch, batch FROM cumulus_process WHERE alive")
        return [answer.text(0, 0), answer.text(0, 1)]
    }

    @Test func aBrokenConnectionIsReplacedByTheNextCommit() throws {
        let engine = try database.open()
        try engine.commit(.writing(.meta, [([1], [1])]))
        try database.endSessions()
        try engine.commit(.writing(.meta, [([1], [2])]))
        #expect(try engine.get(.meta, [1], reach: .disk) == [2])
        #expect(try term() == ["2", "2"])
    }

    @Test func aCommitThatIsNotThereIsSentAgain() async throws {
        let engine = try database.open()
        let blocker = try database.session()
        _ = try blocker.run("BEGIN; LOCK TABLE cumulus_meta IN EXCLUSIVE MODE")
        let commit = inThread { try engine.commit(.writing(.meta, [([1], [1])])) }
        try await database.waitFor(waiting("wait_event_type = 'Lock'"))
        try database.endSessions()
        // It waits again, on a new connection.
        try await database.waitFor(waiting("wait_event_type = 'Lock'"))
        _ = try blocker.run("ROLLBACK")
        try await commit.value
        #expect(try engine.get(.meta, [1], reach: .disk) == [1])
        #expect(try term() == ["2", "1"])
    }

    /// A commit that waits for a standby is durable here already when its connection breaks.
    ///
    /// Commits of other tests wait for a moment, too.
    @Test func aCommitThatIsThereIsNotSentAgain() async throws {
        let engine = try database.open()
        try engine.commit(.writing(.meta, [([1], [1])]))
        let session = try database.session()
        _ = try session.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        _ = try session.run("SELECT pg_reload_conf()")
        try await waitUntilCommitsWait()
        let commit = inThread { try engine.commit(.writing(.meta, [([1], [2])])) }
        do {
            try await database.waitFor(waiting("wait_event = 'SyncRep' AND query LIKE 'WITH f%'"))
            try database.endSessions()
            let settling = "wait_event = 'SyncRep' AND query LIKE '%epoch + 1%'"
            try await database.waitFor(waiting(settling))
        } catch {
            Issue.record(error)
        }
        _ = try session.run("ALTER SYSTEM RESET synchronous_standby_names")
        _ = try session.run("SELECT pg_reload_conf()")
        try await commit.value
        #expect(try engine.get(.meta, [1], reach: .disk) == [2])
        #expect(try term() == ["2", "2"])
        try engine.commit(.writing(.meta, [([1], [3])]))
        #expect(try term() == ["2", "3"])
    }

    /// Waits until the server's processes have heard of the new setting.
    private func waitUntilCommitsWait() async throws {
        for number in 0..<200 {
            let probe = try database.session()
            #expect(probe.send("CREATE TABLE probe\(number) ()"))
            try await Task.sleep(for: .milliseconds(20))
            let waiting = try database.run(
                """
                SELECT pid FROM pg_stat_activity WHERE datname = current_database()
                AND wait_event = 'SyncRep' AND query LIKE 'CREATE TABLE probe%'
                """
            )
            if waiting.count > 0 { return }
        }
        Issue.record("commits wait for no standby")
    }

    private func waiting(_ condition: String) -> String {
        """
        SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'cumulusd %'
        AND datname = current_database() AND \(condition)
        """
    }

    @Test func aDatabaseThatWentBackEndsTheProcess() throws {
        let engine = try database.open()
        for number in 0..<3 { try engine.commit(.writing(.meta, [([1], bytes(number))])) }
        try database.run("UPDATE cumulus_process SET batch = 1")
        try database.endSessions()
        let text = try failure { try engine.commit(.writing(.meta, [([1], [9])])) }
        #expect(text.hasPrefix("the database went back: it has commit 1 of this process, and 3"))
    }

    // MARK: Readers

    @Test func readersGoOnAfterTheirConnectionBroke() throws {
        let engine = try database.open()
        try engine.commit(.writing(.meta, [([1], [1])]))
        let snapshot = try engine.snapshot()
        #expect(try snapshot.get(.meta, [1], reach: .disk) == [1])
        try database.endSessions()
        #expect(try engine.get(.meta, [1], reach: .disk) == [1])
        // Nothing was committed since, so the state is the same.
        #expect(try snapshot.get(.meta, [1], reach: .disk) == [1])
    }

    @Test func aSnapshotThatIsPastSaysSo() throws {
        let engine = try database.open()
        try engine.commit(.writing(.meta, [([1], [1])]))
        let snapshot = try engine.snapshot()
        try engine.commit(.writing(.meta, [([1], [2])]))
        #expect(try snapshot.get(.meta, [1], reach: .disk) == [1])
        try database.endSessions()
        let text = try failure { _ = try snapshot.get(.meta, [1], reach: .disk) }
        #expect(text.contains("what it showed is past"))
        #expect(try engine.snapshot().get(.meta, [1], reach: .disk) == [2])
    }
}
