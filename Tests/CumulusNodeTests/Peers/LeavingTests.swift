// What a node that leaves its cluster asks of the members that stay.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import CumulusWire
import Testing

@testable import CumulusNode

@Suite(.serialized) struct LeavingTests {
    /// An optimised build ended the waits of a leaving node before the pause in which reports were
    /// to come.
    ///
    /// Simulated whole nodes showed it: seed 1 told another story in a debug build.
    @Test func reportsAreWantedForAsLongAsANodeWaitsForThem() async throws {
        let key = Bytes(repeating: 0x5B, count: 32)
        let server = try await TestServer(clusterKey: key)
        let node = server.node
        // A member that reads nothing and reports nothing.
        let peer = Bytes(repeating: 7, count: 16)
        let link = try RawClient(greeting: server.endpoint, asPeer: peer, key: key)
        let isListed = try await eventually {
            let reader = node.gate.latest(reach: .disk)
            return try !Members.others(than: node.nodeID, in: reader).isEmpty
        }
        #expect(isListed)
        let leave = Task { try await node.leave(by: node.environment.now() + 1_000) }
        #expect(try await eventually { node.replicas.isWanted(.cluster) })
        var wanted = 0
        for _ in 0..<20 {
            try await Task.sleep(for: .milliseconds(10))
            if node.replicas.isWanted(.cluster) { wanted += 1 }
        }
        #expect(wanted > 10)
        await #expect(throws: ServiceError.self) { try await leave.value }
        #expect(!node.replicas.isWanted(.cluster))
        link.close()
        try await server.stop()
    }
}
