// Random histories of devices that follow feeds at the nodes of a cluster, one of which is killed
// in the middle. In the end each device holds the matching records. It was told nothing twice, and
// no record left that it did not hold.
//
// Each takes a few seconds: three nodes start, devices follow for two rounds, and each round ends
// with every device at every node. `cluster/chaos feeds` runs longer ones.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(30))) struct FeedHistoryTests {
    private static let rounds = Chaos.isAsked ? 20 : 2
    private static let steps = Chaos.isAsked ? 200 : 60

    /// Whether a round has faults.
    private func hasFault(_ round: Int) -> Bool { Chaos.isAsked || round == 1 }

    /// Nodes are processes, and one is killed with SIGKILL.
    @Test(arguments: [Chaos.seed, Chaos.seed &+ 1])
    func aKilledNodeChangesNothing(seed: UInt64) async throws {
        let cluster = try FaultCluster(3)
        try await cluster.use {
            try await cluster.start()
            var tokens: [String] = []
            for user in FeedHistory.users {
                tokens.append(try await cluster.nodes[0].makeToken(of: user))
            }
            let history = FeedHistory(
                seed: seed,
                endpoints: try cluster.nodes.map { try $0.endpoint },
                tokens: tokens
            )
            try await history.prepare()
            for round in 0..<Self.rounds {
                try await history.round(round, steps: Self.steps) {
                    guard hasFault(round) else { return }
                    let victim = round % 3
                    try await Task.sleep(for: .milliseconds(200))
                    try await cluster.nodes[victim].end(SIGKILL)
                    try await Task.sleep(for: .milliseconds(200))
                    try await cluster.restart(victim)
                }
            }
            expectAll(of: history, seed)
        }
    }

    /// A device leaves in the middle of what it is told, and goes on elsewhere.
    ///
    /// Nodes are in this process, and their pages end after a few notifications. One stops, and
    /// runs again on its store.
    @Test(arguments: [Chaos.seed]) func pagesThatEndEarlyChangeNothing(seed: UInt64) async throws {
        var limits = Limits.standard
        limits.pageBytes = 600
        let ring = try await NodeRing(limits: limits)
        try await ring.use {
            var tokens: [String] = []
            for user in FeedHistory.users { tokens.append(try await ring.makeUser(user)) }
            let history = FeedHistory(seed: seed, endpoints: ring.endpoints, tokens: tokens)
            try await history.prepare()
            for round in 0..<Self.rounds {
                try await history.round(round, steps: Self.steps) {
                    guard hasFault(round) else { return }
                    try await Task.sleep(for: .milliseconds(200))
                    try await ring.restart(round % 3)
                }
            }
            expectAll(of: history, seed)
            #expect(history.count("feeds: cut pages") > 0)
        }
    }

    private func expectAll(of history: FeedHistory, _ seed: UInt64) {
        let counts = ["pages", "cut pages", "notifications", "uncertain", "resets"].map { what in
            "\(history.count("feeds: \(what)")) \(what)"
        }
        print("feeds: seed \(seed): \(counts.joined(separator: ", "))")
        #expect(history.faults.isEmpty, "\(history.faults.prefix(5)), seed \(seed)")
        #expect(history.count("feeds: notifications") > 100, "seed \(seed)")
    }
}
