// How long a process trusts what it has in memory, by its own clock; and when it gives its database
// up.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@testable import PostgresStorage

@Suite struct LeaseTests {
    private let start = ContinuousClock.now

    @Test func anAnswerCountsFromItsQuestionOn() {
        let lease = Lease(start)
        #expect(lease.holds(at: start + .milliseconds(499)))
        #expect(!lease.holds(at: start + .milliseconds(500)))
        lease.prove(start + .seconds(3))
        #expect(lease.holds(at: start + .milliseconds(3_499)))
        #expect(!lease.holds(at: start + .milliseconds(3_500)))
    }

    @Test func anAnswerThatComesLateShortensNothing() {
        let lease = Lease(start)
        lease.prove(start + .seconds(2))
        lease.prove(start + .seconds(1))
        #expect(lease.holds(at: start + .milliseconds(2_400)))
    }

    @Test func aLostTermStaysLost() {
        let lease = Lease(start)
        lease.lose()
        lease.prove(start + .seconds(1))
        #expect(!lease.holds(at: start))
        #expect(!lease.holds(at: start + .seconds(1)))
        #expect(lease.isLost)
    }

    /// A clock that is a tenth slower than another one makes no lease outlast the rest.
    @Test func aStartRestsLongerThanALeaseLasts() {
        #expect(Lease.rest > Lease.length * 1.1)
    }

    /// A clock of ticks stands still while a machine sleeps, here for an hour.
    @Test func ticksWithoutAnAnswerAreCounted() {
        var silence = Silence(proof: start)
        let proofs: [Duration] = [.zero, .zero, .milliseconds(1), .seconds(3_600), .seconds(3_600)]
        #expect(proofs.map { silence.tick(start + $0) } == [1, 2, 0, 0, 1])
    }
}

@Suite(.enabled(if: PostgresServer.isInstalled, noServer))
struct LeaseReadTests {
    /// Nobody ends the sessions of the process: its reads would succeed for ever.
    @Test func aProcessThatWasFencedOffReadsNothingThoughItsSessionsLive() async throws {
        let database = try TestDatabase()
        let engine = try database.open()
        try engine.commit(.writing(.meta, [([1], [1])]))
        let snapshot = try engine.snapshot()
        #expect(try snapshot.get(.meta, [1], reach: .disk) == [1])
        try engine.checkTerm(.memory)
        try database.run("UPDATE cumulus_process SET epoch = epoch + 1, alive = false")
        try await Task.sleep(for: Lease.rest)
        for reader in [engine, snapshot] as [any EngineReader] {
            #expect(try failure { _ = try reader.get(.meta, [1], reach: .disk) } == Term.loss)
        }
        for reach in [Reach.memory, .disk] {
            #expect(try failure { try engine.checkTerm(reach) } == Term.loss)
        }
    }

    /// A snapshot that outlives its engine's signs of life asks by itself.
    @Test func aReadAsksWhereTheProcessDoesNotKnow() async throws {
        let database = try TestDatabase()
        let engine = try database.open()
        try engine.commit(.writing(.meta, [([1], [1])]))
        let snapshot = try engine.snapshot()
        _ = consume engine
        try await Task.sleep(for: Lease.rest)
        #expect(try snapshot.get(.meta, [1], reach: .disk) == [1])
    }
}
