// The secrets of a node whose store is in a database: made once, found again on another machine,
// and never mixed with the secrets of another store. The row that keeps them is in memory.

import CumulusModel
import CumulusTesting
import Foundation
import Testing

@testable import CumulusServer

@Suite struct DatabaseSecretsTests {
    /// The row of a store.
    private final class Row {
        var kept: [DatabaseSecrets.Secret: String] = [:]
    }

    /// Two machines, each with a folder for data.
    private let folders: [TemporaryFolder]
    private let row = Row()

    init() throws { folders = [try TemporaryFolder(), try TemporaryFolder()] }

    private func secrets(at machine: Int = 0, store: String = "0123") throws -> DatabaseSecrets {
        let row = DatabaseSecrets.Row(
            read: { [row] in row.kept[$0] },
            keep: { [row] in row.kept[$0] = $1 },
            store: store,
            place: "notes on db"
        )
        return DatabaseSecrets(row: row, home: try DataHome(folders[machine].path))
    }

    private struct Start: Equatable {
        var key: Bytes
        var joins: Bool
        var token: Bytes
    }

    /// What a whole start does.
    private func start(
        at machine: Int = 0,
        store: String = "0123",
        key: String = "",
        isNew: Bool
    ) throws -> Start {
        let secrets = try secrets(at: machine, store: store)
        let environment = TestServer.environment
        try secrets.checkDirectory(namesKey: !key.isEmpty)
        let (bytes, joins) = try secrets.clusterKey(key, isNew: isNew, environment)
        let token = try secrets.operatorToken(environment)
        try secrets.settle(namesKey: !key.isEmpty)
        return Start(key: bytes, joins: joins, token: token)
    }

    private func file(_ name: String, at machine: Int = 0) -> String? {
        let path = "\(folders[machine].path)/\(name)"
        return (try? String(contentsOfFile: path, encoding: .utf8))?
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func write(_ text: String, to name: String) throws -> String {
        let path = "\(folders[0].path)/\(name)"
        try DataHome(folders[0].path).write(text + "\n", to: path)
        return path
    }

    private func refusal(_ work: () throws -> some Sendable) throws -> String {
        try #require(throws: StartProblem.self) { _ = try work() }.description
    }

    private static let given = Bytes(0..<32).hex

    // MARK: Starts

    /// The other machine has nothing but the settings.
    @Test func anotherMachineGoesOnWithTheSameSecrets() throws {
        let first = try start(isNew: true)
        #expect(!first.joins)
        #expect(first.key.count == 32)
        #expect(row.kept[.clusterKey] == first.key.hex)
        #expect(try start(isNew: false) == first)
        #expect(try start(at: 1, isNew: false) == first)
        for machine in 0...1 {
            #expect(file("cluster.key", at: machine) == first.key.hex)
            #expect(file("operator.token", at: machine).map { Bytes($0.utf8) } == first.token)
            #expect(file("database", at: machine) == "0123")
        }
    }

    /// A process was killed between its key and its store.
    @Test func aStartThatGoesOnBeginsItsCluster() throws {
        let environment = TestServer.environment
        let (key, _) = try secrets().clusterKey("", isNew: true, environment)
        let next = try start(at: 1, isNew: true)
        #expect(next.key == key)
        #expect(!next.joins)
    }

    @Test func aKeyThatIsNamedIsNotKept() throws {
        let path = try write(Self.given, to: "given.key")
        let first = try start(key: path, isNew: true)
        #expect(first.key.hex == Self.given)
        #expect(first.joins)
        #expect(row.kept[.clusterKey] == nil)
        #expect(file("cluster.key") == nil)
        #expect(try start(at: 1, key: path, isNew: false) == first)
        let why = try refusal { try start(at: 1, isNew: false) }
        #expect(why.hasPrefix("cluster-key: the database notes on db has a store, and not its key"))
    }

    /// As for a node without a database, which joins others by a key that is put there.
    @Test func whatIsPutThereBeforeTheFirstStartIsTaken() throws {
        _ = try write(Self.given, to: "cluster.key")
        let token = String(repeating: "t", count: 40)
        _ = try write(token, to: "operator.token")
        let first = try start(isNew: true)
        #expect(first.key.hex == Self.given)
        #expect(first.joins)
        #expect(first.token == Bytes(token.utf8))
        let other = try start(at: 1, isNew: false)
        #expect(other.key == first.key)
        #expect(other.token == first.token)
    }

    /// It would begin a cluster if the process was killed then, in place of joining one.
    @Test func aKeyThatIsFoundIsKeptOnceThereIsAStore() throws {
        _ = try write(Self.given, to: "cluster.key")
        let (_, joins) = try secrets().clusterKey("", isNew: true, TestServer.environment)
        #expect(joins)
        #expect(row.kept.isEmpty)
    }

    // MARK: Copies

    @Test func anotherTokenReachesEachMachine() throws {
        let first = try start(isNew: true)
        _ = try start(at: 1, isNew: false)
        row.kept[.operatorToken] = nil
        try FileManager.default.removeItem(atPath: "\(folders[0].path)/operator.token")
        let second = try start(isNew: false)
        #expect(second.token != first.token)
        #expect(try start(at: 1, isNew: false) == second)
        #expect(file("operator.token", at: 1).map { Bytes($0.utf8) } == second.token)
    }

    @Test func aDirectoryOfAnotherStoreIsRefused() throws {
        let first = try start(isNew: true)
        let why = try refusal { try start(store: "4567", isNew: false) }
        #expect(why.contains("belongs to another store than the one in notes on db"))
        #expect(file("cluster.key") == first.key.hex)
    }

    /// They may be the only copies.
    @Test(arguments: ["cluster.key", "operator.token"])
    func secretsOfSomebodyElseAreNotOverwritten(name: String) throws {
        _ = try start(at: 1, isNew: true)
        let text = Bytes(repeating: 9, count: 32).hex
        _ = try write(text, to: name)
        let why = try refusal { try start(isNew: false) }
        #expect(why.contains("\(name) is another one than the store in notes on db has"))
        #expect(file(name) == text)
    }
}
