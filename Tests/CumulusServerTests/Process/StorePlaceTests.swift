// Where the rows of a node are, by its settings and its data directory; without a database.

import CumulusTesting
import Foundation
import Testing

@testable import CumulusServer

@Suite struct StorePlaceTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func wiring(_ flags: [String: String]) throws -> Wiring {
        let flags = flags.merging(["data": folder.path]) { named, _ in named }
        return try Wiring(Configuration(flags: flags, environment: [:], file: nil))
    }

    private func write(_ text: String, to name: String) throws -> String {
        let path = "\(folder.path)/\(name)"
        try Data(text.utf8).write(to: URL(filePath: path))
        return path
    }

    @Test func withoutAURLTheRowsAreInTheDataDirectory() throws {
        #expect(try wiring([:]).database() == nil)
        try wiring([:]).checkPlace(of: DataHome(folder.path))
    }

    @Test func aPasswordIsReadFromItsFile() throws {
        let file = try write("geheim\n", to: "password")
        let flags = ["store": "postgres://cumulus@db/notes", "store-password-file": file]
        let address = try #require(try wiring(flags).database())
        #expect("\(address)" == "notes on db")
    }

    @Test(arguments: [
        (["store": "mysql://c:geheim@db/n"], "store: this is no address of a database; write"),
        (["store-password-file": "/x"], "store-password-file: --store names no database"),
        (
            ["store": "postgres://db/n", "store-password-file": "/nonexistent"],
            "store-password-file: /nonexistent can't be read"
        ),
    ])
    func aSettingThatCannotBeUsedIsNamed(flags: [String: String], why: String) throws {
        let problem = #expect(throws: StartProblem.self) { try wiring(flags).database() }
        let text = try #require(problem).description
        #expect(text.hasPrefix(why))
        #expect(!text.contains("geheim"))
    }

    @Test func onlyADatabaseIsWaitedFor() throws {
        #expect(try wiring(["store": "postgres://db/n"]).awaitedDatabase() == nil)
        let flags = ["standby": "true", "store": "postgres://cumulus@db/notes"]
        #expect("\(try #require(try wiring(flags).awaitedDatabase()))" == "notes on db")
        let problem = #expect(throws: StartProblem.self) {
            try wiring(["standby": "true"]).awaitedDatabase()
        }
        #expect(try #require(problem).description.hasPrefix("standby: only a store in a database"))
    }

    /// A directory with a store has packs and keys of that store, or copies of its keys.
    @Test func aDirectoryBelongsToOneStore() throws {
        let flags = ["store": "postgres://cumulus@db/notes"]
        let home = try DataHome(folder.path)
        try wiring(flags).checkPlace(of: home)
        #expect(!home.hasStore)

        let note = try write("0123\n", to: "database")
        #expect(home.databaseName == "0123")
        #expect(home.hasStore)
        try wiring(flags).checkPlace(of: home)
        let away = #expect(throws: StartProblem.self) { try wiring([:]).checkPlace(of: home) }
        #expect(try #require(away).description.contains("belongs to a store in a database"))

        try FileManager.default.removeItem(atPath: note)
        try FileManager.default.createDirectory(
            atPath: home.store,
            withIntermediateDirectories: false
        )
        let here = #expect(throws: StartProblem.self) { try wiring(flags).checkPlace(of: home) }
        #expect(try #require(here).description.contains("is a store already"))
    }

    @Test func noBackupOfADirectoryBecomesADatabase() throws {
        let flags = ["store": "postgres://cumulus@db/notes", "from-backup": "/backup"]
        let problem = #expect(throws: StartProblem.self) {
            try wiring(flags).checkPlace(of: DataHome(folder.path))
        }
        #expect(try #require(problem).description.contains("pg_restore"))
    }

    /// What a failed start made stays where the rows in the database belong to it.
    @Test func aFailedStartKeepsTheKeyOfItsDatabase() throws {
        let home = try DataHome(folder.path)
        try home.write("key\n", to: home.path + "/cluster.key")
        try home.write("0123\n", to: home.databaseFile)
        home.abandon()
        #expect(FileManager.default.fileExists(atPath: home.path + "/cluster.key"))
        try FileManager.default.removeItem(atPath: home.databaseFile)
        home.abandon()
        #expect(!FileManager.default.fileExists(atPath: home.path + "/cluster.key"))
    }
}
