// Nodes of a cluster that are restarted one after the other, that stand still for a while, or that
// go back to old backups, while clients write on all: nothing that was acknowledged is lost.
//
// `cluster/chaos restart`, `pause` and `restore` run more cycles.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(60))) struct RestartFaultTests {
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
    }

    /// Every node in turn: each ends by itself, soon, and the others' callers don't notice.
    @Test func rollingRestartsLoseNothing() async throws {
        let cluster = try FaultCluster()
        try await cluster.use {
            try await cluster.start()
            try await cluster.load()
            var longest = Duration.zero
            for cycle in 0..<Chaos.cycles {
                let number = cycle % cluster.nodes.count
                try await Task.sleep(for: .milliseconds(100))
                let began = ContinuousClock.now
                #expect(try await cluster.nodes[number].end(SIGTERM) == .exit(0))
                longest = max(longest, ContinuousClock.now - began)
                try await cluster.restart(number)
            }
            await cluster.finish()
            try await cluster.expectOne(within: 10)
            print(
                """
                restarts: \(Chaos.cycles), seed \(Chaos.seed): a node ended within \(longest); \
                \(cluster.acknowledged) acknowledged changes
                """
            )
            #expect(longest < .seconds(10))
            #expect(cluster.acknowledged > 50)
        }
    }

    /// A process that stands still for some seconds, as a virtual machine that is moved does.
    @Test func nodesThatStandStillLoseNothing() async throws {
        let cluster = try FaultCluster()
        try await cluster.use {
            try await cluster.start()
            try await cluster.load()
            var dice = SeededGenerator(seed: Chaos.seed)
            for _ in 0..<Chaos.cycles {
                let node = cluster.nodes[Int.random(in: 0..<3, using: &dice)]
                node.kill(SIGSTOP)
                let pause = Int.random(in: 100...(Chaos.cycles > 20 ? 4_000 : 600), using: &dice)
                try await Task.sleep(for: .milliseconds(pause))
                node.kill(SIGCONT)
                try await Task.sleep(for: .milliseconds(Int.random(in: 50...300, using: &dice)))
            }
            await cluster.finish()
            try await cluster.expectOne(within: 10)
            print(
                """
                pauses: \(Chaos.cycles), seed \(Chaos.seed): \
                \(cluster.acknowledged) acknowledged changes
                """
            )
            #expect(cluster.acknowledged > 100)
        }
    }

    /// What a node lost comes back from the others, what it then takes while nobody else is there
    /// is kept beside it, and no number is used twice.
    @Test func oldBackupsLoseNothing() async throws {
        let cluster = try FaultCluster()
        try await cluster.use {
            try await cluster.start()
            // What only the node has that goes back is lost with it.
            try await cluster.load(writersPerNode: 2, concern: .replicated(1))
            var dice = SeededGenerator(seed: Chaos.seed)
            var backups: [(number: Int, path: String)] = []
            var isolated: [String] = []
            for cycle in 0..<Chaos.cycles {
                let chosen = Int.random(in: 0..<3, using: &dice)
                let path = "\(folder.path)/backup\(cycle)"
                try await backUp(cluster.nodes[chosen], to: path)
                backups.append((chosen, path))
                try await Task.sleep(for: .milliseconds(Int.random(in: 50...500, using: &dice)))
                let old = backups.suffix(20).randomElement(using: &dice) ?? (chosen, path)
                let isAlone = Bool.random(using: &dice)
                if isAlone { setCut(old.number, of: cluster) }
                try await goBack(old.number, to: old.path, cluster)
                if isAlone {
                    isolated += try await save("alone-\(cycle)", 5, at: old.number, cluster)
                    cluster.network.heal()
                }
                // A cluster that loses two copies before there is a third may lose acknowledged
                // records.
                var names = isolated.suffix(20)
                for number in cluster.nodes.indices {
                    names += try await save("mark-\(cycle)-\(number)", 1, at: number, cluster)
                }
                try await expect(Array(names), everywhere: cluster)
                try await mark(cluster.nodes[old.number])
            }
            await cluster.finish()
            try await cluster.expectOne(within: 20)
            print(
                """
                restores: \(Chaos.cycles), seed \(Chaos.seed): \(isolated.count) records saved on \
                nodes that were alone; \(cluster.acknowledged) acknowledged changes
                """
            )
            for node in cluster.nodes {
                // So it would be if a number were used twice.
                #expect(!node.errors.contains("commits of a node are refused"))
                #expect(!node.errors.contains("holds something else"))
            }
        }
    }

    /// What callers saw that was on no other node will never come back.
    private func mark(_ node: NodeProcess) async throws {
        let admin = NodeOperator(endpoint: try node.endpoint, token: try node.operatorToken)
        _ = try await admin.truncate()
        await admin.close()
    }

    private func backUp(_ node: NodeProcess, to path: String) async throws {
        let admin = NodeOperator(endpoint: try node.endpoint, token: try node.operatorToken)
        _ = try await admin.backUp(to: path)
        await admin.close()
    }

    /// Nobody hears of a node, nor it of anybody.
    private func setCut(_ number: Int, of cluster: FaultCluster) {
        for other in cluster.nodes.indices where other != number {
            cluster.network.cut(number, other)
        }
    }

    private func goBack(_ number: Int, to backup: String, _ cluster: FaultCluster) async throws {
        try await cluster.nodes[number].end(SIGKILL)
        try FileManager.default.removeItem(atPath: cluster.data(number))
        try FileManager.default.copyItem(atPath: backup, toPath: cluster.data(number))
        try await cluster.restart(number)
    }

    private func save(
        _ prefix: String,
        _ count: Int,
        at number: Int,
        _ cluster: FaultCluster
    ) async throws -> [String] {
        let container = try cluster.container(number)
        let names = (0..<count).map { "\(prefix)-\($0)" }
        for name in names {
            let id = Record.ID(recordName: name)
            _ = try await container.privateCloudDatabase.save(
                Record(recordType: "Note", recordID: id)
            )
        }
        await container.close()
        return names
    }

    /// A record that is there brings all that its node had when it was saved.
    private func expect(_ names: [String], everywhere cluster: FaultCluster) async throws {
        let ids = names.map { Record.ID(recordName: $0) }
        for number in cluster.nodes.indices {
            let container = try cluster.container(number)
            // Everything since the backup is taken over first, beside the writers.
            let areThere = try await eventually(seconds: 60) {
                let found = try await container.privateCloudDatabase.records(for: ids)
                return found.values.allSatisfy { (try? $0.get()) != nil }
            }
            await container.close()
            #expect(areThere, "node \(number) lacks some of \(names), seed \(Chaos.seed)")
        }
    }
}
