// A process that lost its term changes no packs; one that takes over waits for those that are being
// written; and commits don't.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@testable import PostgresStorage

@Suite(.enabled(if: PostgresServer.isInstalled, noServer))
struct PackFenceTests {
    private let database: TestDatabase

    init() throws { database = try TestDatabase() }

    /// As a start of another process would, and nobody else notices.
    private func fenceOff(_ session: Session) throws {
        _ = try session.run(Term.waiting)
        _ = try session.run(Term.fencing)
    }

    @Test func aProcessThatLostItsTermChangesNothing() throws {
        let engine = try database.open()
        let packs = engine.packs
        try packs.write(1, [[1, 2, 3]])
        try packs.setOrigin(Incarnation(5))
        try fenceOff(database.session())
        let error = #expect(throws: PackError.self) { try packs.write(2, [[4]]) }
        #expect(error == .failed(Term.loss))
        #expect(throws: PackError.self) { try packs.write(1, [[9, 9, 9]]) }
        #expect(packs.remove(1) == 0)
        #expect(throws: PackError.self) { try packs.setOrigin(Incarnation(6)) }
        #expect(throws: EngineError.self) { try engine.keep("token", as: .operatorToken) }
        let rows = try database.run("SELECT pack, part, bytes FROM cumulus_pack")
        #expect(rows.count == 1)
        #expect(rows.text(0, 2) == "\\x010203")
        let site = try database.run("SELECT pack_origin, operator_token FROM cumulus_site")
        #expect(site.text(0, 0) == "5")
        #expect(site.isNull(0, 1))
    }

    /// A write that came before the fence is there when the next process lists packs; one that
    /// comes behind it writes nothing.
    @Test func aTakeoverWaitsForWritesAndLaterOnesWaitForIt() async throws {
        let engine = try database.open()
        let packs = engine.packs
        let (blocker, heir) = (try database.session(), try database.session())
        _ = try blocker.run("BEGIN; INSERT INTO cumulus_pack VALUES (1, 0, 'x')")
        let first = inThread { try packs.write(1, [[1, 2, 3]]) }
        try await database.waitFor(waiting("query LIKE '%INSERT INTO cumulus_pack%'"))

        // Commits share the row with it.
        try engine.commit(.writing(.meta, [([1], [1])]))

        let takeover = inThread {
            _ = try heir.run("BEGIN")
            try fenceOff(heir)
        }
        try await database.waitFor(waiting("query LIKE '%FOR UPDATE'"))
        _ = try blocker.run("ROLLBACK")
        try await first.value
        try await takeover.value
        let listed = try heir.run("SELECT pack FROM cumulus_pack")
        #expect(listed.count == 1)

        let second = inThread { try packs.write(2, [[4]]) }
        try await database.waitFor(waiting("query LIKE '%INSERT INTO cumulus_pack%'"))
        _ = try heir.run("COMMIT")
        await #expect(throws: PackError.failed(Term.loss)) { try await second.value }
        #expect(try database.run("SELECT pack FROM cumulus_pack").count == 1)
    }

    private func waiting(_ condition: String) -> String {
        """
        SELECT pid FROM pg_stat_activity WHERE datname = current_database()
        AND wait_event_type = 'Lock' AND \(condition)
        """
    }
}
