// A new node that is killed again and again while it takes everything from others, which go on
// writing: it gets there in the end.
//
// `cluster/chaos bootstrap` kills it more often.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(60))) struct BootstrapTests {
    @Test func aNewNodeThatIsKilledGetsThere() async throws {
        let cluster = try FaultCluster()
        try await cluster.use {
            try await cluster.start(arguments: ["--log-keep-seconds", "1"])
            try await fill(cluster)
            // The more it is to be killed, the more is to be taken meanwhile.
            let began = Date()
            try await cluster.load(writersPerNode: 2 + Chaos.cycles / 4, on: [0, 1])
            var dice = SeededGenerator(seed: Chaos.seed)
            try await lose(2, of: cluster)
            for _ in 0..<Chaos.cycles {
                try await Task.sleep(for: .milliseconds(Int.random(in: 10...400, using: &dice)))
                try await cluster.nodes[2].end(SIGKILL)
                try await restart(2, of: cluster)
            }
            try await Task.sleep(for: .milliseconds(500))
            let rate = Double(cluster.acknowledged) / Date().timeIntervalSince(began)
            await cluster.finish()
            try await cluster.expectOne(within: 30)
            print(
                """
                bootstrap: \(Chaos.cycles) kills, seed \(Chaos.seed): \
                \(cluster.acknowledged) changes were acknowledged meanwhile, \(Int(rate)) a second
                """
            )
            #expect(cluster.nodes[2].isReady)
        }
    }

    /// Something to take.
    private func fill(_ cluster: FaultCluster) async throws {
        let container = try cluster.container(0)
        for batch in 0..<50 {
            let records = (0..<200).map { number in
                let id = Record.ID(recordName: "old-\(batch)-\(number)")
                var record = Record(recordType: "Note", recordID: id)
                record["text"] = .string(String(repeating: "x", count: 200))
                return record
            }
            _ = try await container.privateCloudDatabase.modifyRecords(
                saving: records,
                deleting: []
            )
        }
        await container.close()
    }

    /// Its disk is gone; it comes back as a new node.
    private func lose(_ number: Int, of cluster: FaultCluster) async throws {
        let old = try await cluster.status(cluster.nodes[number])["node"]
        try await cluster.nodes[number].end(SIGKILL)
        guard case .string(let id)? = old else { return }
        let admin = NodeOperator(
            endpoint: try cluster.nodes[0].endpoint,
            token: try cluster.nodes[0].operatorToken
        )
        _ = try await admin.removeMember(id)
        await admin.close()
        try FileManager.default.removeItem(atPath: cluster.data(number))
        // The others drop their logs: it has to take state.
        try await Task.sleep(for: .milliseconds(2_500))
        try await restart(number, of: cluster)
    }

    /// It is to be killed before it is ready.
    private func restart(_ number: Int, of cluster: FaultCluster) async throws {
        let arguments = ["--log-keep-seconds", "1"]
        try await cluster.restart(number, arguments: arguments, waitsUntilReady: false)
    }
}
