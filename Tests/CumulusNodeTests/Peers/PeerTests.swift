// Nodes of one cluster on real sockets: what is written on one can be read on all, and nobody else
// gets in.

import Cumulus
import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import CumulusTransport
import CumulusWire
import Dispatch
import Synchronization
import Testing

@testable import CumulusNode

extension Bytes {
    fileprivate func contains(sequence: Bytes) -> Bool {
        indices.contains { self[$0...].starts(with: sequence) }
    }
}

@Suite(.serialized) struct PeerTests {
    private static let key = Bytes(repeating: 0x5A, count: 32)

    /// Runs a test with nodes of one cluster that end with it; nobody pulls yet.
    private func withCluster(
        _ engines: [any StorageEngine],
        _ body: ([TestServer]) async throws -> Void
    ) async throws {
        var servers: [TestServer] = []
        for engine in engines {
            servers.append(try await TestServer(engine: engine, clusterKey: Self.key))
        }
        do {
            try await body(servers)
        } catch {
            for server in servers { try await server.stop() }
            throw error
        }
        for server in servers { try await server.stop() }
    }

    private func follow(_ servers: [TestServer]) {
        for server in servers { server.follow(servers.filter { $0 !== server }) }
    }

    /// What a node answers once it has the record; nil if that takes too long.
    private func title(_ name: String, at server: TestServer, _ token: String) async throws
        -> String?
    {
        for _ in 0..<500 {
            let container = server.container(token: token, timeout: .seconds(10))
            defer { Task { await container.close() } }
            let id = Record.ID(recordName: name)
            if let record = try? await container.privateCloudDatabase.record(for: id),
                case .string(let title)? = record["title"]
            {
                return title
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        return nil
    }

    private func save(_ name: String, at server: TestServer, _ token: String) async throws {
        let container = server.container(token: token)
        _ = try await container.privateCloudDatabase.save(Record(name, ["title": .string(name)]))
        await container.close()
    }

    @Test func whatIsWrittenOnOneIsReadOnAll() async throws {
        try await withCluster([MemoryEngine(), MemoryEngine(), MemoryEngine()]) { servers in
            follow(servers)
            // Users and tokens replicate like records.
            let token = try await servers[0].makeUser("ada")
            for (number, server) in servers.enumerated() {
                try await waitForUser(token, at: server)
                try await save("from \(number)", at: server, token)
            }
            for server in servers {
                for number in servers.indices {
                    let found = try await title("from \(number)", at: server, token)
                    #expect(found == "from \(number)")
                }
            }
        }
    }

    /// In a full mesh a commit comes from its origin, and nobody else sends it.
    @Test func eachCommitComesOnce() async throws {
        try await withCluster([MemoryEngine(), MemoryEngine(), MemoryEngine()]) { servers in
            follow(servers)
            let token = try await servers[0].makeUser("ada")
            for server in servers { try await waitForUser(token, at: server) }
            let client = servers[0].container(token: token)
            var round = 0
            func received() async throws -> [Int] {
                round += 1
                let before = servers.map { $0.node.meter.receivedCommits.value }
                for number in 0..<10 {
                    let record = Record("r\(round)-\(number)", ["title": "t"])
                    _ = try await client.privateCloudDatabase.save(record)
                }
                for server in servers {
                    #expect(try await title("r\(round)-9", at: server, token) == "t")
                }
                // A node that would send it a second time has had the time.
                try await Task.sleep(for: .milliseconds(20))
                return zip(servers, before).map { $0.node.meter.receivedCommits.value - $1 }
            }
            // Pulls begin one after the other: at first some are asked for more than they need be.
            let isOnce = try await eventually { try await received() == [0, 10, 10] }
            #expect(isOnce)
            await client.close()
        }
    }

    /// Nodes that hold equal data report equal data, and the peers from which they pull.
    @Test func theStatusShowsThatNodesAreEqual() async throws {
        try await withCluster([MemoryEngine(), MemoryEngine()]) { servers in
            follow(servers)
            let token = try await servers[0].makeUser("ada")
            try await waitForUser(token, at: servers[1])
            try await save("r", at: servers[1], token)
            let status = { (server: TestServer) in
                try server.node.status(server.node.gate.latest(reach: .disk))
            }
            let isEqual = try await eventually {
                let all = try servers.map { try status($0).scopes }
                return all[0] == all[1] && all[0].contains { $0.digest.contains { $0 != 0 } }
            }
            #expect(isEqual)
            #expect(try status(servers[0]).peers.map(\.endpoint) == [servers[1].endpoint])
            #expect(try status(servers[0]).peers[0].nodeID == status(servers[1]).nodeID)
            let peer = servers[1].node.nodeID.hex
            let endpoint = servers[1].endpoint
            var metrics = await servers[0].node.metricsText()
            #expect(metrics.contains(#"cumulus_peer_connected{endpoint="\#(endpoint)"} 1"#))
            #expect(metrics.contains(#"cumulus_replication_delay_seconds{peer="\#(peer)"} "#))
            let lag = #"cumulus_replication_lag_commits{peer="\#(peer)"}"#
            let hasAll = try await eventually {
                await servers[0].node.metricsText().contains(lag + " 0\n")
            }
            #expect(hasAll)
            try await servers[1].stop()
            let isGone = try await eventually { try status(servers[0]).peers[0].nodeID.isEmpty }
            let peers = try status(servers[0]).peers
            #expect(isGone, "\(peers)")
            try await save("s", at: servers[0], token)
            metrics = await servers[0].node.metricsText()
            #expect(metrics.contains(lag) && !metrics.contains(lag + " 0\n"))
            #expect(metrics.contains(#"cumulus_peer_connected{endpoint="\#(endpoint)"} 0"#))
        }
    }

    /// Each node has a user that the other lacks: as many commits and the same records, but other
    /// settings.
    @Test func theStatusTellsNodesApartThatLackSettings() async throws {
        try await withCluster([MemoryEngine(), MemoryEngine()]) { servers in
            follow(servers)
            try await waitForUser(servers[0].makeUser("ada"), at: servers[1])
            let scopes = {
                try servers.map { try $0.node.status($0.node.gate.latest(reach: .disk)).scopes }
            }
            let isEqual = try await eventually { try scopes()[0] == scopes()[1] }
            #expect(isEqual)
            for server in servers { await server.unfollow() }
            _ = try await servers[0].makeUser("bob")
            _ = try await servers[1].makeUser("eve")
            let apart = try scopes()
            #expect(apart[0].map(\.digest) == apart[1].map(\.digest))
            #expect(apart[0].map(\.applied) != apart[1].map(\.applied))
            follow(servers)
            let isEqualAgain = try await eventually { try scopes()[0] == scopes()[1] }
            #expect(isEqualAgain)
        }
    }

    /// A store that was damaged behind its node's back is noticed when others have read as much.
    @Test func nodesThatHoldSomethingElseAreFound() async throws {
        let engines = [MemoryEngine(), MemoryEngine()]
        try await withCluster(engines) { servers in
            follow(servers)
            let token = try await servers[0].makeUser("ada")
            try await waitForUser(token, at: servers[1])
            let admin = NodeOperator(
                endpoint: servers[0].endpoint,
                token: TestServer.operatorToken
            )
            let agreement = {
                let other = try await admin.members().first { !$0.isThis }
                return other?.reports.first { !$0.container.isEmpty }?.holdsTheSame
            }
            try await save("r", at: servers[0], token)
            let isSame = try await eventually { try await agreement() == true }
            #expect(isSame)
            // Another digest for the zone of the record, at the second node.
            let reader = servers[1].node.gate.latest(reach: .disk)
            let rows = try reader.rows(.meta, .all(.zoneState))
            var batch = EngineBatch()
            for row in rows {
                var state = try ZoneState(row: row.value)
                state.digest &+= 1
                let write = EngineBatch.Write(
                    family: .meta,
                    key: row.key,
                    value: state.rowBytes
                )
                batch.writes.append(write)
            }
            engines[1].commit(batch)
            try await makeZone(at: servers[0], token)
            let isFound = try await eventually { try await agreement() == false }
            #expect(isFound)
            await admin.close()
        }
    }

    /// A node that can't apply what comes, for damage of its own, says that it is damaged.
    @Test func damageHereShowsInTheStatus() async throws {
        let engines = [MemoryEngine(), MemoryEngine()]
        try await withCluster(engines) { servers in
            follow(servers)
            let token = try await servers[0].makeUser("ada")
            try await waitForUser(token, at: servers[1])
            try await save("torn", at: servers[0], token)
            #expect(try await title("torn", at: servers[1], token) == "torn")
            let reader = servers[1].node.gate.latest(reach: .disk)
            let rows = try reader.rows(.records, .all(.record)).filter {
                $0.key.contains(sequence: Bytes("torn".utf8))
            }
            #expect(rows.count == 1)
            var batch = EngineBatch()
            batch.writes = rows.map { .init(family: .records, key: $0.key, value: [0xFF]) }
            engines[1].commit(batch)
            let client = servers[0].container(token: token)
            let database = client.privateCloudDatabase
            var record = try await database.record(for: Record.ID(recordName: "torn"))
            record["title"] = "mended"
            _ = try await database.save(record)
            await client.close()
            let isCounted = try await eventually { servers[1].node.meter.damagedRows.value > 0 }
            #expect(isCounted)
            #expect(servers[1].node.state == "damaged")
            #expect(servers[0].node.state == "ready")
        }
    }

    /// News, in a zone without records: what was changed behind a node's back shows with the next
    /// batch.
    private func makeZone(at server: TestServer, _ token: String) async throws {
        let client = server.container(token: token)
        try await client.privateCloudDatabase.save(RecordZone(zoneName: "Notes"))
        await client.close()
    }

    /// An operator lets one node compare itself with the other, and take what that one has.
    @Test func whatDiffersIsFoundAndMended() async throws {
        let engines = [MemoryEngine(), MemoryEngine()]
        try await withCluster(engines) { servers in
            follow(servers)
            let token = try await servers[0].makeUser("ada")
            try await waitForUser(token, at: servers[1])
            for number in 0..<20 { try await save("r\(number)", at: servers[0], token) }
            #expect(try await title("r19", at: servers[1], token) == "r19")
            // A record that the second node lost behind its own back.
            let reader = servers[1].node.gate.latest(reach: .disk)
            let rows = try reader.rows(.records, .all(.record)).filter {
                $0.key.contains(sequence: Bytes("r7".utf8))
            }
            #expect(rows.count == 1)
            var batch = EngineBatch()
            batch.writes = rows.map { .init(family: .records, key: $0.key, value: nil) }
            engines[1].commit(batch)
            try await makeZone(at: servers[1], token)
            let admin = NodeOperator(
                endpoint: servers[1].endpoint,
                token: TestServer.operatorToken
            )
            let peer = try #require(try await admin.members().first { !$0.isThis }).nodeID
            let found = try await admin.verify(with: peer, repairs: false)
            #expect(found.records == 20 && found.different == 1 && found.repaired == 0)
            #expect(found.differences.map(\.recordName) == ["r7"])
            #expect(found.differences.map(\.what) == ["missing here"])
            let mended = try await admin.verify(with: peer, repairs: true)
            #expect(mended.different == 1 && mended.repaired == 1)
            #expect(try await title("r7", at: servers[1], token) == "r7")
            #expect(try await admin.verify(with: peer, repairs: false).different == 0)
            let error = await #expect(throws: ServiceError.self) {
                _ = try await admin.verify(with: "ff", repairs: false)
            }
            #expect(error?.code == .invalidArguments)
            // A node that is gone is not compared with.
            try await servers[0].stop()
            let isTold = try await eventually {
                do {
                    _ = try await admin.verify(with: peer, repairs: false)
                    return false
                } catch let error as ServiceError {
                    return error.code == .invalidArguments
                }
            }
            #expect(isTold)
            await admin.close()
        }
    }

    /// Peers read, and callers are signed in, while others' reads take all threads for theirs.
    @Test func callersWhoReadMuchHoldUpNoPeer() async throws {
        try await withCluster([MemoryEngine(), MemoryEngine()]) { servers in
            let gate = servers[0].node.gate
            let isOver = DispatchSemaphore(value: 0)
            let count = 10 * servers[0].node.configuration.readers
            for _ in 0..<count { #expect(gate.read(.bulk(.node)) { isOver.wait() }) }
            defer { for _ in 0..<count { isOver.signal() } }
            servers[1].follow([servers[0]])
            let token = try await servers[0].makeUser("ada")
            try await waitForUser(token, at: servers[1])
            _ = try RawClient(greeting: servers[0].endpoint, token: token)
        }
    }

    /// Nobody waits for the answer any more: the comparison ends though the peer says nothing, and
    /// the peer is told.
    @Test func aComparisonEndsWithItsCaller() async throws {
        try await withCluster([MemoryEngine(), MemoryEngine()]) { servers in
            servers[1].follow([servers[0]])
            let token = try await servers[0].makeUser("ada")
            try await waitForUser(token, at: servers[1])
            let peer = servers[0].node
            // The pulls of all scopes have begun: what comes on top is the comparison.
            let calls = try ScopeDirectory.all(in: peer.gate.latest(reach: .disk)).count
            #expect(try await eventually { peer.callsInProgress == calls })
            let isOver = DispatchSemaphore(value: 0)
            let isBlocked = Atomic(0)
            let isQueued = peer.gate.read(.prompt) {
                isBlocked.wrappingAdd(1, ordering: .relaxed)
                isOver.wait()
            }
            #expect(isQueued)
            defer { isOver.signal() }
            #expect(try await eventually { isBlocked.load(ordering: .relaxed) == 1 })
            let request = VerifyRequest(nodeID: peer.nodeID, repairs: false).encoded()
            let endpoint = servers[1].endpoint
            let connect = { @Sendable in
                var hello = Hello()
                hello.role = WireRole.operator.rawValue
                hello.token = Bytes(TestServer.operatorToken.utf8)
                let client = try RawClient(endpoint)
                try client.send(RawClient.greeting(hello))
                try client.readHello()
                return client
            }
            let leaving = try connect()
            try leaving.send(
                leaving.call(.operatorVerify, request, milliseconds: 300_000)
            )
            #expect(try await eventually { peer.callsInProgress > calls })
            leaving.close()
            #expect(try await eventually { peer.callsInProgress <= calls })
            let refusal = try await besideTasks {
                let waiting = try connect()
                return try error {
                    _ = try waiting.perform(.operatorVerify, request, milliseconds: 500)
                }
            }
            #expect(refusal.message.contains("the call's time was up"), "\(refusal)")
            #expect(try await eventually { peer.callsInProgress <= calls })
        }
    }

    /// A chain: the ends never speak with each other.
    @Test func commitsTravelThroughOtherNodes() async throws {
        try await withCluster([MemoryEngine(), MemoryEngine(), MemoryEngine()]) { servers in
            servers[1].follow([servers[0]])
            servers[2].follow([servers[1]])
            let token = try await servers[0].makeUser("ada")
            try await save("far", at: servers[0], token)
            try await waitForUser(token, at: servers[2])
            #expect(try await title("far", at: servers[2], token) == "far")
        }
    }

    /// Both were told of the first one only.
    @Test func nodesFindEachOtherByOneAddress() async throws {
        try await withCluster([MemoryEngine(), MemoryEngine(), MemoryEngine()]) { servers in
            servers[0].follow([])
            servers[1].follow([servers[0]])
            servers[2].follow([servers[0]])
            let isWhole = try await eventually {
                try servers.allSatisfy { server in
                    let reader = server.node.gate.latest(reach: .disk)
                    return try server.node.status(reader).peers.count { !$0.nodeID.isEmpty } == 2
                }
            }
            #expect(isWhole)
        }
    }

    @Test func whoWasAwayCatchesUp() async throws {
        let engine = MemoryEngine()
        try await withCluster([MemoryEngine(), engine]) { servers in
            follow(servers)
            let token = try await servers[0].makeUser("ada")
            try await waitForUser(token, at: servers[1])
            try await servers[1].stop()
            for number in 0..<50 { try await save("r\(number)", at: servers[0], token) }
            let again = try await TestServer(
                engine: MemoryEngine(reopening: engine),
                clusterKey: Self.key
            )
            again.follow([servers[0]])
            let found = try await title("r49", at: again, token)
            try await again.stop()
            #expect(found == "r49")
        }
    }

    /// A node that comes back tells the others by its call, and they read from it at once.
    ///
    /// It takes seven seconds: pauses between calls have to grow to several seconds first.
    @Test func whoComesBackIsCalledAtOnce() async throws {
        let engine = MemoryEngine()
        try await withCluster([MemoryEngine(), engine]) { servers in
            follow(servers)
            let token = try await servers[0].makeUser("ada")
            try await waitForUser(token, at: servers[1])
            let port = try #require(Endpoint.split(servers[1].endpoint)?.port)
            try await servers[1].stop()
            try await Task.sleep(for: .seconds(6))
            let again = try await TestServer(
                engine: MemoryEngine(reopening: engine),
                port: port,
                clusterKey: Self.key
            )
            again.follow([servers[0]])
            try await save("back", at: again, token)
            let start = ContinuousClock.now
            let found = try await title("back", at: servers[0], token)
            let duration = ContinuousClock.now - start
            try await again.stop()
            #expect(found == "back" && duration < .seconds(1), "\(duration)")
        }
    }

    @Test func anotherClustersNodeIsNotLetIn() async throws {
        try await withCluster([MemoryEngine()]) { servers in
            let token = try await servers[0].makeUser("ada")
            let stranger = try await TestServer(clusterKey: Bytes(repeating: 1, count: 32))
            stranger.follow(servers)
            try await Task.sleep(for: .milliseconds(300))
            #expect((try? RawClient(greeting: stranger.endpoint, token: token)) == nil)
            try await stranger.stop()
        }
    }

    // MARK: Sessions

    private func container(
        _ endpoints: [String],
        _ token: String,
        session: Session? = nil,
        timeout: Duration = .seconds(20),
        connections: Int = 1
    ) -> Container {
        var configuration = Container.Configuration(endpoints: endpoints)
        configuration.accessToken = token
        configuration.session = session
        configuration.timeout = timeout
        configuration.connections = connections
        return Container(identifier: TestServer.container, configuration: configuration)
    }

    /// Two connections to two nodes, used in turn: what one saved is read on the other at once.
    @Test func aClientReadsItsWritesOnEveryNode() async throws {
        try await withCluster([MemoryEngine(), MemoryEngine()]) { servers in
            follow(servers)
            let token = try await servers[0].makeUser("ada")
            try await waitForUser(token, at: servers[1])
            let client = container(servers.map(\.endpoint), token, connections: 2)
            let database = client.privateCloudDatabase
            // Both are connected from here on.
            for _ in 0..<4 { _ = try await database.allRecordZones() }
            for number in 0..<200 {
                let record = Record("r", ["n": .int64(Int64(number))])
                _ = try await database.modifyRecords(
                    saving: [record],
                    deleting: [],
                    savePolicy: .allKeys
                )
                let found = try await database.record(for: record.recordID)
                #expect(found["n"] == .int64(Int64(number)))
            }
            let session = client.session
            await client.close()
            #expect(!session.text.isEmpty)
            let other = container([servers[1].endpoint], token, session: session)
            let id = Record.ID(recordName: "r")
            let found = try await other.privateCloudDatabase.record(for: id)
            #expect(found["n"] == 199)
            await other.close()
        }
    }

    /// A node that can't have it says so, and names none that has; with another endpoint the
    /// client goes there.
    @Test func aNodeThatIsBehindSaysSo() async throws {
        try await withCluster([MemoryEngine(), MemoryEngine()]) { servers in
            let token = try await servers[0].makeUser("ada")
            servers[1].follow([servers[0]])
            try await waitForUser(token, at: servers[1])
            let writer = container([servers[0].endpoint], token)
            _ = try await writer.privateCloudDatabase.save(Record("r"))
            // The second node never hears of what follows.
            await servers[1].unfollow()
            let isAlone = try await eventually {
                servers[1].node.connections.withLock { $0.isEmpty }
            }
            #expect(isAlone)
            _ = try await writer.privateCloudDatabase.save(Record("s"))
            let session = writer.session
            await writer.close()

            let id = Record.ID(recordName: "s")
            let behind = container(
                [servers[1].endpoint],
                token,
                session: session,
                timeout: .seconds(3)
            )
            let error = await #expect(throws: ServiceError.self) {
                _ = try await behind.privateCloudDatabase.record(for: id)
            }
            #expect(error?.reason == .nodeBehind, "\(error as Any)")
            // It names who has it.
            let message = error?.message ?? ""
            #expect(message.contains("or \(servers[0].endpoint)"), "\(message)")
            await behind.close()

            let both = servers.reversed().map(\.endpoint)
            let roaming = container(both, token, session: session, timeout: .seconds(8))
            let found = try await roaming.privateCloudDatabase.record(for: id)
            #expect(found.recordID == id)
            await roaming.close()
        }
    }

    /// Until it holds what its peer held when they met, a node says that it is not ready.
    @Test(arguments: [false, true])
    func aNewNodeIsReadyWhenItHoldsWhatItsPeerHeld(byState: Bool) async throws {
        try await withCluster([MemoryEngine(), MemoryEngine()]) { servers in
            let token = try await servers[0].makeUser("ada")
            let client = container([servers[0].endpoint], token)
            for part in 0..<20 {
                let records = (0..<100).map { Record("r\(part)-\($0)") }
                _ = try await client.privateCloudDatabase.modifyRecords(
                    saving: records,
                    deleting: []
                )
            }
            await client.close()
            if byState {
                var schedule = Collector.Schedule()
                schedule.keepMilliseconds = 0
                try await servers[0].collect(schedule)
            }
            func status() throws -> NodeStatus {
                try servers[1].node.status(servers[1].node.gate.latest(reach: .disk))
            }
            servers[1].follow([servers[0]])
            while try status().peers.isEmpty { await Task.yield() }
            var states: Set<String> = []
            while try states.insert(status().state).memberAfterInsert != "ready" {
                await Task.yield()
            }
            #expect(try holds("r19-99", servers[1]))
            #expect(states.contains("catching up"))
            // Later commits are on their way.
            await servers[1].unfollow()
            #expect(try status().state == "ready")
        }
    }

    /// A stranger listens where a peer should: a node believes only members of its cluster that its
    /// id is in use.
    @Test func aStrangerStopsNoWrites() async throws {
        try await withCluster([MemoryEngine()]) { servers in
            let connections = Atomic<Int>(0)
            let loops = EventLoops(threads: 1)
            let listener = NIOFrameListener(host: "127.0.0.1", port: 0, loops: loops)
            let endpoint = try await listener.start { _, _ in
                connections.add(1, ordering: .relaxed)
                return Stranger()
            }
            servers[0].follow(endpoints: [endpoint])
            // It comes again: it has read what the stranger says.
            while connections.load(ordering: .relaxed) < 2 {
                try await Task.sleep(for: .milliseconds(5))
            }
            let client = container([servers[0].endpoint], try await servers[0].makeUser("ada"))
            _ = try await client.privateCloudDatabase.save(Record("r"))
            await client.close()
            await servers[0].unfollow()
            try await listener.stop()
        }
    }

    @Test func aTokenOfAnotherClusterIsRefused() async throws {
        try await withCluster([MemoryEngine()]) { servers in
            let stranger = try await TestServer(clusterKey: Bytes(repeating: 1, count: 32))
            let theirs = container([stranger.endpoint], try await stranger.makeUser("eve"))
            _ = try await theirs.privateCloudDatabase.save(Record("r"))
            let session = theirs.session
            await theirs.close()
            try await stranger.stop()
            let token = try await servers[0].makeUser("ada")
            let ours = container([servers[0].endpoint], token, session: session)
            let error = await #expect(throws: ServiceError.self) {
                _ = try await ours.privateCloudDatabase.allRecordZones()
            }
            #expect(error?.code == .invalidArguments)
            await ours.close()
        }
    }

    // MARK: Copies

    private func container(_ server: TestServer, _ token: String, copies: Int, seconds: Int = 20)
        -> Container
    {
        var configuration = Container.Configuration(endpoints: [server.endpoint])
        configuration.accessToken = token
        configuration.timeout = .seconds(seconds)
        configuration.writeConcern = .replicated(copies)
        return Container(identifier: TestServer.container, configuration: configuration)
    }

    /// Whether a node's store holds a record now.
    private func holds(_ name: String, _ server: TestServer) throws -> Bool {
        let reader = server.node.gate.latest(reach: .disk)
        return try StoredRecords.all(in: reader).contains { place, _ in place.name == name }
    }

    /// The moment the answer comes, so many others hold the change.
    @Test(arguments: [1, 2]) func anAnswerWaitsForCopies(copies: Int) async throws {
        try await withCluster([MemoryEngine(), MemoryEngine(), MemoryEngine()]) { servers in
            follow(servers)
            let token = try await servers[0].makeUser("ada")
            let client = container(servers[0], token, copies: copies)
            for number in 0..<50 {
                let name = "r\(number)"
                try await client.privateCloudDatabase.save(Record(name))
                let holders = try servers[1...].filter { try holds(name, $0) }
                #expect(holders.count >= copies)
            }
            // Nothing is waited for where nothing changes.
            let id = Record.ID(recordName: "nobody")
            try await client.privateCloudDatabase.deleteRecord(withID: id)
            await client.close()
        }
    }

    /// The change is made, and the caller is told where it is.
    @Test func whoGetsNoCopyIsToldSo() async throws {
        try await withCluster([MemoryEngine(), MemoryEngine()]) { servers in
            let token = try await servers[0].makeUser("ada")
            let client = container(servers[0], token, copies: 1, seconds: 1)
            let error = await #expect(throws: ServiceError.self) {
                try await client.privateCloudDatabase.save(Record("r"))
            }
            #expect(error?.code == .serviceUnavailable)
            #expect(error?.reason == .notReplicated)
            #expect(error?.message.contains("0 of the 1 others") == true, "\(error as Any)")
            #expect(try holds("r", servers[0]))
            // What an error says, its caller has seen.
            #expect(!client.session.text.isEmpty)
            await client.close()
            // The others hear of it all the same.
            servers[1].follow([servers[0]])
            while try !holds("r", servers[1]) { try await Task.sleep(for: .milliseconds(5)) }
        }
    }

    /// Begins a save that waits for a copy; comes back when it is made here.
    private func beginSave(
        _ name: String,
        of client: RawClient,
        at server: TestServer
    ) async throws -> Frame {
        var header = CallHeader(.recordsModify)
        header.requestID = RawRequest.newID()
        header.timeout = 60_000
        header.replicas = 1
        let call = client.call(header, RawRequest.save([Record(name)]))
        try client.send(call)
        while try !holds(name, server) { try await Task.sleep(for: .milliseconds(5)) }
        return call
    }

    /// A caller who waits for a copy is told where the change is before the node goes.
    @Test func aNodeThatGoesAnswersWhoWaits() async throws {
        try await withCluster([MemoryEngine()]) { servers in
            let token = try await servers[0].makeUser("ada")
            let client = try RawClient(greeting: servers[0].endpoint, token: token)
            let call = try await beginSave("r", of: client, at: servers[0])
            #expect(servers[0].node.callsInProgress == 1)
            servers[0].node.beginDraining()
            let error = #expect(throws: ServiceError.self) { _ = try client.answer(to: call) }
            #expect(error?.reason == .notReplicated)
            #expect(servers[0].node.callsInProgress == 0)
        }
    }

    /// What other nodes hold is told by a node that shows nothing more, since it is about to leave.
    @Test func whatOthersHoldIsTold() async throws {
        try await withCluster([MemoryEngine(), MemoryEngine()]) { servers in
            let token = try await servers[0].makeUser("ada")
            let client = try RawClient(greeting: servers[0].endpoint, token: token)
            let call = try await beginSave("r", of: client, at: servers[0])
            servers[0].node.leaving.store(true, ordering: .sequentiallyConsistent)
            servers[1].follow([servers[0]])
            let answer = try client.answer(to: call)
            #expect(!answer.isEmpty)
            #expect(try holds("r", servers[1]))
        }
    }

    /// A machine that went back to a snapshot while its node ran: others have more of that run than
    /// it has itself.
    @Test func aNodeWhoseRunWentBackEnds() async throws {
        let reasons = Mutex<[String]>([])
        let engine = MemoryEngine()
        var other = try await TestServer(engine: engine, clusterKey: Self.key)
        let server = try await TestServer(
            clusterKey: Self.key,
            onFailure: { reason in reasons.withLock { $0.append(reason) } }
        )
        let token = try await server.makeUser("ada")
        try await save("r", at: server, token)
        other.follow([server])
        try await waitForUser(token, at: other)
        while try !holds("r", other) { try await Task.sleep(for: .milliseconds(5)) }
        try await other.stop()

        // The row of the run counts one commit more than the run made.
        let run = server.node.incarnation
        let reader = ReadTransaction(engine, reach: .disk)
        let scope = try #require(try reader.scope(.cluster))
        let (runs, position) = try reader.progress(of: scope)
        var row = RunRow(end: try #require(runs[run]), position: position)
        row.end.seq += 1
        let key = RowKey.vector(scope, run)
        var batch = EngineBatch()
        batch.writes = [.init(family: key.family, key: key.bytes, value: row.rowBytes)]
        engine.commit(batch)
        other = try await TestServer(engine: engine, clusterKey: Self.key)
        server.follow([other])
        #expect(try await eventually { reasons.withLock { $0.contains(Node.rolledBack) } })
        try await server.stop()
        try await other.stop()
    }

    /// Answers that are held back count as what their callers owe: others' calls go on.
    @Test func heldAnswersTakeRoom() async throws {
        try await withCluster([MemoryEngine()]) { servers in
            let token = try await servers[0].makeUser("ada")
            let container = servers[0].container(token: token)
            var large = Record("large")
            large["text"] = .string(String(repeating: "x", count: 900_000))
            try await container.privateCloudDatabase.save(large)
            let client = try RawClient(greeting: servers[0].endpoint, token: token)
            var refusals = 0
            var calls: [Frame] = []
            for number in 0..<24 {
                // One save that is made, and one whose answer carries the large record.
                var header = CallHeader(.recordsModify)
                header.requestID = RawRequest.newID()
                header.timeout = 60_000
                header.replicas = 1
                let call = client.call(
                    header,
                    RawRequest.save([Record("n\(number)"), Record("large")])
                )
                try client.send(call)
                calls.append(call)
                try await Task.sleep(for: .milliseconds(20))
            }
            servers[0].node.beginDraining()
            var open = Set(calls.map(\.stream))
            while !open.isEmpty {
                let frame = try client.nextFrame()
                guard frame.kind == .status, open.remove(frame.stream) != nil else { continue }
                let error = try ServiceError(wire: frame.payload)
                if error.reason == .overloaded { refusals += 1 }
            }
            #expect(refusals > 0)
            await container.close()
        }
    }

    /// A request that is sent again waits again, and is not carried out twice.
    @Test func theSameRequestWaitsOn() async throws {
        try await withCluster([MemoryEngine(), MemoryEngine()]) { servers in
            let token = try await servers[0].makeUser("ada")
            let client = try RawClient(greeting: servers[0].endpoint, token: token)
            var record = Record("r")
            record.increment("n", by: 1)
            var header = CallHeader(.recordsModify)
            header.requestID = RawRequest.newID()
            header.timeout = 300
            header.replicas = 1
            let message = RawRequest.save([record])
            let first = #expect(throws: ServiceError.self) {
                _ = try client.perform(header, message)
            }
            #expect(first?.reason == .notReplicated)
            servers[1].follow([servers[0]])
            while try !holds("r", servers[1]) { try await Task.sleep(for: .milliseconds(5)) }
            header.timeout = 20_000
            _ = try client.perform(header, message)
            let container = servers[0].container(token: token)
            let saved = try await container.privateCloudDatabase
                .record(for: Record.ID(recordName: "r"))
            #expect(saved["n"] == 1)
            await container.close()
        }
    }

    /// A copy on a node that was taken off the list is nobody's any more.
    @Test func aRemovedNodeHoldsNoCopy() async throws {
        try await withCluster([MemoryEngine(), MemoryEngine()]) { servers in
            follow(servers)
            let token = try await servers[0].makeUser("ada")
            try await waitForUser(token, at: servers[1])
            let client = try RawClient(greeting: servers[0].endpoint, token: token)
            var header = CallHeader(.recordsModify)
            header.requestID = RawRequest.newID()
            header.timeout = 20_000
            header.replicas = 1
            let message = RawRequest.save([Record("r")])
            _ = try client.perform(header, message)
            try await servers[1].stop()
            let admin = NodeOperator(
                endpoint: servers[0].endpoint,
                token: TestServer.operatorToken
            )
            let removed = servers[1].node.nodeID.hex
            _ = try await admin.removeMember(removed)
            // Sent again it is not carried out again, and looks for its copy.
            header.timeout = 300
            let isRefused = try await eventually {
                do {
                    _ = try client.perform(header, message)
                    return false
                } catch let error as ServiceError {
                    return error.reason == .notReplicated
                }
            }
            #expect(isRefused)
            await admin.close()
        }
    }

    // MARK: State

    /// Keeps no log.
    private static let forgetful: Collector.Schedule = {
        var schedule = Collector.Schedule()
        schedule.keepMilliseconds = -1_000
        schedule.retentionMilliseconds = -1_000
        return schedule
    }()

    private func floors(of server: TestServer) throws -> VersionVector {
        let reader = server.node.gate.latest(reach: .disk)
        let scope = ScopeID(container: TestServer.container, environment: .development)
        let number = try #require(try reader.scope(scope))
        return try reader.logFloors(of: number)
    }

    private func digests(_ servers: [TestServer]) throws -> [[Bytes]] {
        try servers.map { server in
            try server.node.status(server.node.gate.latest(reach: .disk)).scopes.map(\.digest)
        }
    }

    @Test func aNewNodeTakesStateWhereTheLogIsGone() async throws {
        try await withCluster([MemoryEngine(), MemoryEngine()]) { servers in
            let token = try await servers[0].makeUser("ada")
            for number in 0..<200 { try await save("r\(number)", at: servers[0], token) }
            try await servers[0].collect(Self.forgetful)
            #expect(try !floors(of: servers[0]).isEmpty)
            servers[1].follow([servers[0]])
            try await waitForUser(token, at: servers[1])
            #expect(try await title("r199", at: servers[1], token) == "r199")
            #expect(try digests(servers)[0] == digests(servers)[1])
            // And goes on from there by commits.
            try await save("later", at: servers[0], token)
            #expect(try await title("later", at: servers[1], token) == "later")
        }
    }

    /// Both wrote, and both have forgotten their logs.
    @Test func nodesThatGrewApartTakeEachOthersState() async throws {
        let engines = [MemoryEngine(), MemoryEngine()]
        try await withCluster(engines) { servers in
            follow(servers)
            let token = try await servers[0].makeUser("ada")
            try await waitForUser(token, at: servers[1])
            for number in 0..<50 { try await save("both \(number)", at: servers[0], token) }
            #expect(try await title("both 49", at: servers[1], token) == "both 49")
            for server in servers { try await server.stop() }
            var apart: [TestServer] = []
            for (number, engine) in engines.enumerated() {
                let server = try await TestServer(
                    engine: MemoryEngine(reopening: engine),
                    clusterKey: Self.key
                )
                apart.append(server)
                let container = server.container(token: token)
                let database = container.privateCloudDatabase
                for record in 0..<20 {
                    try await save("of \(number), \(record)", at: server, token)
                    let gone = Record.ID(recordName: "both \(20 * number + record)")
                    _ = try await database.deleteRecord(withID: gone)
                }
                await container.close()
                try await server.collect(Self.forgetful)
            }
            follow(apart)
            #expect(try await title("of 0, 19", at: apart[1], token) == "of 0, 19")
            #expect(try await title("of 1, 19", at: apart[0], token) == "of 1, 19")
            let isEqual = try await eventually {
                let all = try digests(apart)
                return all[0] == all[1]
            }
            #expect(isEqual)
            let container = apart[0].container(token: token)
            var names: [String] = []
            for try await record in container.privateCloudDatabase.allRecords() {
                names.append(record.recordID.recordName)
            }
            await container.close()
            #expect(names.count == 10 + 40, "\(names)")
            for server in apart { try await server.stop() }
        }
    }

    /// A log waits for the members that have not read it, and for nobody else.
    @Test func aLogIsDroppedOnceAllMembersHaveIt() async throws {
        var schedule = Collector.Schedule()
        schedule.keepMilliseconds = -1_000
        try await withCluster([MemoryEngine(), MemoryEngine()]) { servers in
            follow(servers)
            let token = try await servers[0].makeUser("ada")
            try await waitForUser(token, at: servers[1])
            try await save("r", at: servers[0], token)
            let isDropped = try await eventually {
                try await servers[0].collect(schedule)
                return try !floors(of: servers[0]).isEmpty
            }
            #expect(isDropped)
            try await servers[1].stop()
            let before = try floors(of: servers[0])
            try await save("s", at: servers[0], token)
            try await servers[0].collect(schedule)
            #expect(try floors(of: servers[0]) == before)
        }
    }

    /// What a missing member lacks is kept for it as long as there is room; it takes state then.
    @Test func aMissingMemberDoesNotFillTheDisk() async throws {
        var schedule = Collector.Schedule()
        schedule.keepMilliseconds = -1_000
        let engines = [MemoryEngine(), MemoryEngine()]
        try await withCluster(engines) { servers in
            follow(servers)
            let token = try await servers[0].makeUser("ada")
            try await waitForUser(token, at: servers[1])
            try await servers[1].stop()
            for number in 0..<20 { try await save("r\(number)", at: servers[0], token) }
            schedule.logBytes = 1 << 20
            try await servers[0].collect(schedule)
            #expect(try floors(of: servers[0]).isEmpty)
            schedule.logBytes = 500
            try await servers[0].collect(schedule)
            #expect(try !floors(of: servers[0]).isEmpty)

            let back = try await TestServer(
                engine: MemoryEngine(reopening: engines[1]),
                clusterKey: Self.key
            )
            back.follow([servers[0]])
            #expect(try await title("r19", at: back, token) == "r19")
            #expect(try digests([servers[0], back])[0] == digests([servers[0], back])[1])
            try await back.stop()
        }
    }

    // MARK: Callers who aren't peers

    @Test func aPeerWithoutProofIsRefused() async throws {
        try await withCluster([MemoryEngine()]) { servers in
            for change in [{ _ in }, { $0.proof = Bytes(repeating: 1, count: 32) }]
                as [(inout Hello) -> Void]
            {
                var hello = Hello()
                hello.role = WireRole.peer.rawValue
                hello.nodeID = Bytes(repeating: 1, count: 16)
                hello.nonce = Bytes(repeating: 2, count: 32)
                change(&hello)
                let client = try RawClient(servers[0].endpoint)
                try client.send(RawClient.greeting(hello))
                #expect(try client.refusal()?.code == .notAuthenticated)
            }
        }
    }

    @Test func aClientCannotPull() async throws {
        try await withServer { server in
            let client = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            let refusal = try error {
                _ = try client.perform(.peersPull, PullRequest(vector: VersionVector()).encoded())
            }
            #expect(refusal.code == .permissionFailure)
        }
    }

    /// Streams without an end don't hold up the end of the node.
    @Test func aNodeWithPeersDrainsAtOnce() async throws {
        try await withCluster([MemoryEngine(), MemoryEngine()]) { servers in
            follow(servers)
            let token = try await servers[0].makeUser("ada")
            try await waitForUser(token, at: servers[1])
            servers[0].node.beginDraining()
            #expect(try await eventually { servers[0].node.callsInProgress == 0 })
        }
    }
}

/// Claims that the id of a connecting node is in use, and proves nothing.
private final class Stranger: FrameHandler {
    func turnEnded(now: Instant) -> Turn {
        var output = Frame.preface
        let nonce = Bytes(repeating: 7, count: 32)
        FrameEncoder.append(Frame(.nonce, payload: nonce), to: &output)
        let error = ServiceError(.serviceUnavailable, .nodeIDInUse, "in use")
        FrameEncoder.append(Frame(.status, isEnd: true, payload: error.encoded()), to: &output)
        return Turn(output: FrameOutput(output), wake: nil, closes: true)
    }

    func received(_ bytes: UnsafeRawBufferPointer, now: Instant) {}
    func timePassed(now: Instant) {}
    func writing(_ pendingBytes: Int, now: Instant) {}
    func closed() {}
}
