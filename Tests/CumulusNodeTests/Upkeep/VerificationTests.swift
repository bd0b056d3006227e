// A comparison tells how far it is, so that it may take as long as it has to.

import Cumulus
import CumulusModel
import CumulusStorage
import CumulusTesting
import Dispatch
import Synchronization
import Testing

@testable import CumulusNode

/// Waits in real time for messages that come every second: 5 s.
@Suite struct VerificationTests {
    private static let key = Bytes(repeating: 0x5A, count: 32)

    /// The peer is busy for longer than the operator bears silence.
    @Test func progressBeatsSilence() async throws {
        let peer = try await TestServer(clusterKey: Self.key)
        let server = try await TestServer(clusterKey: Self.key)
        server.follow([peer])
        let admin = NodeOperator(
            endpoint: server.endpoint,
            token: TestServer.operatorToken,
            timeout: .seconds(3)
        )
        let isConnected = try await eventually {
            try await admin.members().contains { $0.isConnected }
        }
        #expect(isConnected)
        let isOver = DispatchSemaphore(value: 0)
        #expect(peer.node.gate.read(.prompt) { isOver.wait() })
        let told = Mutex(0)
        async let verdict = admin.verify(with: peer.node.nodeID.hex, repairs: false) { _ in
            told.withLock { $0 += 1 }
        }
        // One comes every second.
        let isPatient = try await eventually { told.withLock { $0 } >= 4 }
        #expect(isPatient)
        isOver.signal()
        #expect(try await verdict.different == 0)
        await admin.close()
        try await server.stop()
        try await peer.stop()
    }

    /// Rows that don't decode are named, and other rows answer.
    @Test func rowsThatDoNotDecodeAreMended() async throws {
        let engine = MemoryEngine()
        let peer = try await TestServer(clusterKey: Self.key)
        let server = try await TestServer(engine: engine, clusterKey: Self.key)
        server.follow([peer])
        let client = try await peer.container(user: "ada")
        let records = (0..<50).map { Record("r\($0)", ["text": .string("abc")]) }
        _ = try await client.privateCloudDatabase.modifyRecords(saving: records, deleting: [])
        let admin = server.nodeOperator()
        let isThere = try await eventually {
            try server.node.gate.latest(reach: .disk).rows(.records, .all(.record)).count == 50
        }
        #expect(isThere)
        let rows = try server.node.gate.latest(reach: .disk).rows(.records, .all(.record))
        var batch = EngineBatch()
        batch.writes = rows[10..<20].map { .init(family: .records, key: $0.key, value: [9, 9]) }
        engine.commit(batch)
        // It becomes visible with the next commit.
        _ = try await client.privateCloudDatabase.save(Record("last", ["text": .string("abc")]))
        let isSeen = try await eventually {
            try server.node.gate.latest(reach: .disk).rows(.records, .all(.record)).count == 51
        }
        #expect(isSeen)
        let id = peer.node.nodeID.hex
        let found = try await admin.verify(with: id, repairs: false)
        #expect(found.damaged == 10 && found.damagedRows.count == 10 && found.mended == 0)
        #expect(found.different == 0)
        #expect(found.damagedRows.allSatisfy { $0.kind == "record" && !$0.recordName.isEmpty })
        let mended = try await admin.verify(with: id, repairs: true)
        #expect(mended.mended == 10 && mended.different == 0)
        let again = try await admin.verify(with: id, repairs: false)
        #expect(again.damaged == 0 && again.records == 51)
        await client.close()
        await admin.close()
        try await server.stop()
        try await peer.stop()
    }
}
