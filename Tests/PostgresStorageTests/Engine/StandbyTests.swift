// When a process that waits beside another one finds the store free, and that one of several gets
// it.

import CumulusStorage
import CumulusTesting
import Foundation
import Testing

@testable import PostgresStorage

@Suite struct AbsenceTests {
    private let living = Holder(id: 1, endpoint: "a", hasSessions: true, lives: true)
    private let silent = Holder(id: 1, endpoint: "a", hasSessions: true)
    private let gone = Holder(id: 1, endpoint: "a")

    /// Whether the store is free at each look.
    ///
    /// - Parameters:
    ///   - isAfterBreak: The connection of the one who looks broke before.
    ///   - looks: Milliseconds since the first look, and what the holder was like.
    private func findings(
        isAfterBreak: Bool = false,
        _ looks: [(Int, Holder)]
    ) -> [Bool] {
        let start = ContinuousClock.now
        var absence = Absence()
        if isAfterBreak { absence.connectionBroke() }
        return looks.map { absence.isFree(of: [$1], now: start + .milliseconds($0)) }
    }

    @Test func aHolderThatLivesIsWaitedFor() {
        #expect(findings([(0, living), (3_600_000, living)]) == [false, false])
    }

    @Test func aSilentHolderIsTakenOverAtOnce() {
        #expect(findings([(0, silent)]) == [true])
    }

    @Test func aHolderWithoutSessionsHasAMomentToComeBack() {
        let looks = [(0, gone), (400, gone), (450, living), (600, gone), (1_100, gone)]
        #expect(findings(looks) == [false, false, false, false, true])
    }

    /// The server restarts, and both have to come back.
    @Test func afterABreakOfOurOwnItHasLonger() {
        let looks = [(0, gone), (3_900, gone), (4_000, gone)]
        #expect(findings(isAfterBreak: true, looks) == [false, false, true])
        let others = [(0, living), (100, gone), (600, gone)]
        #expect(findings(isAfterBreak: true, others) == [false, false, true])
    }
}

@Suite(.enabled(if: PostgresServer.isInstalled, noServer))
struct StandbyTests {
    @Test func aStoreIsFreeBeforeItsFirstStartAndAfterAnEnd() async throws {
        let database = try TestDatabase()
        let standby = Standby(try database.address())
        #expect(try standby.look() == .free)
        let engine = try database.open()
        guard case .held(let holder) = try standby.look() else {
            try #require(Bool(false), "the store is free")
            return
        }
        #expect(holder.hasSuffix(", process \(getpid())"))
        _ = consume engine
        // It may give a sign of life just then.
        for _ in 0..<100 where try standby.look() != .free {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(try standby.look() == .free)
    }

    @Test func aKilledProcessIsMissedForHalfASecond() async throws {
        let database = try TestDatabase()
        try database.open().commit(.writing(.meta, [([1], [1])]))
        let killed = try database.silentProcess()
        _ = consume killed
        try await database.waitFor(
            """
            SELECT 1 WHERE NOT EXISTS (
                SELECT FROM pg_stat_activity WHERE application_name = 'cumulusd 5'
                AND datname = current_database()
            )
            """
        )
        let standby = Standby(try database.address())
        #expect(try standby.look() == .missing("silent"))
        try await Task.sleep(for: Absence.usual)
        #expect(try standby.look() == .free)
        let engine = try database.open(queueing: .zero)
        #expect(try engine.get(.meta, [1], reach: .disk) == [1])
    }

    /// It was stopped while an answer was on its way to it, and never takes the rest.
    ///
    /// The test waits until the process has been silent for a term: 4 s.
    @Test func aStoppedProcessThatIsSentAnAnswerIsTakenForDead() async throws {
        let database = try TestDatabase()
        _ = try database.open()
        let stopped = try database.silentProcess()
        #expect(stopped.send("SELECT repeat('x', 1000000) FROM generate_series(1, 100)"))
        try await database.waitFor(
            """
            SELECT pid FROM pg_stat_activity WHERE application_name = 'cumulusd 5'
            AND datname = current_database() AND wait_event = 'ClientWrite'
            """
        )
        let standby = Standby(try database.address())
        #expect(try standby.look() == .held(by: "silent"))
        for _ in 0..<60 where try standby.look() != .free {
            try await Task.sleep(for: .milliseconds(100))
        }
        #expect(try standby.look() == .free)
        let engine = try database.open(queueing: .zero)
        #expect(engine.notes.count == 1)
        withExtendedLifetime(stopped) {}
    }

    /// The test waits until the process before them has been silent for a term: 4 s.
    @Test(.timeLimit(.minutes(1))) func oneOfSeveralGetsTheStore() async throws {
        let database = try TestDatabase()
        _ = try database.open()
        let dead = try database.silentProcess()
        let standby = Standby(try database.address())
        while try standby.look() != .free { try await Task.sleep(for: .milliseconds(50)) }
        let starts = (0..<4).map { _ in
            inThread { Result { () throws(PostgresError) in try database.open(queueing: .zero) } }
        }
        var engines: [PostgresEngine] = []
        for start in starts {
            do {
                engines.append(try await start.value.get())
            } catch let error as PostgresError {
                guard case .inUse = error else { throw error }
            }
        }
        #expect(engines.count == 1)
        try engines.first?.commit(.writing(.meta, [([1], [1])]))
        withExtendedLifetime(dead) {}
    }

    @Test func aDatabaseThatIsAwayIsWaitedForAndAWrongPasswordIsNot() throws {
        let away = Standby(try PostgresAddress("postgres://cumulus@/c?host=/nonexistent"))
        guard case .unreachable = try away.look() else {
            try #require(Bool(false), "it was reached")
            return
        }
        let database = try TestDatabase(owner: "locked")
        let locked = Standby(try database.address(user: "locked", password: "wrong"))
        let error = #expect(throws: PostgresError.self) { try locked.look() }
        guard case .refused = error else { throw try #require(error) }
    }
}
