// A new node that joins a cluster lets clients in when it has taken a state, and not before: what
// it lacks would look as if it had never been there.

import Cumulus
import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import CumulusWire
import Synchronization
import Testing

@testable import CumulusNode

@Suite(.serialized, .timeLimit(.minutes(5))) struct JoiningTests {
    private static let key = Bytes(repeating: 0x5A, count: 32)

    private func begin(
        _ engine: MemoryEngine = MemoryEngine(),
        joins: Bool = true,
        port: Int = 0
    ) async throws -> TestServer {
        try await TestServer(engine: engine, port: port, clusterKey: Self.key, joins: joins)
    }

    /// Runs a test with nodes that end with it.
    private func with(
        _ servers: [TestServer],
        _ body: () async throws -> Void
    ) async throws {
        do {
            try await body()
        } catch {
            for server in servers { try await server.stop() }
            throw error
        }
        for server in servers { try await server.stop() }
    }

    private func status(of server: TestServer) throws -> NodeStatus {
        try server.node.status(server.node.gate.latest(reach: .disk))
    }

    /// What a user's greeting is answered with; nil: the user was let in.
    private func refusal(at server: TestServer, _ token: String) throws -> ServiceError? {
        var hello = Hello()
        hello.role = WireRole.client.rawValue
        hello.container = Bytes(TestServer.container.utf8)
        hello.environment = UInt32(Environment.development.rawValue)
        hello.token = Bytes(token.utf8)
        let client = try RawClient(server.endpoint)
        try client.send(RawClient.greeting(hello))
        while true {
            let frame = try client.nextFrame()
            if frame.kind == .hello { return nil }
            if frame.kind == .status { return try ServiceError(wire: frame.payload) }
        }
    }

    private func fill(_ server: TestServer, _ token: String) async throws {
        let client = server.container(token: token)
        try await client.privateCloudDatabase.save(RecordZone(zoneName: "Notes"))
        for part in 0..<8 {
            let records = (0..<100).map { Record("r\(part)-\($0)") }
            _ = try await client.privateCloudDatabase.modifyRecords(saving: records, deleting: [])
        }
        await client.close()
    }

    /// Whatever it lacks: the container, the token, zones, records.
    @Test(arguments: [false, true])
    func clientsAreRefusedUntilAStateIsTaken(byState: Bool) async throws {
        let (first, second) = (try await begin(joins: false), try await begin())
        try await with([first, second]) {
            let token = try await first.makeUser("ada")
            try await fill(first, token)
            if byState {
                var schedule = Collector.Schedule()
                schedule.keepMilliseconds = 0
                try await first.collect(schedule)
            }
            let refused = try #require(try refusal(at: second, token))
            #expect(refused.code == .serviceUnavailable)
            #expect((refused.retryAfterMilliseconds ?? 0) > 0)
            second.follow([first])
            // A client with patience gets in, and finds all that there was.
            let client = second.container(token: token)
            let id = Record.ID(recordName: "r7-99")
            #expect(try await client.privateCloudDatabase.record(for: id).recordID == id)
            await client.close()
            #expect(try status(of: second).state == "ready")
            #expect(try refusal(at: second, token) == nil)
            #expect(second.node.notReady.isEmpty)
        }
    }

    @Test func everyAnswerMeanwhileAsksToTryAgain() async throws {
        let (first, second) = (try await begin(joins: false), try await begin())
        try await with([first, second]) {
            let token = try await first.makeUser("ada")
            try await fill(first, token)
            second.follow([first])
            var codes: Set<ServiceError.Code> = []
            while let refused = try refusal(at: second, token) {
                codes.insert(refused.code)
                await Task.yield()
            }
            #expect(codes.isSubset(of: [.serviceUnavailable]))
            let reader = second.node.gate.latest(reach: .disk)
            #expect(try !Members.others(than: second.node.nodeID, in: reader).isEmpty)
            #expect(try reader.get(.joining) == nil)
        }
    }

    /// What an operator has to know and to do; nothing that the cluster's state is needed for.
    @Test func anOperatorIsLetInAndToldWhy() async throws {
        let (dead, node) = ("127.0.0.1:\(TestPort.free())", try await begin())
        try await with([node]) {
            node.follow(endpoints: [dead])
            let admin = node.nodeOperator()
            // It asks again until its time is up.
            let hurried = NodeOperator(
                endpoint: node.endpoint,
                token: TestServer.operatorToken,
                timeout: .seconds(3)
            )
            let isNamed = try await eventually {
                try await admin.status().peers.contains {
                    $0.endpoint == dead && !$0.problem.isEmpty
                }
            }
            #expect(isNamed)
            let status = try await admin.status()
            #expect(status.state == "joining")
            #expect(status.notReady.contains(dead), "\(status.notReady)")
            #expect(try await admin.members().map(\.isThis) == [true])
            #expect(try await admin.removeMember(String(repeating: "ab", count: 16)) == false)
            let error = await #expect(throws: ServiceError.self) {
                _ = try await hurried.addUser("ada", in: nil)
            }
            #expect(error?.code == .serviceUnavailable)
            #expect(error?.message.contains(dead) == true, "\(error as Any)")
            for admin in [admin, hurried] { await admin.close() }
            // Anybody may greet the node, and is told of no address.
            let refused = try #require(try refusal(at: node, ""))
            #expect(refused.code == .serviceUnavailable)
            #expect(!refused.message.contains("127.0.0.1"), "\(refused)")
        }
    }

    /// A store remembers, whatever the settings say by then.
    @Test func aNodeThatIsKilledMeanwhileStillJoins() async throws {
        let (engine, dead) = (MemoryEngine(), "127.0.0.1:\(TestPort.free())")
        let killed = try await begin(engine)
        try await killed.stop()
        let again = try await begin(engine, joins: false)
        try await with([again]) {
            again.follow(endpoints: [dead])
            #expect(again.node.state == "joining")
        }
    }

    /// Cut off from its cluster, a node that held a state goes on.
    @Test func aNodeThatHasTakenAStateStaysReady() async throws {
        let (engine, port) = (MemoryEngine(), TestPort.free())
        let (first, second) = (
            try await begin(joins: false, port: port), try await begin(engine)
        )
        second.follow([first])
        #expect(try await eventually { second.node.state == "ready" })
        let token = try await first.makeUser("ada")
        try await waitForUser(token, at: second)
        try await first.stop()
        try await second.stop()
        let again = try await begin(engine)
        try await with([again]) {
            again.follow(endpoints: ["127.0.0.1:\(port)"])
            #expect(again.node.state == "ready")
            let refused = try refusal(at: again, token)
            #expect(refused == nil)
        }
    }

    /// It may have reported the end of a counter before, which the others forgot since.
    @Test func aNodeThatWentBackBeginsNoCounterBeforeItCaughtUp() async throws {
        let disk = MemoryEngine()
        let (first, second) = (try await begin(joins: false), try await begin(disk))
        try await with([first]) {
            let token = try await first.makeUser("ada")
            try await with([second]) {
                second.follow([first])
                #expect(try await eventually { second.node.state == "ready" })
                try await waitForUser(token, at: second)
            }
            let backup = MemoryEngine(reopening: disk)
            try OpenStore.markBackup(backup)
            for isLater in [false, true] {
                let restored = try await begin(backup)
                try await with([restored]) {
                    let tries = isLater ? "in a later run" : "in its first run"
                    let refused = await #expect(throws: ServiceError.self, "\(tries)") {
                        try await increment(at: restored, token)
                    }
                    #expect(refused?.code == .serviceUnavailable)
                    #expect(refused?.retryAfterMilliseconds == 1_000)
                    guard isLater else { return }
                    restored.follow([first])
                    let counts = try await eventually {
                        (try? await increment(at: restored, token)) != nil
                    }
                    #expect(counts)
                    #expect(try restored.node.gate.latest(reach: .disk).get(.restored) == nil)
                }
            }
        }
    }

    /// A node that is alone has nobody to catch up with.
    @Test func aNodeAloneThatWentBackBeginsCounters() async throws {
        let disk = MemoryEngine()
        let node = try await begin(disk, joins: false)
        let token = try await node.makeUser("ada")
        try await node.stop()
        try OpenStore.markBackup(disk)
        let restored = try await begin(disk, joins: false)
        try await with([restored]) { try await increment(at: restored, token) }
    }

    /// It has nobody to catch up with any more, though its settings name an address.
    @Test func aNodeThatWentBackBeginsCountersOnceItIsAlone() async throws {
        let disk = MemoryEngine()
        let (first, second) = (try await begin(joins: false), try await begin(disk))
        let token = try await first.makeUser("ada")
        try await with([first, second]) {
            second.follow([first])
            #expect(try await eventually { second.node.state == "ready" })
            try await waitForUser(token, at: second)
        }
        let backup = MemoryEngine(reopening: disk)
        try OpenStore.markBackup(backup)
        let restored = try await begin(backup)
        try await with([restored]) {
            restored.follow([first])
            let refused = await #expect(throws: ServiceError.self) {
                try await increment(at: restored, token)
            }
            #expect(refused?.code == .serviceUnavailable)
            let admin = restored.nodeOperator()
            #expect(try await admin.removeMember(first.node.nodeID.hex))
            await admin.close()
            let counts = try await eventually {
                (try? await increment(at: restored, token)) != nil
            }
            #expect(counts)
        }
    }

    /// A node that waits for long looks at its store less often.
    @Test func looksBecomeRareWithoutNews() {
        var pause = LookPause()
        let quiet = (0..<6).map { _ in pause.next(after: [1, 1]) }
        #expect(quiet == [50, 100, 200, 400, 500, 500])
        let woken = (0..<2).map { _ in pause.next(after: [1, 2]) }
        #expect(woken == [50, 100])
    }

    /// What peers tell is news to a node that waits.
    @Test func peersTellNews() {
        let catchUp = CatchUp(joins: true)
        var heard = [catchUp.heard.news]
        catchUp.expect(["a:1"])
        catchUp.reach("a:1", [1], isOwn: false)
        heard.append(catchUp.heard.news)
        catchUp.meet([1], at: "a:1", .ready)
        heard.append(catchUp.heard.news)
        #expect(catchUp.heard.hasPeers)
        catchUp.ask([1], .cluster)
        heard.append(catchUp.heard.news)
        catchUp.note(VersionVector(), of: [1], .cluster)
        heard.append(catchUp.heard.news)
        // Only the first word counts.
        catchUp.note(VersionVector(), of: [1], .cluster)
        heard.append(catchUp.heard.news)
        catchUp.leave([1])
        heard.append(catchUp.heard.news)
        #expect(!catchUp.heard.hasPeers)
        #expect(heard == [0, 1, 2, 3, 4, 4, 5])
    }

    /// Begins a counter, or adds to it.
    private func increment(at server: TestServer, _ token: String) async throws {
        let client = server.container(token: token, timeout: .seconds(1))
        let id = Record.ID(recordName: "counter")
        var counter = Record(recordType: "Counter", recordID: id)
        counter.increment("hits")
        let call = Task { [counter] in
            try await client.publicCloudDatabase.modifyRecords(
                saving: [counter],
                deleting: [],
                savePolicy: .changedKeys
            )
        }
        let result = await call.result
        await client.close()
        _ = try result.get().saveResults[id]?.get()
    }

    /// Nodes that are all new and know of no other begin a cluster, when the last one is there.
    @Test func newNodesBeginACluster() async throws {
        let ports = (0..<3).map { _ in TestPort.free() }
        let endpoints = ports.map { "127.0.0.1:\($0)" }
        var servers = [try await begin(port: ports[0]), try await begin(port: ports[1])]
        func follow(_ number: Int) {
            servers[number].follow(endpoints: endpoints.filter { $0 != endpoints[number] })
        }
        follow(0)
        follow(1)
        let isTold = try await eventually {
            servers.allSatisfy {
                $0.node.notReady.contains("join too") && $0.node.notReady.contains(endpoints[2])
            }
        }
        #expect(isTold, "\(servers.map(\.node.notReady))")
        servers.append(try await begin(port: ports[2]))
        follow(2)
        try await with(servers) {
            let areReady = try await eventually {
                servers.allSatisfy { $0.node.state == "ready" }
            }
            #expect(areReady)
        }
    }

    /// The second one knows of a node that the third one doesn't, and that may have a state.
    @Test func aNewNodeDoesNotCountOnAnotherNewOne() async throws {
        let port = TestPort.free()
        let (second, third) = (try await begin(), try await begin())
        second.follow(endpoints: ["127.0.0.1:\(port)"])
        third.follow([second])
        let isTold = try await eventually { third.node.notReady.contains("join too") }
        #expect(isTold, "\(third.node.notReady)")
        try await Task.sleep(for: .milliseconds(1_500))
        #expect(second.node.state == "joining")
        #expect(third.node.state == "joining")
        let first = try await begin(joins: false, port: port)
        try await with([first, second, third]) {
            let token = try await first.makeUser("ada")
            #expect(try await eventually { third.node.state == "ready" })
            #expect(second.node.state == "ready")
            #expect(try refusal(at: third, token) == nil)
        }
    }

    @Test func aNodeThatKnowsOfNoOtherBeginsACluster() async throws {
        let node = try await begin()
        try await with([node]) {
            // Its settings may name its own address, as where all nodes have the same.
            node.follow([node])
            let isReady = try await eventually { node.node.state == "ready" }
            #expect(isReady)
        }
    }

    /// A webhook is told by the first of the members that let clients in.
    @Test func aNewNodeIsNotTheFirst() async throws {
        let (dead, first) = ("127.0.0.1:\(TestPort.free())", try await begin(joins: false))
        var (servers, newer) = ([first], try await begin())
        servers.append(newer)
        while !newer.node.nodeID.lexicographicallyPrecedes(first.node.nodeID) {
            newer = try await begin()
            servers.append(newer)
        }
        try await with(servers) {
            newer.follow(endpoints: [dead])
            first.follow([newer])
            let isMet = try await eventually { first.node.isLinked(to: newer.node.nodeID) }
            #expect(isMet)
            #expect(try await eventually { try await first.node.isFirstMember() })
            await newer.unfollow()
            newer.follow([first])
            #expect(try await eventually { newer.node.state == "ready" })
            #expect(try await eventually { try await !first.node.isFirstMember() })
        }
    }
}
