// What a connection to a peer keeps of its pulls: one for each scope, and few that it has to look
// at, however many containers there are.

import CumulusModel
import CumulusReplication
import CumulusStorage
import CumulusTesting
import CumulusWire
import Synchronization
import Testing

@testable import CumulusNode

@Suite struct PeerPullTests {
    private final class Clock: Sendable {
        let milliseconds = Atomic<Int64>(1_000_000)
    }

    private let clock = Clock()
    private let connection: PeerConnection

    init() throws {
        var environment = TestServer.environment
        environment.now = { [clock] in
            Instant(milliseconds: clock.milliseconds.load(ordering: .relaxed))
        }
        let configuration = Node.Configuration(
            version: Release.version,
            container: "iCloud.test",
            operatorToken: [1]
        )
        let node = try Node(configuration, engine: MemoryEngine(), environment: environment)
        connection = PeerConnection(
            node,
            PeerProof(key: Bytes(repeating: 1, count: 32)),
            link: InPlaceLink(),
            endpoint: "a:1",
            now: environment.now()
        ) { _ in }
    }

    private func scope(_ number: Int) -> ScopeID {
        ScopeID(container: "c\(number)", environment: .development)
    }

    private func pass(_ milliseconds: Int64) {
        clock.milliseconds.wrappingAdd(milliseconds, ordering: .relaxed)
        let now = connection.node.environment.now()
        // The peer was not silent meanwhile.
        connection.connection = FrameConnection(limits: .standard, now: now)
        connection.timePassed(now: now)
    }

    @Test func aScopeIsPulledOnceAndAgainWhenItsPullHasEnded() throws {
        for number in [1, 2, 1] { connection.pull(scope(number), from: VersionVector()) }
        #expect(connection.pulls.count == 2)
        let stream = try #require(connection.pulled[scope(1)])
        connection.stopPulling(stream)
        #expect(Set(connection.pulls.values.map(\.scope)) == [scope(2)])
        connection.pull(scope(1), from: VersionVector())
        #expect(connection.pulls.count == 2)
        #expect(connection.pulled.count == 2)
        // The peer ended that one.
        let other = try #require(connection.pulled[scope(2)])
        let error = ServiceError(.internalError, "a test says so")
        try connection.end(Frame(.status, stream: other, payload: error.encoded()))
        #expect(connection.pulled.keys.map(\.container) == ["c1"])
    }

    /// What a stream was to bring came by another way, and was forgotten there: nothing is lacking.
    @Test func aStreamThatLayStillIsPulledAnew() throws {
        let node = connection.node
        let truncated = ServiceError(.changeTokenExpired, .logTruncated, "a test says so")
        connection.isOpen = true
        connection.pull(.cluster, from: VersionVector())
        let stream = try #require(connection.pulled[.cluster])
        let response = PullResponse(commits: [], vector: VersionVector(), wantsReport: false)
        try connection.take(Frame(.message, stream: stream, payload: response.encoded()))
        try connection.end(Frame(.status, stream: stream, payload: truncated.encoded()))
        #expect(connection.pulled.isEmpty)
        #expect(connection.transfers.isEmpty)
        pass(PeerConnection.soonMilliseconds)
        #expect(node.gate.runRead())
        let again = try #require(connection.pulled[.cluster])
        #expect(again != stream)
        // The log doesn't reach back to where this node is now.
        try connection.end(Frame(.status, stream: again, payload: truncated.encoded()))
        #expect(node.gate.runRead())
        #expect(connection.transfers.values.map(\.scope) == [.cluster])
    }

    @Test func aConnectionEndsBeforeItsStreamsDo() {
        connection.nextStream = PeerConnection.lastStream - 1
        pass(0)
        connection.pull(scope(1), from: VersionVector())
        #expect(!connection.isClosing)
        pass(0)
        #expect(connection.isClosing)
    }

    @Test func onlyThoseAreLookedAtThatWaitForATime() throws {
        for number in 0..<1_000 { connection.pull(scope(number), from: VersionVector()) }
        #expect(connection.timed.isEmpty)
        let paused = try #require(connection.pulled[scope(7)])
        let held = try #require(connection.pulled[scope(8)])
        connection.pause([Incarnation(1): .forked], paused)
        connection.putBack([[1]], 1, held, connection.node.gate.bell.count(of: nil))
        #expect(connection.timed == [paused, held])
        let now = connection.node.environment.now()
        let wake = try #require(connection.turnEnded(now: now).wake)
        #expect(wake <= now + PeerConnection.goalMilliseconds)

        // Commits that were held back that long are asked for from this peer, in a new pull.
        pass(PeerConnection.goalMilliseconds)
        #expect(connection.pulls[held] == nil)
        #expect(connection.timed == [paused])
        pass(PeerConnection.pausedMilliseconds)
        #expect(connection.pulls[paused] == nil)
        #expect(connection.timed.isEmpty)
        #expect(connection.pulls.count == 998)
        #expect(connection.pulled.count == 998)
    }
}
