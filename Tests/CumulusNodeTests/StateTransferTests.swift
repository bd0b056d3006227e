// A state sync whose connection breaks at any moment leaves the store as it was, and the node up.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import CumulusWire
import Synchronization
import Testing

@testable import CumulusNode

@Suite struct StateTransferTests {
    private let scope = ScopeID(container: TestServer.container, environment: .development)

    /// A node whose writer and loop run when the test says so; what ends its process is kept.
    private func makeNode(_ failures: Failures) throws -> Node {
        var environment = TestServer.environment
        environment.fail = { failures.add($0) }
        let configuration = Node.Configuration(
            version: Release.version,
            container: TestServer.container,
            operatorToken: [1]
        )
        return try Node(configuration, engine: MemoryEngine(), environment: environment)
    }

    private final class Failures: Sendable {
        private let texts = Mutex<[String]>([])

        func add(_ text: String) { texts.withLock { $0.append(text) } }
        var all: [String] { texts.withLock { $0 } }
    }

    private final class Outcomes: Sendable {
        private let texts = Mutex<[String]>([])

        func add(_ outcome: StateTransfer.Outcome) {
            texts.withLock { texts in
                switch outcome {
                case .done: texts.append("done")
                case .failed(let why): texts.append(why)
                }
            }
        }

        var all: [String] { texts.withLock { $0 } }
    }

    /// What a donor with some records sends.
    private func messages() throws -> [Bytes] {
        let donor = try makeNode(Failures())
        let done = Mutex(false)
        let work = StoreGate.Work.request(
            WriteRequest(
                .modifyRecords(
                    ModifyRecords(
                        database: .public,
                        policy: .ifUnchanged,
                        saves: (0..<20).map { SaveItem("r\($0)", ["n": 1]) }
                    )
                ),
                scope: scope,
                caller: Caller(role: .user("_ada"))
            ),
            CallToken(deadline: donor.environment.now() + 10_000)
        ) { _ in done.withLock { $0 = true } }
        #expect(donor.gate.submit(.init(work, byteCount: 1, loop: InPlaceLoop.shared)))
        #expect(donor.gate.runBatch())
        let snapshot = donor.gate.latest(reach: .disk)
        let number = try #require(try snapshot.scope(scope))
        var feed = try StateFeed(StateSource(snapshot, scope: number), to: VersionVector())
        var messages: [Bytes] = []
        while true {
            let response = try feed.next(byteLimit: 400)
            messages.append(response.encoded())
            if response.isComplete { return messages }
        }
    }

    /// Found by cutting networks under load: a step of the sync was queued when the connection
    /// broke, found nothing to go on with, and was taken for a failure of the store.
    @Test(arguments: 0...12) func aConnectionThatBreaksEndsTheSyncOnly(after count: Int) throws {
        let messages = try messages()
        #expect(messages.count > 5)
        let failures = Failures()
        let outcomes = Outcomes()
        let node = try makeNode(failures)
        let transfer = StateTransfer(
            node,
            scope: scope,
            base: VersionVector(),
            loop: InPlaceLoop.shared,
            grant: { _ in },
            ended: { outcomes.add($0) }
        )
        // The writer gets to every second message only.
        for (number, message) in messages.prefix(count).enumerated() {
            transfer.received(message)
            if number % 2 == 0 { #expect(node.gate.runWaiting()) }
        }
        transfer.stop("the connection broke")
        for _ in 0..<100 where outcomes.all.isEmpty { #expect(node.gate.runWaiting()) }
        #expect(failures.all.isEmpty, "\(failures.all)")
        let isWhole = count >= messages.count && outcomes.all == ["done"]
        #expect(isWhole || outcomes.all == ["the connection broke"], "\(outcomes.all)")
        let reader = node.gate.latest(reach: .disk)
        #expect(try reader.rows(.meta, .all(.stagedZone)).isEmpty)
        #expect(!node.gate.isHeld(scope))
        // It takes writes again.
        #expect(node.state == "ready")
    }
}

extension StoreGate {
    /// Does what waits for the writer; true also if nothing does.
    fileprivate func runWaiting() -> Bool {
        !hasWrites || runBatch()
    }
}
