// Which of several clocks counts as wrong, and what a node does if its own is.

import Cumulus
import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import CumulusWire
import Synchronization
import Testing

@testable import CumulusNode

@Suite(.serialized) struct PeerClocksTests {
    private static let start: Int64 = 1_750_000_000_000

    /// Clocks of all nodes in seconds; whether each of them takes its own for wrong.
    @Test(
        arguments: [
            ([0, 0, 0], [0, 0, 0]), ([0, 100], [0, 100]), ([100, 0], [100, 0]),
            ([0, 0, 100], [0, 0, 100]), ([0, 0, -100], [0, 0, -100]),
            ([0, 0, 100, 100], [0, 0, 100, 100]), ([0, 0, 0, -100, 100], [0, 0, 0, -100, 100]),
        ] as [([Int64], [Int64])]
    )
    func theOneFarFromMostIsWrong(clocks: [Int64], leads: [Int64]) {
        for own in clocks.indices {
            let known = PeerClocks()
            for (other, clock) in clocks.enumerated() where other != own {
                known.note(
                    Self.start + clock * 1_000,
                    of: [UInt8(other)],
                    ours: Self.start + clocks[own] * 1_000,
                    now: Instant(milliseconds: 0)
                )
            }
            let lead = known.lead(
                wallClock: Self.start + clocks[own] * 1_000 + 10,
                now: Instant(milliseconds: 10)
            )
            #expect(lead == leads[own] * 1_000)
        }
    }

    @Test func whoWasNotHeardForLongDoesNotCount() {
        let known = PeerClocks()
        let start = Self.start
        known.note(start, of: [1], ours: start + 100_000, now: Instant(milliseconds: 0))
        let lead = { (time: Int64) in
            known.lead(wallClock: start + 100_000 + time, now: Instant(milliseconds: time))
        }
        #expect(lead(60_000) == 100_000)
        #expect(lead(60_001) == 0)
        // An impossible time is ignored, and a node that reports 0 takes back its earlier report,
        // if that was wrong.
        let now = Instant(milliseconds: 0)
        for time in [Int64.min, -1, 0, 1 << 47, .max] {
            let known = PeerClocks()
            known.note(start - 100_000, of: [1], ours: start, now: now)
            #expect(known.lead(wallClock: start, now: now) == 100_000)
            known.note(time, of: [1], ours: start, now: now)
            #expect(known.lead(wallClock: start, now: now) == 0)
            known.note(start, of: [1], ours: start, now: now)
            known.note(time, of: [1], ours: start, now: now)
            #expect(known.lead(wallClock: start + 100_000, now: now) == 100_000)
        }
    }

    /// Nobody need say anything anew.
    @Test func aJumpShowsAtOnce() {
        let known = PeerClocks()
        known.note(1_000, of: [1], ours: 1_000, now: Instant(milliseconds: 0))
        #expect(known.lead(wallClock: 1_020, now: Instant(milliseconds: 20)) == 0)
        let jumped = known.lead(wallClock: 3_601_030, now: Instant(milliseconds: 30))
        #expect(jumped == 3_600_000)
    }

    /// Found by jumping clocks under load: the clock was judged, then read again for the stamp.
    @Test func aClockThatJumpsWhileABatchIsMadeStampsNothing() throws {
        let start = Self.start
        let jumps = Atomic<Bool>(false)
        var environment = TestServer.environment
        environment.now = { Instant(milliseconds: 1_000) }
        // From the second reading on it is an hour later.
        environment.wallClock = {
            jumps.exchange(false, ordering: .relaxed) ? start : start + 3_600_000
        }
        let engine = MemoryEngine()
        let configuration = Node.Configuration(
            version: Release.version,
            container: nil,
            operatorToken: [1]
        )
        let node = try Node(configuration, engine: engine, environment: environment)
        node.clocks.note(start, of: [1], ours: start, now: Instant(milliseconds: 1_000))
        jumps.store(true, ordering: .relaxed)
        let request = WriteRequest(
            CreateContainer("iCloud.x"),
            caller: Caller(role: .operator)
        )
        let isDone = Atomic<Bool>(false)
        let work = StoreGate.Request(
            request,
            CallToken(deadline: Instant(milliseconds: 10_000))
        ) { answer in
            if case .success = answer { isDone.store(true, ordering: .relaxed) }
        }
        #expect(node.gate.submit(.init(work, byteCount: 1, loop: InPlaceLoop.shared)))
        #expect(node.gate.runBatch())
        let wasDone = isDone.load(ordering: .relaxed)
        #expect(wasDone)
        let rows = try node.gate.latest(reach: .disk).runs(of: 0).rows
        #expect(rows.values.map(\.time.milliseconds) == [start])
    }

    private struct Clock: Sendable {
        var wall = PeerClocksTests.start
        var now = Instant(milliseconds: 1_000)
        var slept: Int64 = 0

        mutating func pass(_ milliseconds: Int64) {
            wall += milliseconds
            now = now + milliseconds
        }
    }

    private final class Clocks: Sendable {
        let clock = Mutex(Clock())

        func set(_ change: (inout Clock) -> Void) { clock.withLock { change(&$0) } }
    }

    /// A node whose clocks stand where the test puts them; another one is right.
    private func makeNode(_ clocks: Clocks) throws -> Node {
        var environment = TestServer.environment
        environment.now = { clocks.clock.withLock { $0.now } }
        environment.wallClock = { clocks.clock.withLock { $0.wall } }
        environment.sleptMilliseconds = { clocks.clock.withLock { $0.slept } }
        let configuration = Node.Configuration(
            version: Release.version,
            container: nil,
            operatorToken: [1]
        )
        return try Node(configuration, engine: MemoryEngine(), environment: environment)
    }

    /// Found by jumping clocks under load: two that were wrong alike made a median.
    @Test func aClockThatIsWrongIsNotTold() throws {
        let clocks = Clocks()
        let node = try makeNode(clocks)
        #expect(node.toldClock == Self.start)
        let now = node.environment.now()
        for other: UInt8 in [1, 2] {
            node.clocks.note(Self.start, of: [other], ours: Self.start, now: now)
        }
        #expect(node.toldClock == Self.start)
        clocks.set { $0.wall += 3_600_000 }
        #expect(node.toldClock == 0)
        #expect(node.clock == Self.start)
        clocks.set { $0.wall -= 7_200_000 }
        #expect(node.toldClock == 0)
        #expect(node.clock == Self.start)
    }

    /// Found by the simulation of whole nodes (seed 87): two right nodes that heard a wrong one
    /// first took themselves for wrong, told each other nothing, and nobody took any writes.
    @Test func whoHeardOnlyOneOtherTellsItsClock() throws {
        let nodes = try [makeNode(Clocks()), makeNode(Clocks())]
        let now = nodes[0].environment.now()
        for node in nodes {
            node.clocks.note(Self.start - 70_000, of: [9], ours: Self.start, now: now)
            #expect(node.state == "clock wrong")
        }
        for (one, other) in [(0, 1), (1, 0)] {
            let told = nodes[other].toldClock
            nodes[one].clocks.note(told, of: [UInt8(other)], ours: Self.start, now: now)
        }
        for node in nodes { #expect(node.state == "ready") }
    }

    /// Lets a node hear what other clocks showed then, by their lead in milliseconds.
    private func tell(_ node: Node, _ lead: Int64 = 0) {
        let wall = node.environment.wallClock()
        for other: UInt8 in [1, 2] {
            node.clocks.note(wall + lead, of: [other], ours: wall, now: node.environment.steadyNow)
        }
        node.judgeClock()
    }

    private func isFarOff(_ node: Node) -> Bool { node.clockIsFarOff.load(ordering: .relaxed) }

    /// Found by a node that was stopped for a minute: it took what it read then for the others'
    /// clocks, told its operator that its own was far off, and took no writes.
    ///
    /// It reads a report of each second that it missed, all at once or each after some time.
    @Test(arguments: [50_000, 90_000] as [Int64], [0, 100, 500] as [Int64])
    func reportsThatWaitedSetNoClockBack(stop: Int64, readMilliseconds: Int64) throws {
        let clocks = Clocks()
        let node = try makeNode(clocks)
        tell(node)
        clocks.set { $0.pass(stop) }
        var delay = stop
        while delay > 0 {
            tell(node, -delay)
            #expect(node.state == "ready" && !isFarOff(node), "\(delay) ms late")
            clocks.set { $0.pass(readMilliseconds) }
            delay += readMilliseconds - 1_000
        }
    }

    /// The second report has to come a second after the first, and to say the same.
    @Test func twoReportsSetAClockBack() throws {
        let clocks = Clocks()
        let node = try makeNode(clocks)
        tell(node)
        for pause: Int64 in [0, 500, 499] {
            clocks.set { $0.pass(pause) }
            tell(node, -70_000)
            #expect(node.state == "ready" && !isFarOff(node))
        }
        // It says something else: the clock is still being set.
        tell(node, -80_000)
        clocks.set { $0.pass(1_000) }
        tell(node, -70_000)
        #expect(node.state == "ready")
        clocks.set { $0.pass(1_000) }
        tell(node, -70_000)
        #expect(node.state == "clock wrong" && isFarOff(node))
        // A clock that is set forward, or to what ours shows, counts at once.
        tell(node)
        #expect(node.state == "ready" && !isFarOff(node))
        tell(node, 70_000)
        #expect(node.state == "clock wrong")
        tell(node)
        #expect(node.state == "ready")
    }

    /// While a machine sleeps its wall clock goes on, and the clock that never goes back does not.
    @Test(arguments: [30_000, 3_600_000] as [Int64])
    func sleepIsNoJumpOfTheClock(sleep: Int64) throws {
        let clocks = Clocks()
        let node = try makeNode(clocks)
        var own = OwnClock()
        func isTold() -> Bool {
            let clock = clocks.clock.withLock { $0 }
            return own.look(wallClock: clock.wall, now: clock.now, slept: clock.slept)
        }
        tell(node)
        #expect(!isTold())
        clocks.set { clock in
            clock.wall += sleep
            clock.slept += sleep
        }
        #expect(!isTold())
        // These reports were sent before the machine slept.
        for delay in [sleep, 0] {
            tell(node, -delay)
            #expect(node.state == "ready" && !isFarOff(node))
        }
    }

    /// Found beside that: a node that heard nobody for a minute told that its clock was right.
    @Test func silenceDoesNotTellThatAClockIsRight() throws {
        let clocks = Clocks()
        let node = try makeNode(clocks)
        tell(node, 70_000)
        #expect(isFarOff(node))
        clocks.set { $0.pass(60_001) }
        node.judgeClock()
        #expect(isFarOff(node) && node.state == "ready")
        tell(node)
        #expect(!isFarOff(node))
    }

    /// A clock that jumps by days must not let a repeated request be carried out twice.
    @Test func whatIsRememberedIsNotForgottenByAWrongClock() throws {
        let clocks = Clocks()
        let node = try makeNode(clocks)
        var dice = SeededGenerator(seed: 1)
        let request = RequestID(milliseconds: Self.start, using: &dice)
        let key = RowKey.request(request, 0, "_ada")
        let runBatch = { (row: RequestRow?) in
            let job = StoreGate.Job(.housekeeping) { transaction throws(EngineError) in
                if let row { transaction.put(key, row) }
            } then: { _ in
            }
            let loop = InPlaceLoop.shared
            #expect(node.gate.submit(.init(job, byteCount: 1, loop: loop)))
            #expect(node.gate.runBatch())
        }
        runBatch(RequestRow(digest: [1], dots: [], outcome: []))
        clocks.set {
            $0.now = Instant(milliseconds: 1_000_000)
            $0.wall += 999_000
        }
        let right = node.environment.wallClock()
        node.clocks.note(right, of: [1], ours: right, now: node.environment.now())
        clocks.set { $0.wall += 48 * 3_600_000 }
        runBatch(nil)
        let row: RequestRow? = try node.gate.latest(reach: .disk).row(key)
        #expect(row != nil)
    }

    /// It refuses what its callers write and takes what others wrote; set right, it goes on.
    @Test func aNodeWhoseClockIsAheadTakesNoWrites() async throws {
        let key = Bytes(repeating: 0x5A, count: 32)
        let right = try await TestServer(clusterKey: key)
        let wrong = try await TestServer(clusterKey: key, clockLead: 100_000)
        let user = try await right.makeUser("ada")
        right.follow([wrong])
        wrong.follow([right])
        let hasStopped = try await eventually {
            try wrong.node.status(wrong.node.gate.latest(reach: .disk)).state == "clock wrong"
        }
        #expect(hasStopped)
        let client = try await connected(user, to: wrong)
        let error = await #expect(throws: ServiceError.self) {
            _ = try await client.privateCloudDatabase.save(Record("r"))
        }
        #expect(error?.reason == .clockWrong, "\(String(describing: error))")
        let other = right.container(token: user)
        _ = try await other.privateCloudDatabase.save(Record("s"))
        let isRead = try await eventually {
            let id = Record.ID(recordName: "s")
            return (try? await client.privateCloudDatabase.record(for: id)) != nil
        }
        #expect(isRead)
        wrong.clockLead = 0
        let goesOn = try await eventually {
            (try? await client.privateCloudDatabase.save(Record("r"))) != nil
        }
        #expect(goesOn)
        for container in [client, other] { await container.close() }
        for server in [right, wrong] { try await server.stop() }
    }

    /// Each remembered the others from before the jump, took itself for wrong, and told nothing:
    /// for a minute nobody took writes.
    @Test func whatWasSaidBeforeAJumpOfAllIsForgotten() {
        let (hour, start) = (Int64(3_600_000), Self.start)
        let known = PeerClocks()
        let now = Instant(milliseconds: 1_000)
        for other: UInt8 in [1, 2] {
            known.note(start + hour, of: [other], ours: start + hour, now: now)
        }
        #expect(known.knowsOursIsWrong(wallClock: start, now: now))
        known.note(0, of: [1], ours: start, now: now)
        #expect(!known.knowsOursIsWrong(wallClock: start, now: now))
        known.note(start, of: [1], ours: start, now: now)
        #expect(known.isRight([1], wallClock: start, now: now))
        #expect(!known.isRight([2], wallClock: start, now: now))
        known.note(0, of: [2], ours: start, now: now)
        #expect(known.lead(wallClock: start, now: now) == 0)
        #expect(!known.isRight([2], wallClock: start, now: now))
    }

    @Test func aJumpOfTheOwnClockIsToldForAWhile() {
        var clock = OwnClock()
        let look = { (clock: inout OwnClock, seconds: Int64, jumped: Int64) in
            let now = Instant(milliseconds: seconds * 1_000)
            return clock.look(wallClock: Self.start + (seconds + jumped) * 1_000, now: now)
        }
        #expect(!look(&clock, 1, 0))
        #expect(!look(&clock, 2, 4))
        #expect(look(&clock, 3, -3_600))
        #expect(look(&clock, 17, -3_600))
        #expect(!look(&clock, 18, -3_600))
        #expect(clock.lookTime == Instant(milliseconds: 19_000))
    }

    /// Saves are taken and passed on within seconds, though stamps stay an hour ahead.
    ///
    /// A node that joins then takes them too. The test waits for looks at clocks: about 10 s.
    @Test(arguments: [3_600_000, -3_600_000] as [Int64])
    func clocksThatJumpTogetherStopNobodyForLong(lead: Int64) async throws {
        let key = Bytes(repeating: 0x5A, count: 32)
        var servers: [TestServer] = []
        for _ in 0..<3 { servers.append(try await TestServer(clusterKey: key, clockLead: lead)) }
        let user = try await servers[0].makeUser("ada")
        for server in servers { server.follow(servers.filter { $0 !== server }) }
        var clients: [Container] = []
        for server in servers { clients.append(try await connected(user, to: server)) }
        try await expectEverywhere("before", saving: clients[0], clients)
        for server in servers { server.clockLead = 0 }
        for (number, client) in clients.enumerated() {
            try await expectEverywhere("after\(number)", saving: client, clients)
        }
        let state = try servers[0].node.status(servers[0].node.gate.latest(reach: .disk)).state
        #expect(state == (lead > 0 ? "stamps ahead" : "ready"))
        let late = try await TestServer(clusterKey: key)
        late.follow(servers)
        clients.append(try await connected(user, to: late))
        try await expectEverywhere("later", saving: clients[0], clients)
        for container in clients { await container.close() }
        for server in servers + [late] { try await server.stop() }
    }

    /// Saves a record, as soon as that is possible, and waits until all clients see it.
    private func expectEverywhere(
        _ name: String,
        saving saver: Container,
        _ clients: [Container]
    ) async throws {
        let isSaved = try await eventually(seconds: 10) {
            (try? await saver.privateCloudDatabase.save(Record(name))) != nil
        }
        #expect(isSaved, "\(name)")
        for client in clients {
            let isThere = try await eventually(seconds: 10) {
                let id = Record.ID(recordName: name)
                return (try? await client.privateCloudDatabase.record(for: id)) != nil
            }
            #expect(isThere, "\(name)")
        }
    }

    /// A client, once the user is known there.
    private func connected(_ user: String, to server: TestServer) async throws -> Container {
        let isKnown = try await eventually {
            (try? RawClient(greeting: server.endpoint, token: user)) != nil
        }
        #expect(isKnown)
        return server.container(token: user, timeout: .seconds(2))
    }
}
