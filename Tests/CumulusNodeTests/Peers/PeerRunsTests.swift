// If two processes have one node id, the one that is there and alive counts as the node. A refused
// process is not held up for ever by a node that is gone.

import CumulusModel
import CumulusReplication
import CumulusStorage
import CumulusTesting
import CumulusWire
import Synchronization
import Testing

@testable import CumulusNode

@Suite struct PeerRunsTests {
    private final class Link: PeerLink {
        private let isAlive: Bool
        private let asked = Atomic<Int>(0)

        init(isAlive: Bool) {
            self.isAlive = isAlive
        }

        var challenges: Int { asked.load(ordering: .relaxed) }

        func challenge(_ answer: @escaping @Sendable (Bool) -> Void) {
            asked.wrappingAdd(1, ordering: .relaxed)
            answer(isAlive)
        }
    }

    private let runs = PeerRuns()
    private let node: Bytes = [1]

    private func enter(_ run: UInt64, _ link: Link, at endpoint: String = "") -> Bool {
        let entered = Mutex<Bool?>(nil)
        runs.enter(Incarnation(run), of: node, at: endpoint, link) { isAlone in
            entered.withLock { $0 = isAlone }
        }
        return entered.withLock { $0 } ?? false
    }

    @Test func theOneThatCameFirstStaysWhileItIsAlive() {
        let first = Link(isAlive: true)
        #expect(enter(1, first, at: "a:1"))
        #expect(!enter(2, Link(isAlive: true)))
        #expect(first.challenges == 1)
        #expect(runs.endpoint(of: node) == "a:1")
        // Both sides dial: another connection of the same run is welcome.
        let again = Link(isAlive: true)
        #expect(enter(1, again))
        runs.leave(node, first)
        #expect(!enter(2, Link(isAlive: true)))
        runs.leave(node, again)
        #expect(!runs.isConnected(node))
        #expect(enter(2, Link(isAlive: true)))
        #expect(runs.latestRun(of: node) == Incarnation(2))
    }

    @Test func aRunThatGivesNoSignOfLifeMakesRoom() {
        let links = (0..<3).map { _ in Link(isAlive: false) }
        for link in links { #expect(enter(1, link)) }
        #expect(enter(2, Link(isAlive: true)))
        #expect(links.allSatisfy { $0.challenges == 1 })
        #expect(!enter(1, Link(isAlive: true)))
    }

    /// Gives no sign of life before the test says so.
    private final class SilentLink: PeerLink {
        private let waiting = Mutex<[@Sendable (Bool) -> Void]>([])

        var isAsked: Bool { waiting.withLock { !$0.isEmpty } }

        func challenge(_ answer: @escaping @Sendable (Bool) -> Void) {
            waiting.withLock { $0.append(answer) }
        }

        func die() {
            for answer in waiting.withLock({ $0 }) { answer(false) }
        }
    }

    /// Its time to greet was up while another run was asked for a sign of life.
    @Test func whoWasGivenUpMeanwhileIsNotConnected() throws {
        let key = Bytes(repeating: 0x5A, count: 32)
        var configuration = Node.Configuration(
            version: Release.version,
            container: TestServer.container,
            operatorToken: [1]
        )
        configuration.clusterKey = key
        let server = try Node(
            configuration,
            engine: MemoryEngine(),
            environment: TestServer.environment
        )
        let peer = Bytes(repeating: 7, count: server.nodeID.count)
        let other = SilentLink()
        server.peerRuns.enter(Incarnation(1), of: peer, at: "", other) { _ in }
        let start = server.environment.now()
        let session = CallerConnection(node: server, link: InPlaceLink(), now: start)
        let hello = Hello(asPeer: peer, key: key, answering: session.nonce)
        RawClient.greeting(hello).withUnsafeBytes { session.received($0, now: start) }
        #expect(other.isAsked)
        session.timePassed(now: start + Limits.standard.greetingMilliseconds)
        other.die()
        session.closed()
        #expect(!server.peerRuns.isConnected(peer))
    }

    /// The node that said so may be gone as well.
    @Test func aRefusalIsForgottenUnlessItIsRepeated() {
        let start = Instant(milliseconds: 1_000)
        runs.note(isRefused: true, by: "a:1", now: start)
        runs.note(isRefused: true, by: "b:1", now: start)
        #expect(runs.judge(now: start) == true)
        runs.note(isRefused: false, by: "b:1", now: start + 1_000)
        runs.note(isRefused: true, by: "a:1", now: start + 20_000)
        #expect(runs.judge(now: start + 40_000) == nil)
        #expect(runs.isTwin)
        #expect(runs.judge(now: start + 51_000) == false)
        #expect(!runs.isTwin)
    }

    @Test func aTwinIsTold() {
        let start = Instant(milliseconds: 1_000)
        #expect(runs.noteTwin(Incarnation(2), of: node, at: "c:1", now: start))
        #expect(!runs.noteTwin(Incarnation(2), of: node, at: "c:1", now: start + 5_000))
        #expect(runs.twin(of: node, now: start + 6_000) == "c:1")
        #expect(runs.twin(of: node, now: start + 60_000) == "")
    }
}
