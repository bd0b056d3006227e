// A peer gets the commits of this run from memory, and several of a burst in one page. It hears now
// and then of runs that it takes elsewhere.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import CumulusWire
import Synchronization
import Testing

@testable import CumulusNode

@Suite struct CommitPagesTests {
    private static let scope = ScopeID(container: "iCloud.test", environment: .development)

    private final class Clock: Sendable {
        let milliseconds = Atomic<Int64>(1_000_000)
    }

    private let clock = Clock()
    private let node: Node

    init() throws {
        var environment = TestServer.environment
        environment.now = { [clock] in
            Instant(milliseconds: clock.milliseconds.load(ordering: .relaxed))
        }
        var configuration = Node.Configuration(
            version: Release.version,
            container: Self.scope.container,
            operatorToken: [1]
        )
        configuration.limits.pageBytes = 4_000
        // Its threads are not started: the test runs each batch.
        node = try Node(configuration, engine: MemoryEngine(), environment: environment)
    }

    /// Saves records in one batch, each with a commit of its own.
    private func save(_ names: String..., size: Int = 1) throws {
        for name in names {
            let item = SaveItem(name, ["text": .string(String(repeating: "x", count: size))])
            let save = ModifyRecords(database: .public, policy: .ifUnchanged, saves: [item])
            let request = WriteRequest(
                save,
                scope: Self.scope,
                caller: Caller(role: .user("_ada"))
            )
            let token = CallToken(deadline: node.environment.now() + 60_000)
            let work = StoreGate.Request(request, token) { answer in
                if case .failure(let error) = answer { Issue.record(error) }
            }
            #expect(node.gate.submit(.init(work, byteCount: 1, loop: InPlaceLoop.shared)))
        }
        #expect(node.gate.runBatch())
    }

    /// Takes the first commit of another run.
    private func takeForeign() throws {
        let register = Commit.Register(namespace: "test", key: [[1]], value: [1])
        let time = node.environment.wallClock()
        let foreign = Commit.foreign(.register(register), milliseconds: time)
        let commits = PeerCommits(
            scope: Self.scope,
            commits: [foreign.encoded()],
            clock: .init(now: time)
        )
        let job = StoreGate.Job(.commits) { transaction throws(EngineError) in
            try commits.run(in: &transaction).0
        } then: { outcome in
            #expect((try? outcome.get()) == .taken(1))
        }
        #expect(node.gate.submit(.init(job, byteCount: 1, loop: InPlaceLoop.shared)))
        #expect(node.gate.runBatch())
    }

    /// The first page of a reader that has nothing.
    private func begin(elsewhere: [Incarnation] = []) throws -> Page {
        let number = try #require(try node.gate.latest(reach: .disk).scope(Self.scope))
        let outbound = OutboundCommits(
            scope: number,
            position: VersionVector(),
            elsewhere: elsewhere
        )
        return try CommitPages(node: node, scope: Self.scope, number: number).page(of: outbound)
    }

    private func dots(_ page: Page) throws -> [Dot] {
        try PullResponse(wire: page.message.first).commits.map { try CommitHead($0).dot }
    }

    /// The next page, which is the same from memory and from the log.
    private func next(_ page: Page) throws -> Page {
        let quick = try #require(try page.news?.fromMemory?())
        let read = try #require(try page.next?())
        #expect(quick.message.first == read.message.first)
        #expect(quick.isSilent == read.isSilent)
        #expect(quick.news?.until == read.news?.until)
        return quick
    }

    @Test func whatThisRunMadeComesFromMemory() throws {
        try save("a")
        let first = try begin()
        let last = try #require(try dots(first).last)
        #expect(last.incarnation == node.incarnation)
        let idle = try next(first)
        #expect(idle.isSilent)
        try save("b")
        try save("c", "d")
        let second = try next(idle)
        #expect(try dots(second) == (1...3).map { Dot(last.incarnation, last.seq + $0) })
        #expect(try next(second).isSilent)
    }

    @Test func whatAnotherRunMadeIsReadFromTheLog() throws {
        try save("a")
        let first = try begin()
        try takeForeign()
        #expect(throws: EngineError.notInMemory) { try first.news?.fromMemory?() }
        let second = try #require(try first.next?())
        #expect(try dots(second) == [Dot(Incarnation(42), 1)])
        try save("b")
        #expect(try dots(try next(second)).count == 1)
    }

    @Test func whatFillsMoreThanAPageIsReadFromTheLog() throws {
        try save("a")
        let first = try begin()
        for name in ["b", "c", "d"] { try save(name, size: 2_000) }
        #expect(throws: EngineError.notInMemory) { try first.news?.fromMemory?() }
        let second = try #require(try first.next?())
        // It is not the last one, so the next is read as well.
        #expect(try dots(second).count == 2)
        #expect(second.news == nil)
    }

    /// Memory holds a bounded part of the log.
    @Test func whatIsLongAgoIsReadFromTheLog() throws {
        try save("a")
        let first = try begin()
        for number in 0..<20 { try save("r\(number)", size: 100_000) }
        #expect(throws: EngineError.notInMemory) { try first.news?.fromMemory?() }
        let number = try #require(try node.gate.latest(reach: .disk).scope(Self.scope))
        let vector = try node.gate.latestVector(of: number).vector
        let last = vector[node.incarnation]
        #expect(node.gate.visible.recent(of: number, above: 0) == nil)
        #expect(node.gate.visible.recent(of: number, above: last)?.commits.isEmpty == true)
        try save("s")
        #expect(node.gate.visible.recent(of: number, above: last)?.commits.count == 1)
    }

    @Test func aBurstIsGatheredUnlessACallerWaits() throws {
        try save("a")
        let single = try next(begin())
        #expect(single.news?.gathering == nil)
        try save("b", "c", "d", "e", "f", "g", "h", "i")
        let burst = try next(single)
        #expect(try dots(burst).count == 8)
        let gathering = try #require(burst.news?.gathering)
        #expect((1...10).contains(gathering()))
        let wait = ReplicaWait(node.replicas, Self.scope, copies: 1)
        #expect(gathering() == 0)
        withExtendedLifetime(wait) {}
    }

    /// News of what the peer takes elsewhere goes with commits, or alone after a while.
    @Test func newsOfOtherRunsWaitsForCommits() throws {
        let run = Incarnation(42)
        try save("a")
        let first = try begin(elsewhere: [run])
        try takeForeign()
        let silent = try next(first)
        #expect(silent.isSilent)
        let due = try #require(silent.news?.until)
        #expect(due > node.environment.now())
        clock.milliseconds.add(50, ordering: .relaxed)
        let still = try next(silent)
        #expect(still.isSilent && still.news?.until == due)

        clock.milliseconds.store(due.milliseconds, ordering: .relaxed)
        let alone = try next(still)
        #expect(!alone.isSilent && alone.news?.until == nil)
        #expect(try dots(alone).isEmpty)
        #expect(try PullResponse(wire: alone.message.first).vector.dots == [Dot(run, 1)])
        #expect(try next(alone).isSilent)

        clock.milliseconds.store(due.milliseconds - 1, ordering: .relaxed)
        try save("b")
        let beside = try next(still)
        #expect(try dots(beside).count == 1)
        #expect(try PullResponse(wire: beside.message.first).vector.dots == [Dot(run, 1)])
        #expect(beside.news?.until == nil)
    }

    /// Single commits go to the peer at once, without a thread; what follows a burst goes together,
    /// whatever credit comes meanwhile.
    @Test func aStreamGathersABurst() throws {
        try save("a")
        let now = node.environment.now()
        let frames = ConnectionFrames(FrameConnection(limits: .standard, now: now))
        let calls = OpenCalls(
            node: node,
            link: InPlaceLink(),
            frames: frames,
            room: ConnectionRoom(node.meter, .standard)
        )
        calls.identity.peer = [1]
        try calls.take(1)
        calls.enter(
            OpenCall(
                token: CallToken(deadline: now + 60_000),
                of: CallHeader(.peersPull),
                start: 0,
                requestBytes: 0,
                credit: 1 << 20
            ),
            on: 1
        )
        calls.makeEndless(1, patience: nil)
        func sends(_ work: () throws -> Void) rethrows -> Bool {
            let before = frames.connection.output.count
            try work()
            return frames.connection.output.count > before
        }
        let first = try begin()
        #expect(sends { calls.finish(1, first) })
        #expect(try sends { try save("b") })
        #expect(try sends { try save("c", "d", "e", "f", "g", "h", "i", "j") })
        #expect(try !sends { try save("k") })
        let credit = Frame(.credit, stream: 1, payload: [0, 0, 1, 0])
        #expect(try !sends { try calls.grant(credit) })
        #expect(try !sends { try save("l") })
        let wake = calls.wakeTime
        #expect(wake > now && wake <= now + 10)
        clock.milliseconds.store(wake.milliseconds, ordering: .relaxed)
        #expect(sends { calls.timePassed(now: wake) })
        #expect(try sends { try save("m") })
        #expect(!node.gate.hasReads)
        calls.close()
    }

    /// Credit for small messages is given together.
    @Test func creditIsGivenInSteps() {
        let connection = PeerConnection(
            node,
            PeerProof(key: Bytes(repeating: 1, count: 32)),
            link: InPlaceLink(),
            endpoint: "a:1",
            now: node.environment.now()
        ) { _ in }
        connection.pull(Self.scope, from: VersionVector())
        connection.creditStep = 1_000
        var frames: [Int] = []
        for size in [400, 599, 1, 3_000, 999] {
            let before = connection.connection.output.count
            connection.grant(size, 1)
            frames.append(connection.connection.output.count - before)
        }
        #expect(frames.map { $0 > 0 } == [false, false, true, true, false])
        #expect(connection.pulls[1]?.uncredited == 999)
    }
}
