// What is asked of a server before anything is stored in it.

import CumulusTesting
import Testing

@testable import PostgresStorage

@Suite struct ServerCheckTests {
    @Test func aServerWithItsStandardSettingsIsGood() {
        #expect(ServerCheck().problem(at: "x") == nil)
    }

    @Test func aServerThatDoesNotFlushIsRefused() throws {
        let problem = ServerCheck(flushes: false).problem(at: "x")
        #expect(problem == .notDurable(place: "x", setting: "fsync"))
        #expect("\(try #require(problem))".contains("fsync = off"))
        #expect(
            ServerCheck(writesFullPages: false).problem(at: "x")
                == .notDurable(place: "x", setting: "full_page_writes")
        )
    }

    @Test func aStandbyIsRefused() {
        #expect(ServerCheck(isStandby: true).problem(at: "x") == .standby(place: "x"))
    }

    @Test func anOldServerIsNamed() {
        let error = PostgresError.oldServer(place: "x", version: 130_004)
        #expect("\(error)".contains("is PostgreSQL 13, and this release needs 14 or newer"))
    }

    @Test(.enabled(if: PostgresServer.isInstalled, noServer))
    func theServerOfTheTestsIsGood() throws {
        let answer = try TestDatabase().session().run(ServerCheck.question)
        #expect(ServerCheck(answer) == ServerCheck())
    }
}
