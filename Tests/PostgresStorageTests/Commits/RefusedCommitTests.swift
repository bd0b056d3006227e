// Commits that the database refuses: for want of room, for a moment, or for good.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@testable import PostgresStorage

@Suite(.enabled(if: PostgresServer.isInstalled, noServer))
struct RefusedCommitTests {
    private let database: TestDatabase

    init() throws { database = try TestDatabase() }

    /// Lets inserts of log rows fail: always, or with `times` only so often.
    private func refuse(_ state: String, times: Int = .max) throws {
        try database.run(
            """
            CREATE SEQUENCE tries;
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF nextval('tries') <= \(times) THEN
                    RAISE EXCEPTION 'refused by a test' USING ERRCODE = '\(state)';
                END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER refuse BEFORE INSERT ON cumulus_log
                FOR EACH ROW EXECUTE FUNCTION refuse()
            """
        )
    }

    private var batch: EngineBatch {
        var batch = EngineBatch.writing(.meta, [([1], [2])])
        batch.writes += EngineBatch.writing(.log, [([1], [2])]).writes
        return batch
    }

    @Test func aFullDiskLeavesTheStoreAsItWas() throws {
        let engine = try database.open()
        try engine.commit(.writing(.meta, [([1], [1])]))
        try refuse("53100")
        let error = #expect(throws: EngineError.self) { try engine.commit(batch) }
        #expect(error == .full("the disk of the database is full: refused by a test"))
        #expect(try engine.get(.meta, [1], reach: .disk) == [1])
        try database.run("DROP TRIGGER refuse ON cumulus_log")
        try engine.commit(batch)
        #expect(try engine.get(.meta, [1], reach: .disk) == [2])
        #expect(try engine.get(.log, [1], reach: .disk) == [2])
    }

    @Test func aCommitThatFailedForAMomentIsSentAgain() throws {
        let engine = try database.open()
        try refuse("40001", times: 2)
        try engine.commit(batch)
        #expect(try engine.get(.log, [1], reach: .disk) == [2])
        #expect(try database.run("SELECT last_value FROM tries").text(0, 0) == "3")
    }

    @Test func anotherRefusalEndsTheProcess() throws {
        let engine = try database.open()
        try refuse("P0001")
        let text = try failure { try engine.commit(batch) }
        #expect(text == "the database refused a commit: refused by a test")
        #expect(try engine.get(.meta, [1], reach: .disk) == nil)
    }

    @Test func droppedTablesAreNamed() throws {
        let engine = try database.open()
        try database.run("DROP TABLE cumulus_log")
        let text = try failure { try engine.commit(batch) }
        #expect(text.contains("were the tables dropped while the node ran?"))
        let read = try failure { _ = try engine.get(.log, [1], reach: .disk) }
        #expect(read.contains("were the tables dropped while the node ran?"))
    }
}
