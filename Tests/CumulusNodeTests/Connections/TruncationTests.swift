// Tokens of a future that a backup doesn't know: of a single node they expire, of a cluster once an
// operator has said that nobody has it.

import CumulusModel
import CumulusStorage
import CumulusTesting
import CumulusWire
import Testing

@testable import Cumulus
@testable import CumulusNode

@Suite(.serialized) struct TruncationTests {
    private static let key = Bytes(repeating: 0x5A, count: 32)
    private let zoneID = RecordZone.ID(zoneName: "Notes")

    private func save(_ name: String, at server: TestServer, _ user: String) async throws {
        let container = server.container(token: user)
        let record = Record(
            recordType: "Note",
            recordID: Record.ID(recordName: name, zoneID: zoneID)
        )
        _ = try await container.privateCloudDatabase.save(record)
        await container.close()
    }

    /// What a caller holds who saw more than the backup has.
    private struct Caller {
        var user: String
        var token: ServerChangeToken
        var session: Session
    }

    /// A server with a zone, its backup, and a caller who saw what came after it.
    ///
    /// - Parameter isMarkedAhead: After the backup the clock was an hour ahead, and a mark was set.
    private func makeCaller(
        _ engine: MemoryEngine,
        isMarkedAhead: Bool = false
    ) async throws -> (backup: MemoryEngine, caller: Caller) {
        let server = try await TestServer(engine: engine, clusterKey: Self.key)
        let user = try await server.makeUser("ada")
        let client = server.container(token: user)
        _ = try await client.privateCloudDatabase.save(RecordZone(zoneID: zoneID))
        try await save("kept", at: server, user)
        let backup = MemoryEngine(reopening: engine)
        if isMarkedAhead {
            try await server.node.gate.change(.commits) { transaction throws(EngineError) in
                let ahead = HybridTime(milliseconds: transaction.now + 3_600_000)
                _ = try Truncation.mark(above: ahead, in: &transaction)
            }
        }
        try await save("lost", at: server, user)
        let changes = try await client.privateCloudDatabase.recordZoneChanges(
            inZoneWith: zoneID,
            since: nil
        )
        let caller = Caller(user: user, token: changes.changeToken, session: client.session)
        await client.close()
        try await server.stop()
        return (backup, caller)
    }

    private func client(of server: TestServer, _ caller: Caller, seconds: Int = 5) -> Container {
        var configuration = Container.Configuration(endpoints: [server.endpoint])
        configuration.accessToken = caller.user
        configuration.timeout = .seconds(seconds)
        configuration.session = caller.session
        return Container(identifier: TestServer.container, configuration: configuration)
    }

    /// The outcome of the caller's next fetch of changes; nil means it was answered.
    private func refusal(at server: TestServer, _ caller: Caller) async throws -> ServiceError? {
        let raw = try RawClient(greeting: server.endpoint, token: caller.user)
        let request = FetchZoneChangesRequest(
            database: .private,
            zone: WireZoneID(name: Bytes("Notes".utf8), owner: []),
            token: caller.token.bytes,
            limit: 0
        )
        do {
            _ = try raw.perform(.changesZone, request.encoded(), milliseconds: 2_000)
            return nil
        } catch let error as ServiceError {
            return error
        }
    }

    @Test func aSingleNodeThatWentBackLetsTokensExpire() async throws {
        let (backup, caller) = try await makeCaller(MemoryEngine())
        let server = try await TestServer(engine: backup, clusterKey: Self.key)
        server.follow([])
        let isTold = try await eventually {
            try await refusal(at: server, caller)?.code == .changeTokenExpired
        }
        #expect(isTold)
        // Nobody waits for what was seen of the lost past; the session goes on.
        let client = client(of: server, caller)
        let all = try await client.privateCloudDatabase.recordZoneChanges(
            inZoneWith: zoneID,
            since: nil
        )
        #expect(all.modificationResultsByID.count == 1)
        let again = try await client.privateCloudDatabase.recordZoneChanges(
            inZoneWith: zoneID,
            since: all.changeToken
        )
        #expect(again.modificationResultsByID.isEmpty)
        await client.close()
        try await server.stop()
    }

    /// The mark that the caller knew is lost with the rest: the next one still ranks above it, once
    /// the nodes have met it.
    @Test func aLostMarkOfAClockThatWasAheadIsOutranked() async throws {
        let (backup, caller) = try await makeCaller(MemoryEngine(), isMarkedAhead: true)
        let one = try await TestServer(engine: backup, clusterKey: Self.key)
        let other = try await TestServer(clusterKey: Self.key)
        one.follow([other])
        other.follow([one])
        let hasMet = try await eventually {
            (try? await refusal(at: one, caller))?.reason == .nodeBehind
        }
        #expect(hasMet)
        let admin = NodeOperator(endpoint: one.endpoint, token: TestServer.operatorToken)
        _ = try await admin.truncate()
        await admin.close()
        let isTold = try await eventually {
            try await refusal(at: one, caller)?.code == .changeTokenExpired
        }
        #expect(isTold)
        for server in [one, other] { try await server.stop() }
    }

    @Test func aClusterThatWentBackLetsTokensExpireOnceItIsMarked() async throws {
        let (backup, caller) = try await makeCaller(MemoryEngine())
        let one = try await TestServer(engine: backup, clusterKey: Self.key)
        let other = try await TestServer(clusterKey: Self.key)
        one.follow([other])
        other.follow([one])
        let hasMet = try await eventually {
            (try? await refusal(at: other, caller))?.code == .serviceUnavailable
        }
        #expect(hasMet)
        // Another node might have it.
        #expect(try await refusal(at: one, caller)?.reason == .nodeBehind)
        let admin = NodeOperator(endpoint: one.endpoint, token: TestServer.operatorToken)
        #expect(try await admin.truncate() == 3)
        await admin.close()
        for server in [one, other] {
            let isTold = try await eventually {
                try await refusal(at: server, caller)?.code == .changeTokenExpired
            }
            #expect(isTold)
        }
        // Tokens that were made since are waited for again.
        let client = client(of: one, caller)
        let all = try await client.privateCloudDatabase.recordZoneChanges(
            inZoneWith: zoneID,
            since: nil
        )
        await other.unfollow()
        try await save("newer", at: one, caller.user)
        let newer = try await client.privateCloudDatabase.recordZoneChanges(
            inZoneWith: zoneID,
            since: all.changeToken
        )
        let next = Caller(
            user: caller.user,
            token: newer.changeToken,
            session: caller.session
        )
        #expect(try await refusal(at: other, next)?.reason == .nodeBehind)
        await client.close()
        for server in [one, other] { try await server.stop() }
    }
}
