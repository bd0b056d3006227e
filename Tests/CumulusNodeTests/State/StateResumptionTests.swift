// A state sync whose connection broke goes on over another one, where it was, and with the same
// snapshot only; neither side keeps what came of it for long.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import CumulusWire
import Synchronization
import Testing

@testable import CumulusNode

@Suite struct StateResumptionTests {
    private static let scope = ScopeID(container: "iCloud.test", environment: .development)
    private static let donorID = Bytes(repeating: 7, count: 16)
    private static let name = Bytes(repeating: 9, count: 16)

    /// A donor's store with records of 1 KB.
    private func donor(seed: UInt64 = 1) throws -> TestStore {
        let store = try TestStore(seed: seed)
        let text = FieldValue.string(String(repeating: "x", count: 1_000))
        try store.save((0..<40).map { SaveItem("r\($0)", ["text": text]) })
        return store
    }

    private func outbound(of store: TestStore) throws -> OutboundState {
        let snapshot = ReadTransaction(try store.engine.snapshot(), reach: .disk)
        let source = StateSource(snapshot, scope: try store.scopeNumber())
        return try OutboundState(source, to: VersionVector())
    }

    private func makeNode() throws -> Node {
        let configuration = Node.Configuration(
            version: Release.version,
            container: Self.scope.container,
            operatorToken: [1]
        )
        return try Node(
            configuration,
            engine: MemoryEngine(),
            environment: TestServer.environment
        )
    }

    /// What a transfer ended with.
    private final class Ending {
        var outcome: StateTransfer.Outcome?
        var granted = 0

        var interrupted: InterruptedState? {
            if case .interrupted(let rest)? = outcome { rest } else { nil }
        }
        var isDone: Bool { if case .done? = outcome { true } else { false } }
        var failure: String? { if case .failed(let why)? = outcome { why } else { nil } }
    }

    private func transfer(
        to node: Node,
        after rest: InterruptedState?,
        _ ending: Ending
    ) -> StateTransfer {
        let progress =
            rest?.progress
            ?? StateProgress(
                of: Self.scope,
                from: Self.donorID,
                base: VersionVector(),
                began: node.environment.now()
            )
        return StateTransfer(
            node,
            progress,
            rest?.sync,
            loop: InPlaceLoop.shared,
            grant: { ending.granted += $0 },
            ended: { ending.outcome = $0 }
        )
    }

    private func messages(_ outbound: OutboundState, named name: Bytes = name) throws -> [Bytes] {
        var (outbound, messages) = (outbound, [Bytes]())
        while true {
            var response = try outbound.next(byteLimit: 400)
            if messages.isEmpty { response.snapshot = name }
            messages.append(response.encoded())
            if response.isComplete { return messages }
        }
    }

    /// Every connection breaks behind its first `count` messages, whether the writer is done with
    /// them or not; what was sent comes once.
    @Test(arguments: 2...9) func aSyncGoesOnOverOtherConnections(count: Int) throws {
        let donor = try donor()
        let outbound = try outbound(of: donor)
        let node = try makeNode()
        let whole = try messages(outbound).reduce(0) { $0 + $1.count }
        var (rest, sent, connections) = (InterruptedState?.none, 0, 0)
        while connections < 100 {
            connections += 1
            let position = rest?.progress.position ?? StatePosition()
            let messages = try messages(try #require(outbound.rest(behind: position)))
            let ending = Ending()
            let transfer = transfer(to: node, after: rest, ending)
            for (number, message) in messages.prefix(count).enumerated() {
                transfer.received(message)
                sent += message.count
                if number % 2 == connections % 2 { #expect(node.gate.runWaiting()) }
            }
            let isAll = messages.count <= count
            let granted = ending.granted
            transfer.breakOff("the connection broke")
            for _ in 0..<100 where ending.outcome == nil { #expect(node.gate.runWaiting()) }
            #expect(ending.granted == granted, "nobody is there to be granted anything")
            if isAll {
                #expect(ending.isDone, "\(ending.outcome as Any)")
                break
            }
            rest = ending.interrupted
            try #require(rest != nil, "\(ending.outcome as Any)")
            #expect(!node.gate.stops.isHeld(Self.scope))
        }
        #expect(connections > 4)
        // Each connection begins with the snapshot's name.
        #expect(sent < whole + 40 * connections, "\(sent) bytes of \(whole)")
        let rows = try node.gate.latest(reach: .disk).rows(.records, .all(.record))
        #expect(rows.count == 40)
        #expect(try DerivedRows.differences(in: node.gate.engine) == [])
    }

    private func hasStages(_ node: Node) throws -> Bool {
        let reader = node.gate.latest(reach: .disk)
        return try reader.hasStages() || !reader.rows(.log, .all(.stage)).isEmpty
    }

    /// Pages over two connections must be from one snapshot; otherwise staged rows are dropped.
    @Test func anotherSnapshotIsRefused() throws {
        let node = try makeNode()
        let outbound = try outbound(of: donor())
        let first = Ending()
        let begun = transfer(to: node, after: nil, first)
        for message in try messages(outbound).prefix(6) {
            begun.received(message)
            #expect(node.gate.runWaiting())
        }
        begun.breakOff("the connection broke")
        let rest = try #require(first.interrupted)
        #expect(try hasStages(node))

        let other = try self.outbound(of: donor(seed: 2))
        let position = try #require(other.rest(behind: rest.progress.position))
        let second = Ending()
        let wrong = transfer(to: node, after: rest, second)
        wrong.received(try messages(position, named: Bytes(repeating: 8, count: 16))[0])
        for _ in 0..<10 where second.outcome == nil { #expect(node.gate.runWaiting()) }
        #expect(second.failure?.contains("another snapshot") == true, "\(second.outcome as Any)")
        #expect(try !hasStages(node))
    }

    /// A donor that names no snapshot can't go on with it.
    @Test func withoutANameTheSyncEnds() throws {
        let node = try makeNode()
        let ending = Ending()
        let transfer = transfer(to: node, after: nil, ending)
        transfer.received(try messages(outbound(of: donor()), named: [])[0])
        transfer.breakOff("the connection broke")
        for _ in 0..<10 where ending.outcome == nil { #expect(node.gate.runWaiting()) }
        #expect(ending.failure == "the connection broke")
    }

    // MARK: How long it waits

    private func interrupted(
        _ scope: ScopeID = Self.scope,
        since time: Int64
    ) throws -> InterruptedState {
        let began = Instant(milliseconds: 0)
        let progress = StateProgress(
            of: scope,
            from: Self.donorID,
            base: VersionVector(),
            began: began
        )
        return InterruptedState(
            progress: progress,
            sync: nil,
            since: Instant(milliseconds: time)
        )
    }

    @Test func anInterruptedStateWaitsForItsDonorAndGivesWay() throws {
        let transfers = Transfers()
        func time(_ milliseconds: Int64) -> Instant { Instant(milliseconds: milliseconds) }
        #expect(transfers.beginState(of: Self.scope, now: time(0)))
        transfers.keep(try interrupted(since: 1_000))
        #expect(!transfers.begin(in: Self.scope), "what is staged may not be collected")
        #expect(!transfers.beginState(of: .cluster, now: time(10_999)))
        #expect(transfers.goOn(in: .cluster, from: Self.donorID) == nil)
        #expect(transfers.goOn(in: Self.scope, from: [1]) == nil)
        #expect(transfers.goOn(in: Self.scope, from: Self.donorID) != nil)
        // It goes on now, however long that takes.
        #expect(transfers.goOn(in: Self.scope, from: Self.donorID) == nil)
        #expect(!transfers.beginState(of: .cluster, now: time(100_000)))
        transfers.keep(try interrupted(since: 100_000))
        #expect(transfers.beginState(of: .cluster, now: time(110_000)))
        #expect(transfers.goOn(in: Self.scope, from: Self.donorID) == nil)
        #expect(transfers.begin(in: Self.scope))
        transfers.end(in: .cluster)
        transfers.end(in: Self.scope)

        #expect(transfers.beginState(of: Self.scope, now: time(0)))
        transfers.keep(try interrupted(since: 1_000))
        transfers.giveUp(interruptedBefore: time(999))
        #expect(!transfers.begin(in: Self.scope))
        transfers.giveUp(interruptedBefore: time(1_000))
        #expect(transfers.begin(in: Self.scope))
    }

    @Test func aDonorKeepsFewSnapshotsAndNotForLong() throws {
        let meter = NodeMeter()
        let states = HandedStates(meter)
        let outbound = try outbound(of: donor())
        func peer(_ number: UInt8) -> Bytes { Bytes(repeating: number, count: 16) }
        func keep(_ number: UInt8, at time: Int64) throws -> StateStream {
            states.keep(
                outbound,
                try states.slot(for: peer(number)),
                named: [number],
                for: peer(number),
                Self.scope,
                now: Instant(milliseconds: time)
            )
        }
        func goOn(_ number: UInt8, for other: UInt8? = nil, _ scope: ScopeID = Self.scope) throws
            -> StateStream
        {
            try states.goOn(
                with: [number],
                for: peer(other ?? number),
                scope,
                from: StatePosition(),
                now: Instant(milliseconds: 50)
            ).stream
        }
        var first: StateStream? = try keep(1, at: 10)
        var second: StateStream? = try keep(2, at: 20)
        #expect(meter.statesHandedOver.value == 2)
        #expect(throws: ServiceError.self) { _ = try states.slot(for: peer(3)) }
        #expect(throws: ServiceError.self) { _ = try goOn(1, for: 2) }
        #expect(throws: ServiceError.self) { _ = try goOn(1, .cluster) }
        #expect(throws: ServiceError.self) {
            _ = try states.goOn(
                with: [1],
                for: peer(1),
                Self.scope,
                from: StatePosition(parts: 1_000),
                now: Instant(milliseconds: 50)
            )
        }
        // Their connections break; the first one goes on, so the second one gives way.
        (first, second) = (nil, nil)
        #expect(meter.statesHandedOver.value == 2)
        first = try goOn(1)
        #expect(first?.snapshot == [1])
        let third = try keep(3, at: 60)
        #expect(meter.statesHandedOver.value == 2)
        #expect(throws: ServiceError.self) { _ = try goOn(2) }
        // A node that begins anew drops its earlier progress.
        first = nil
        first = try keep(1, at: 70)
        #expect(meter.statesHandedOver.value == 2)
        states.use([1], now: Instant(milliseconds: 90))
        states.drop(unusedSince: Instant(milliseconds: 89))
        #expect(throws: ServiceError.self) { _ = try goOn(3) }
        _ = try goOn(1)
        withExtendedLifetime((first, second, third)) {}
        (first, second) = (nil, nil)
        states.drop(unusedSince: .distant)
        #expect(throws: ServiceError.self) { _ = try goOn(1) }
    }
}
