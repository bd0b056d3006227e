// A database server that crashes, is away for a while, or for longer than the process waits for it.
//
// The tests take turns with a server of their own.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Synchronization
import Testing

@testable import PostgresStorage

@Suite(.serialized, .enabled(if: PostgresServer.isInstalled, noServer))
struct DatabaseAwayTests {
    private static let server = Result { try PostgresServer.own() }
    private let server: PostgresServer
    private let database: TestDatabase

    init() throws {
        server = try DatabaseAwayTests.server.get()
        database = try TestDatabase(on: server)
    }

    /// The process goes on, and nobody takes its store meanwhile.
    @Test func aCrashOfTheServerLosesNothing() throws {
        let engine = try database.open()
        let standby = Standby(try database.address())
        for number in 0..<10 { try engine.commit(.writing(.log, [(bytes(number), [1])])) }
        #expect(try standby.look() != .free)
        try server.crash()
        for _ in 0..<5 { #expect(try standby.look() != .free) }
        for number in 10..<20 { try engine.commit(.writing(.log, [(bytes(number), [1])])) }
        #expect(try engine.count(.log) == 20)
        let epoch = try database.run("SELECT epoch FROM cumulus_process WHERE alive")
        #expect(epoch.text(0, 0) == "2")
    }

    @Test func aStartWaitsForAServerThatStarts() async throws {
        try server.stop()
        let start = inThread { try database.open() }
        try await Task.sleep(for: .milliseconds(300))
        try server.start()
        let engine = try await start.value
        try engine.commit(.writing(.meta, [([1], [1])]))
    }

    /// Its callers find another process, and so does the next start; what was committed is there.
    ///
    /// The process gives the database up after 4 s at the earliest.
    @Test func aServerThatStaysAwayEndsTheProcess() async throws {
        let words = Mutex("")
        let engine = try database.open(patience: .zero) { text in words.withLock { $0 = text } }
        try engine.commit(.writing(.meta, [([1], [1])]))
        try server.stop()
        try await Task.sleep(for: Lease.length)
        #expect(throws: EngineError.notInMemory) { try engine.checkTerm(.memory) }
        let error = #expect(throws: EngineError.self) {
            _ = try engine.get(.meta, [1], reach: .disk)
        }
        guard case .unavailable(let why) = error else { throw try #require(error) }
        #expect(why.contains("can't be reached"))
        for _ in 0..<1_000 where words.withLock({ $0.isEmpty }) {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(words.withLock { $0 }.hasPrefix("the database has not answered for "))
        try server.start()
        let other = try database.open(queueing: .seconds(5))
        #expect(try other.get(.meta, [1], reach: .disk) == [1])
        #expect(try failure { try engine.commit(.writing(.meta, [([1], [2])])) } == Term.loss)
    }

    /// No connection breaks, so every call waits for ever.
    ///
    /// The process gives the database up after 4 s at the earliest.
    @Test func aServerThatSaysNothingEndsTheProcess() async throws {
        let words = Mutex("")
        let engine = try database.open(patience: .zero) { text in words.withLock { $0 = text } }
        try engine.commit(.writing(.meta, [([1], [1])]))
        try server.pause()
        defer { try? server.resume() }
        try await Task.sleep(for: Lease.rest)
        #expect(throws: EngineError.notInMemory) { try engine.checkTerm(.memory) }
        for _ in 0..<1_000 where words.withLock({ $0.isEmpty }) {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(words.withLock { $0 }.hasPrefix("the database has not answered for "))
        try server.resume()
        #expect(try engine.get(.meta, [1], reach: .disk) == [1])
    }

    @Test func aServerThatDoesNotFlushIsRefused() async throws {
        try server.run(in: "postgres", "ALTER SYSTEM SET fsync = off")
        try server.run(in: "postgres", "SELECT pg_reload_conf()")
        defer {
            try? server.run(in: "postgres", "ALTER SYSTEM RESET fsync")
            try? server.run(in: "postgres", "SELECT pg_reload_conf()")
        }
        try await database.waitFor("SELECT 1 WHERE current_setting('fsync') = 'off'")
        let refusal = try database.refusal()
        guard case .notDurable(_, "fsync") = refusal else { throw refusal }
        #expect("\(refusal)".contains("set it to on and reload the server"))
    }
}
