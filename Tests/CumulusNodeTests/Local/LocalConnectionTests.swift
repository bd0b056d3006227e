// Callers in the node's own process are callers like any other.

import Crypto
import Cumulus
import CumulusAssets
import CumulusModel
import CumulusOperations
import CumulusTesting
import CumulusWire
import Testing

@testable import CumulusNode

@Suite struct LocalConnectionTests {
    private static let scope = ScopeID(container: TestServer.container, environment: .development)

    private func digest(_ token: String) -> Bytes {
        Sessions.digest(of: Bytes(token.utf8))
    }

    private func open(
        _ server: TestServer,
        _ proof: LocalEntrance.Proof = .nothing,
        scope: ScopeID = LocalConnectionTests.scope
    ) async throws -> (connection: LocalConnection, user: String) {
        try await LocalConnection.open(LocalEntrance(scope, proof), on: server.node)
    }

    private func code(_ body: () async throws -> Void) async -> ServiceError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? ServiceError)?.code
        }
    }

    @Test func aUserIsTheSameAsOverTCP() async throws {
        try await withServer { server in
            let token = try await server.makeUser("anna")
            let container = server.container(token: token)
            let record = Record(recordType: "Note", recordID: .init(recordName: "a"))
            try await container.privateCloudDatabase.save(record)
            let (connection, user) = try await open(server, .session(digest: digest(token)))
            #expect(try await container.userRecordID().recordName == user)
            let ids = ["a", "none"].map { WireRecordID(Record.ID(recordName: $0)) }
            let message = FetchRecordsRequest(database: .private, ids: ids).encoded()
            let answer = try await connection.call(CallHeader(.recordsFetch), message)
            let results = try answer.flatMap { try FetchRecordsResponse(wire: $0).results }
            #expect(try results.first?.get().recordType == "Note")
            #expect(results.count == 2)
            connection.close()
            await container.close()
        }
    }

    @Test func whoMayNotComeInIsToldWhy() async throws {
        try await withServer { server in
            let unknown = await code { _ = try await open(server, .session(digest: digest("x"))) }
            #expect(unknown == .notAuthenticated)
            let key = LocalEntrance.Proof.serviceKey(id: Bytes(repeating: 1, count: 16)) { _ in
                true
            }
            let forged = await code { _ = try await open(server, key) }
            #expect(forged == .notAuthenticated)
            let none = ScopeID(container: "iCloud.none", environment: .production)
            let absent = await code { _ = try await open(server, scope: none) }
            #expect(absent == .badContainer)
            let (connection, user) = try await open(server)
            #expect(user.isEmpty)
            let list = ListZonesRequest(database: .private).encoded()
            let anonymous = await code {
                _ = try await connection.call(CallHeader(.zonesList), list)
            }
            #expect(anonymous == .notAuthenticated)
            let operators = await code {
                _ = try await connection.call(CallHeader(.operatorStatus), [])
            }
            #expect(operators == .permissionFailure)
            connection.close()
        }
    }

    @Test func theOperatorComesInByItsTokenOrWhatIsMadeOfIt() async throws {
        try await withServer { server in
            let token = Bytes(TestServer.operatorToken.utf8)
            let digest = Bytes(SHA256.hash(data: token))
            let proofs: [LocalEntrance.Proof] = [
                .operatorToken(token), .operatorSession(digest: digest),
            ]
            for proof in proofs {
                let entrance = LocalEntrance(.cluster, proof, isSecret: true)
                let (connection, user) = try await LocalConnection.open(entrance, on: server.node)
                #expect(user.isEmpty)
                let answer = try await connection.call(CallHeader(.operatorStatus), [])
                #expect(try NodeStatus(wire: answer.first ?? []).state == "ready")
                // Its calls name their scope themselves.
                let unnamed = await code {
                    _ = try await connection.call(CallHeader(.schemaRead), [])
                }
                #expect(unnamed == .invalidArguments)
                connection.close()
            }
            for proof in [.operatorSession(digest: token), .operatorToken(digest)]
                as [LocalEntrance.Proof]
            {
                let entrance = LocalEntrance(.cluster, proof, isSecret: true)
                let refused = await code {
                    _ = try await LocalConnection.open(entrance, on: server.node)
                }
                #expect(refused == .notAuthenticated)
            }
            let overPlainTCP = await code { _ = try await open(server, proofs[0]) }
            #expect(overPlainTCP == .notAuthenticated)
        }
    }

    /// Wrong tokens are counted by address, and neither they nor passwords stop the right one.
    @Test func wrongOperatorTokensAreCounted() async throws {
        try await withServer { server in
            func code(_ proof: LocalEntrance.Proof) async -> ServiceError.Code? {
                let entrance = LocalEntrance(
                    .cluster,
                    proof,
                    address: [10, 0, 0, 1],
                    isSecret: true
                )
                return await self.code {
                    try await LocalConnection.open(entrance, on: server.node).connection.close()
                }
            }
            for _ in 0..<30 { #expect(await code(.operatorToken([1])) == .notAuthenticated) }
            #expect(await code(.operatorToken([1])) == .requestRateLimited)
            let token = Bytes(TestServer.operatorToken.utf8)
            #expect(await code(.operatorToken(token)) == nil)
            let now = server.node.environment.now()
            for number in UInt8(0)..<30 {
                let guess = Attempts.Way.password(of: [number])
                try server.node.attempts.begin(guess, from: [10, 0, 0, 1], now: now)
            }
            #expect(await code(.operatorToken(token)) == nil)
            #expect(await code(.operatorSession(digest: Bytes(SHA256.hash(data: token)))) == nil)
        }
    }

    /// An answer is longer than the credit that a call has from the beginning.
    @Test func aLongAnswerComesWhole() async throws {
        try await withServer { server in
            let token = try await server.makeUser("anna")
            let (connection, _) = try await open(server, .session(digest: digest(token)))
            let text = String(repeating: "x", count: 4_000)
            for start in stride(from: 0, to: 400, by: 100) {
                let saves = (start..<start + 100).map { number in
                    var record = Record(
                        recordType: "Note",
                        recordID: .init(recordName: "n\(number)")
                    )
                    record["text"] = .string(text)
                    return record.encodedSave(allKeys: false)
                }
                let message = ModifyRecordsRequest(
                    database: .private,
                    policy: 0,
                    isAtomic: false,
                    saves: saves,
                    deletes: []
                ).encoded()
                _ = try await connection.change(CallHeader(.recordsModify), message)
            }
            let list = ListRecordsRequest(database: .private, zone: nil).encoded()
            let answer = try await connection.call(CallHeader(.recordsList), list)
            let records = try answer.flatMap { try ListRecordsResponse(wire: $0).records }
            #expect(records.count == 400)
            #expect(answer.count > 1)
            connection.close()
        }
    }

    /// An upload is longer than the window that the node opens for it.
    @Test func aLongUploadGoesAsThereIsRoom() async throws {
        try await withServer { server in
            let token = try await server.makeUser("anna")
            let (connection, _) = try await open(server, .session(digest: digest(token)))
            let chunks = (0..<10).map { number in
                let plain = Bytes(repeating: UInt8(number), count: ContentCutter.largest)
                let digest = plain.withUnsafeBytes { Chunk.digest(of: $0) }
                return Chunk(
                    digest: digest,
                    size: plain.count,
                    isCompressed: false,
                    content: plain[...]
                )
            }
            var list = ChunkList()
            for chunk in chunks {
                list.append(ChunkList.Entry(digest: chunk.digest, size: chunk.size))
            }
            let prepare = PrepareAssetsRequest(database: .private, lists: [list.bytes]).encoded()
            func missing() async throws -> [Int] {
                let answer = try await connection.call(CallHeader(.assetsPrepare), prepare)
                let first = try #require(answer.first)
                return try #require(try PrepareAssetsResponse(wire: first).results.first).get()
            }
            #expect(try await missing() == Array(0..<10))
            let answer = try await connection.upload(
                CallHeader(.assetsUpload),
                UploadChunksRequest(database: .private).encoded(),
                chunks.map { WireChunks([$0]).encoded() }
            )
            let response = try UploadChunksResponse(wire: try #require(answer.first))
            #expect(response.chunks == 10)
            #expect(try await missing() == [])
            let none = try await connection.upload(
                CallHeader(.assetsUpload),
                UploadChunksRequest(database: .private).encoded(),
                []
            )
            #expect(try UploadChunksResponse(wire: try #require(none.first)).chunks == 0)
            connection.close()
        }
    }

    /// A feed has no end: what it tells is taken message by message, until its reader goes away.
    @Test func aFeedIsFollowedAsItComes() async throws {
        try await withServer { server in
            let token = try await server.makeUser("anna")
            let (connection, _) = try await open(server, .session(digest: digest(token)))
            let request = FollowFeedRequest(token: []).encoded()
            let stream = await connection.follow(CallHeader(.feedsFollow), request)
            let first = try #require(try await stream.next())
            #expect(try WireFeedPage(wire: first).isCheckpoint)
            let waiting = Task { try await stream.next() }
            try await Task.sleep(for: .milliseconds(20))
            waiting.cancel()
            let ended = await code { _ = try await waiting.value }
            #expect(ended == .operationCancelled)
            let list = ListZonesRequest(database: .private).encoded()
            _ = try await connection.call(CallHeader(.zonesList), list)
            let other = await connection.follow(CallHeader(.feedsFollow), request)
            _ = try await other.next()
            connection.close()
            let closed = await code { _ = try await other.next() }
            #expect(closed == .operationCancelled)
            let late = await connection.follow(CallHeader(.feedsFollow), request)
            #expect(await code { _ = try await late.next() } == .operationCancelled)
        }
    }

    @Test func aRevokedSessionEnds() async throws {
        try await withServer { server in
            let token = try await server.makeUser("anna")
            let (connection, _) = try await open(server, .session(digest: digest(token)))
            let list = ListZonesRequest(database: .private).encoded()
            _ = try await connection.call(CallHeader(.zonesList), list)
            let container = server.container(token: token)
            try await container.revokeAllSessions()
            let after = await code {
                _ = try await connection.call(CallHeader(.zonesList), list)
            }
            #expect(after == .notAuthenticated)
            connection.close()
            let closed = await code {
                _ = try await connection.call(CallHeader(.zonesList), list)
            }
            #expect(closed == .operationCancelled)
            await container.close()
        }
    }

    @Test func whatIsSealedForADoorIsOpenedByNothingElse() async throws {
        try await withServer { server in
            let sealed = server.node.seal(web: [1, 2, 3])
            #expect(server.node.open(web: sealed) == [1, 2, 3])
            for cut in Damage.truncations(of: sealed) { #expect(server.node.open(web: cut) == nil) }
            let columns = try await server.node.columns(of: ["Users", "No"], in: Self.scope)
            #expect(columns["No"] == nil)
            #expect(columns["Users"] != nil)
        }
    }

    /// Doors open a connection for each call; callers with one for many calls keep their part of a
    /// full room.
    @Test func connectionsOfDoorsTakeNoPartOfOthers() async throws {
        let (meter, limits) = (NodeMeter(), Limits.standard)
        meter.connections.add(11)
        meter.localConnections.add(10)
        meter.heldBytes.add(limits.nodeUnansweredBytes * 2)
        let half = limits.nodeUnansweredBytes / 2
        #expect(ConnectionRoom(meter, limits).allows(half))
        let local = ConnectionRoom(meter, limits, isLocal: true)
        #expect(!local.allows(half) && local.allows(half / 11))
        try await withServer { server in
            let (connection, _) = try await open(server)
            #expect(server.node.meter.localConnections.value == 1)
            connection.close()
            for _ in 0..<500 where server.node.meter.localConnections.value > 0 {
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(server.node.meter.localConnections.value == 0)
        }
    }

    /// Connections that share a restraint are held up together.
    @Test func aCallerThatComesTooSoonIsHeldUpOnItsNextConnection() async throws {
        try await withServer { server in
            let restraint = SharedRestraint()
            var entrance = LocalEntrance(Self.scope)
            entrance.restraint = restraint
            let (connection, _) = try await LocalConnection.open(entrance, on: server.node)
            let start = server.node.environment.now()
            for _ in 0...Restraint.mostIgnored { restraint.refused(retryAfter: 400, now: start) }
            #expect(restraint.isPausing(now: start))
            _ = try await connection.call(CallHeader(.accountsWhoAmI), [])
            #expect(server.node.environment.now() >= start + 400)
            connection.close()
        }
    }
}
