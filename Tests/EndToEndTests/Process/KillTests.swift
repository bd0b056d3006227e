// A node that is killed again and again while 64 writers write: what it acknowledged is there, once
// and whole.
//
// `cluster/chaos kill` runs more rounds.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite struct KillTests {
    private static let writerCount = 64
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    @Test(.timeLimit(.minutes(60))) func acknowledgedSavesSurviveKills() async throws {
        var dice = SeededGenerator(seed: Chaos.seed)
        let port = TestPort.free()
        var node = try await NodeProcess.ready(data: folder.node, port: port)
        let container = try await node.signIn()
        let writers = Writers(container.privateCloudDatabase)
        try await writers.prepare()
        var found = Outcomes()
        async let writing: Void = writers.run(count: Self.writerCount, seed: Chaos.seed)
        var round = 0
        // A kill between a flush and its answers is rare: some more are made until one was.
        while round < Chaos.rounds || (!found.areBoth && round < 5 * Chaos.rounds) {
            round += 1
            try await Task.sleep(for: .milliseconds(Int.random(in: 10...500, using: &dice)))
            let before = writers.state
            try await #expect(node.end(SIGKILL) == .signal(SIGKILL))
            let damage = node.errors.split(separator: "\n").filter { $0.contains("damaged") }
            #expect(damage.isEmpty, "round \(round), seed \(Chaos.seed)")
            // Every second time the node itself finds what the kill left.
            if round % 2 == 0 { try inspect(before, writers.state, &found) }
            node = try await NodeProcess.ready(data: folder.node, port: port)
        }
        try await Task.sleep(for: .milliseconds(300))
        writers.finish()
        await writing
        try await check(writers.state, container.privateCloudDatabase)
        await container.close()
        try await #expect(node.end(SIGTERM) == .exit(0))
        try checkLog()
        report(found, writers.state, rounds: round)
        #expect(found.inFlight > 0, "no kill hit a call in flight; seed \(Chaos.seed)")
        #expect(found.areBoth, "\(found), seed \(Chaos.seed)")
    }

    /// What became of calls that were in flight when the node was killed.
    private struct Outcomes {
        var inFlight = 0
        var applied = 0
        var notApplied = 0

        var areBoth: Bool { applied > 0 && notApplied > 0 }
    }

    /// Looks into the store between a kill and the next start.
    private func inspect(_ before: Ledger, _ after: Ledger, _ found: inout Outcomes) throws {
        let content = try folder.withStore { try StoreContent($0) }
        for change in after.acknowledged {
            #expect(
                content.names.isSuperset(of: change),
                "acknowledged \(change) is missing, seed \(Chaos.seed)"
            )
        }
        let unknown = before.inFlight.subtracting(after.acknowledged)
        for change in unknown {
            let present = content.names.intersection(change).count
            #expect(
                present == 0 || present == change.count,
                "half of \(change) is there, seed \(Chaos.seed)"
            )
            if present == 0 { found.notApplied += 1 } else { found.applied += 1 }
        }
        found.inFlight += unknown.count
    }

    /// The same through the client, at the end.
    private func check(_ ledger: Ledger, _ database: Database) async throws {
        #expect(ledger.failed.isEmpty, "\(ledger.failed), seed \(Chaos.seed)")
        #expect(ledger.lostIncrements == 0)
        #expect(ledger.acknowledged.count > Chaos.rounds)
        var names: Set<String> = []
        for try await record in database.allRecords(desiredKeys: []) {
            names.insert(record.recordID.recordName)
        }
        for try await record in database.allRecords(inZoneWith: Writers.zone, desiredKeys: []) {
            names.insert(record.recordID.recordName)
        }
        let expected = Set(ledger.acknowledged.joined()).union(Writers.counters)
        #expect(
            names == expected,
            "\(names.symmetricDifference(expected).sorted()), seed \(Chaos.seed)"
        )
        for name in Writers.counters {
            let counter = try await database.record(for: Record.ID(recordName: name))
            #expect(counter["count"]?.int64 == ledger.sums[name], "\(name), seed \(Chaos.seed)")
        }
    }

    /// No number of the log is left out or used twice, and every other row follows from it.
    private func checkLog() throws {
        let differences = try folder.withStore {
            try LogReplay.differences(in: $0) + DerivedRows.differences(in: $0)
        }
        #expect(differences.isEmpty, "seed \(Chaos.seed)")
    }

    private func report(_ found: Outcomes, _ ledger: Ledger, rounds: Int) {
        print(
            """
            kill: \(rounds) rounds, seed \(Chaos.seed): \
            \(ledger.acknowledged.count) acknowledged changes, \
            \(ledger.sums.values.reduce(0, +)) increments; in flight at a kill \
            \(found.inFlight), applied \(found.applied), not applied \(found.notApplied)
            """
        )
    }
}
