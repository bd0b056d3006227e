// Packs when the database fails: connections that break in the middle, a full disk, damage.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@testable import PostgresStorage

@Suite(.enabled(if: PostgresServer.isInstalled, noServer))
struct PackFailureTests {
    private let database: TestDatabase

    init() throws { database = try TestDatabase() }

    /// The second of three statements loses its connection while it waits, and is sent again.
    @Test func aBrokenConnectionInTheMiddleIsReplaced() async throws {
        let packs = try database.open().packs
        let bytes = SampleAsset.stream(9 * PackParts.size + 1)
        let blocker = try database.session()
        _ = try blocker.run("BEGIN; INSERT INTO cumulus_pack VALUES (3, 5, 'x')")
        let write = inThread { try packs.write(3, [bytes[...]]) }
        try await database.waitFor(waiting)
        try database.endSessions()
        try await database.waitFor(waiting)
        _ = try blocker.run("ROLLBACK")
        try await write.value
        #expect(try packs.all() == [3: bytes.count])
        #expect(try packs.read(3, 0..<bytes.count) == bytes)
    }

    private let waiting = """
        SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'cumulusd %'
        AND datname = current_database() AND wait_event_type = 'Lock'
        """

    @Test func brokenConnectionsAreReplacedByEachCall() throws {
        let packs = try database.open().packs
        try packs.write(1, [[1, 2, 3]])
        try database.endSessions()
        #expect(try packs.read(1, 0..<3) == [1, 2, 3])
        try database.endSessions()
        try packs.write(2, [[4]])
        try database.endSessions()
        #expect(packs.remove(1) == 3)
        try database.endSessions()
        #expect(try packs.all() == [2: 1])
    }

    /// Lets parts from this one on fail.
    private func refuse(_ state: String, from part: Int) throws {
        try database.run(
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                RAISE EXCEPTION 'refused by a test' USING ERRCODE = '\(state)';
            END $$;
            CREATE TRIGGER refuse BEFORE INSERT ON cumulus_pack
                FOR EACH ROW WHEN (NEW.part >= \(part)) EXECUTE FUNCTION refuse()
            """
        )
    }

    @Test(arguments: [
        ("53100", PackError.full),
        ("P0001", PackError.failed("the database says: refused by a test")),
    ])
    func aWriteThatFailsInTheMiddleLeavesNothing(state: String, error: PackError) throws {
        let packs = try database.open().packs
        try packs.write(1, [[1]])
        try refuse(state, from: 5)
        let bytes = Bytes(repeating: 7, count: 6 * PackParts.size)
        #expect(throws: error) { try packs.write(2, [bytes[...]]) }
        #expect(try packs.all() == [1: 1])
        try database.run("DROP TRIGGER refuse ON cumulus_pack")
        try packs.write(3, [bytes[...]])
        #expect(try packs.all() == [1: 1, 3: bytes.count])
    }

    /// Bytes that the disk lost are told from a read that may succeed later.
    @Test(arguments: [("XX001", false), ("53200", true)])
    func damageIsNoRefusal(state: String, throwsError: Bool) throws {
        let packs = try database.open().packs
        try packs.write(1, [[1, 2, 3]])
        try database.run(
            """
            CREATE FUNCTION damaged(bytea) RETURNS bytea LANGUAGE plpgsql AS $$ BEGIN
                RAISE EXCEPTION 'damaged by a test' USING ERRCODE = '\(state)';
            END $$;
            ALTER TABLE cumulus_pack RENAME TO hidden;
            CREATE VIEW cumulus_pack AS SELECT pack, part, damaged(bytes) AS bytes FROM hidden
            """
        )
        if throwsError {
            #expect(throws: PackError.self) { try packs.read(1, 0..<3) }
        } else {
            #expect(try packs.read(1, 0..<3) == nil)
        }
    }

    @Test func aDatabaseThatIsGoneIsNoLoss() throws {
        let packs = try database.open().packs
        try packs.write(1, [[1]])
        try database.run("DROP TABLE cumulus_pack")
        let error = try #require(throws: PackError.self) { try packs.read(1, 0..<1) }
        #expect("\(error)".contains("were the tables dropped while the node ran?"))
        #expect(throws: PackError.self) { try packs.all() }
        #expect(packs.remove(1) == 0)
    }
}
