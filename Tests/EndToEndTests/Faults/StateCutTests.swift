// A new node takes a state over a link that is cut again and again: it goes on where it was, and
// hardly anything is sent twice.
//
// `cluster/chaos cut` takes a state of 1 GB and cuts the link every 5 seconds. Here it is cut
// whenever it has carried a quarter of the state. Bytes on their way at a cut, 1 MB and a page at
// most, are sent again.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(60))) struct StateCutTests {
    private static let recordBytes = 50_000
    private static let megabyte = 1_000_000
    private let records = (Chaos.stateMegabytes ?? 30) * megabyte / recordBytes

    /// Takes some ten seconds: logs have to go before there is a state to be taken.
    @Test func aStateGoesOnAfterEachCut() async throws {
        let cluster = try FaultCluster(2)
        try await cluster.use {
            try await cluster.start(arguments: ["--log-keep-seconds", "1"])
            try await remove(1, from: cluster)
            try await fill(cluster)
            // The donor drops its log: the new node has to take state.
            try await Task.sleep(for: .milliseconds(2_500))
            // 20 MB a second, so that a gigabyte takes long enough to be cut.
            if Chaos.stateMegabytes != nil { cluster.network.set(.slow(20 << 20), from: 0, to: 1) }
            cluster.network.holdStrangers()
            let before = cluster.network.carried(from: 0, to: 1)
            let began = Date()
            try await cluster.restart(
                1,
                arguments: ["--log-keep-seconds", "1"],
                waitsUntilReady: false
            )
            var cuts = 0
            // It lets nobody in before it has all of the state.
            while !cluster.nodes[1].isReady {
                cuts += try await cut(cluster) ? 1 : 0
                try #require(Date().timeIntervalSince(began) < 600, "it does not arrive")
            }
            let seconds = Date().timeIntervalSince(began)
            try await expect(cluster, cuts, cluster.network.carried(from: 0, to: 1) - before)
            print("state: \(cuts) cuts, \(Int(seconds)) s")
        }
    }

    private func expect(_ cluster: FaultCluster, _ cuts: Int, _ sent: Int) async throws {
        let size = records * Self.recordBytes
        print("state: \(sent) bytes were sent of a state of \(size)")
        #expect(sent > size)
        #expect(Double(sent) <= 1.2 * Double(size), "\(sent) of \(size) bytes")
        #expect(cuts >= 3)
        let log = cluster.nodes[1].errors
        let resumed = log.components(separatedBy: "going on with the peer's state").count - 1
        #expect(resumed >= 3, "\(log.suffix(4_000))")
        #expect(log.contains("took another node's state"))
        let isEqual = try await eventually(seconds: 30) {
            let (one, other) = (cluster.nodes[0], cluster.nodes[1])
            return try await cluster.status(one)["scopes"] == cluster.status(other)["scopes"]
        }
        #expect(isEqual)
    }

    /// Cuts the link when it is due; returns whether it was connected.
    private func cut(_ cluster: FaultCluster) async throws -> Bool {
        if Chaos.stateMegabytes != nil {
            try await Task.sleep(for: .seconds(5))
        } else {
            let first = cluster.network.carried(from: 0, to: 1)
            let end = Date().addingTimeInterval(1)
            while cluster.network.carried(from: 0, to: 1) < first + records * Self.recordBytes / 4,
                Date() < end
            {
                try await Task.sleep(for: .milliseconds(2))
            }
            if Date() >= end { return false }
        }
        cluster.network.disconnect(0, 1)
        return true
    }

    private func fill(_ cluster: FaultCluster) async throws {
        let container = try cluster.container(0)
        for first in stride(from: 0, to: records, by: 20) {
            let batch = (first..<min(first + 20, records)).map { number in
                var record = Record(
                    recordType: "Note",
                    recordID: Record.ID(recordName: "r\(number)")
                )
                record["text"] = .string(String(repeating: "x", count: Self.recordBytes))
                return record
            }
            _ = try await container.privateCloudDatabase.modifyRecords(saving: batch, deleting: [])
        }
        await container.close()
    }

    /// Its disk is gone; the other one waits for nobody.
    private func remove(_ number: Int, from cluster: FaultCluster) async throws {
        let old = try await cluster.status(cluster.nodes[number])["node"]
        try await cluster.nodes[number].end(SIGKILL)
        guard case .string(let id)? = old else { return }
        let admin = try cluster.operator(of: 0)
        _ = try await admin.removeMember(id)
        await admin.close()
        try FileManager.default.removeItem(atPath: cluster.data(number))
    }
}
