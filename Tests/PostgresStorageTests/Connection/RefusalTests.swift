// Databases that aren't opened, each with a line that says what to do.

import CumulusStorage
import CumulusTesting
import Testing

@testable import PostgresStorage

@Suite(.enabled(if: PostgresServer.isInstalled, noServer))
struct RefusalTests {
    @Test func aServerThatIsNotThereIsUnreachable() throws {
        let address = try PostgresAddress("postgres://cumulus:geheim@/c?host=/nonexistent")
        let error = #expect(throws: PostgresError.self) {
            try PostgresEngine(address, patience: .zero)
        }
        guard case .unreachable = error else { throw try #require(error) }
        #expect("\(try #require(error))".contains("c on /nonexistent"))
        #expect(!"\(try #require(error))".contains("geheim"))
    }

    @Test(arguments: ["wrong", nil])
    func aWrongPasswordIsRefusedAndNotTold(password: String?) throws {
        let refusal = try TestDatabase(owner: "locked").refusal(user: "locked", password: password)
        guard case .refused = refusal else { throw refusal }
        #expect("\(refusal)".contains("correct the user, the password"))
        #expect(!"\(refusal)".contains("wrong"))
    }

    @Test func theRightPasswordLetsIn() throws {
        let engine = try TestDatabase(owner: "locked").open(user: "locked", password: "right")
        try engine.commit(.writing(.meta, [([1], [1])]))
        #expect(try engine.get(.meta, [1], reach: .disk) == [1])
    }

    @Test func aDatabaseThatDoesNotExistIsNamed() throws {
        let database = try TestDatabase()
        let address = try PostgresAddress(
            database.address().url.replacing("/\(database.name)?", with: "/none?")
        )
        let error = #expect(throws: PostgresError.self) {
            try PostgresEngine(address, patience: .zero)
        }
        guard case .noDatabase = error else { throw try #require(error) }
        #expect("\(try #require(error))".contains("make it with 'createdb'"))
    }

    @Test func tablesOfAnotherReleaseAreRefused() throws {
        let database = try TestDatabase()
        _ = try database.open()
        try database.run("UPDATE cumulus_site SET format = 99")
        let refusal = try database.refusal()
        guard case .otherFormat(_, 99) = refusal else { throw refusal }
    }

    @Test func aUserWhoMayMakeNoTablesIsRefused() throws {
        let refusal = try TestDatabase().refusal(user: "poor")
        guard case .notAllowed = refusal else { throw refusal }
    }

    /// A start that is refused leaves nothing.
    @Test func aRefusedStartMakesNoTables() throws {
        let database = try TestDatabase()
        _ = try database.refusal(user: "poor")
        let tables = try database.run(
            "SELECT relname FROM pg_class WHERE relname LIKE 'cumulus%'"
        )
        #expect(tables.count == 0)
    }

    /// A user's or a database's setting does not make commits less than durable.
    @Test func commitsAreFlushedWhateverTheDefaultIs() throws {
        let database = try TestDatabase()
        try database.run("ALTER DATABASE \(database.name) SET synchronous_commit = off")
        #expect(try database.run("SHOW synchronous_commit").text(0, 0) == "on")
        try database.run("ALTER DATABASE \(database.name) SET synchronous_commit = local")
        #expect(try database.run("SHOW synchronous_commit").text(0, 0) == "local")
    }
}
