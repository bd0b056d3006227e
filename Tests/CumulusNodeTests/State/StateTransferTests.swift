// A state sync that ends at any moment leaves the store as it was, and the node up; one that fails
// again and again is tried less and less often. `StateResumptionTests` goes on with one that broke.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import CumulusWire
import Logging
import Synchronization
import Testing

@testable import CumulusNode

@Suite struct StateTransferTests {
    private let scope = ScopeID(container: "iCloud.test", environment: .development)

    /// A node whose writer and loop run when the test says so; what ends its process is kept.
    private func makeNode(
        _ failures: Failures,
        limits: Limits = .standard,
        _ change: (inout NodeEnvironment) -> Void = { _ in }
    ) throws -> Node {
        var environment = TestServer.environment
        environment.fail = { failures.add($0) }
        change(&environment)
        var configuration = Node.Configuration(
            version: Release.version,
            container: scope.container,
            operatorToken: [1]
        )
        configuration.limits = limits
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
                case .interrupted: texts.append("interrupted")
                case .forked: texts.append("forked")
                }
            }
        }

        var all: [String] { texts.withLock { $0 } }
    }

    /// What a donor with some records sends.
    private func messages() throws -> [Bytes] {
        let donor = try makeNode(Failures())
        let done = Mutex(false)
        let work = StoreGate.Request(
            WriteRequest(
                ModifyRecords(
                    database: .public,
                    policy: .ifUnchanged,
                    saves: (0..<20).map { SaveItem("r\($0)", ["n": 1]) }
                ),
                scope: scope,
                caller: Caller(role: .user("_ada"))
            ),
            CallToken(deadline: donor.environment.now() + 10_000)
        ) { _ in done.withLock { $0 = true } }
        #expect(donor.gate.submit(.init(work, byteCount: 1, loop: InPlaceLoop.shared)))
        #expect(donor.gate.runBatch())
        return try messages(donor.gate.latest(reach: .disk), byteLimit: 400)
    }

    private func messages(_ snapshot: ReadTransaction, byteLimit: Int) throws -> [Bytes] {
        let number = try #require(try snapshot.scope(scope))
        var outbound = try OutboundState(StateSource(snapshot, scope: number), to: VersionVector())
        var messages: [Bytes] = []
        while true {
            let response = try outbound.next(byteLimit: byteLimit)
            messages.append(response.encoded())
            if response.isComplete { return messages }
        }
    }

    private func transfer(to node: Node, _ outcomes: Outcomes) -> StateTransfer {
        StateTransfer(
            node,
            StateProgress(
                of: scope,
                from: Bytes(repeating: 7, count: 16),
                base: VersionVector(),
                began: node.environment.now()
            ),
            loop: InPlaceLoop.shared,
            grant: { _ in },
            ended: { outcomes.add($0) }
        )
    }

    /// Found by cutting networks under load: a step of the sync was queued when it was given up,
    /// found nothing to go on with, and was taken for a failure of the store.
    @Test(arguments: 0...12) func aDonorThatGivesUpEndsTheSyncOnly(after count: Int) throws {
        let messages = try messages()
        #expect(messages.count > 5)
        let failures = Failures()
        let outcomes = Outcomes()
        let node = try makeNode(failures)
        let transfer = transfer(to: node, outcomes)
        // The writer gets to every second message only.
        for (number, message) in messages.prefix(count).enumerated() {
            transfer.received(message)
            if number % 2 == 0 { #expect(node.gate.runWaiting()) }
        }
        transfer.stop("the donor gave up")
        for _ in 0..<100 where outcomes.all.isEmpty { #expect(node.gate.runWaiting()) }
        #expect(failures.all.isEmpty, "\(failures.all)")
        let isWhole = count >= messages.count && outcomes.all == ["done"]
        #expect(isWhole || outcomes.all == ["the donor gave up"], "\(outcomes.all)")
        let reader = node.gate.latest(reach: .disk)
        #expect(try reader.rows(.meta, .all(.stagedZone)).isEmpty)
        #expect(!node.gate.stops.isHeld(scope))
        // It takes writes again.
        #expect(node.state == "ready")
    }

    // MARK: Comparisons

    /// A comparing node is sent digests of everything, and the records of the stretches that it
    /// names, nothing else.
    @Test func digestsTakeFewBytes() throws {
        let donor = try TestStore(seed: 1)
        for first in stride(from: 0, to: 4_000, by: 400) {
            let fields = ["text": FieldValue.string(String(repeating: "x", count: 300))]
            try donor.save((first..<first + 400).map { SaveItem("r\($0)", fields) })
        }
        let snapshot = ReadTransaction(try donor.engine.snapshot(), reach: .disk)
        let source = StateSource(snapshot, scope: try donor.scopeNumber())
        func responses(_ outbound: OutboundState) throws -> [StateResponse] {
            var (outbound, responses) = (outbound, [StateResponse]())
            while responses.last?.isComplete != true {
                let message = try outbound.next(byteLimit: Limits.standard.pageBytes).encoded()
                responses.append(try StateResponse(wire: message))
            }
            return responses
        }
        func size(_ responses: [StateResponse]) -> Int {
            responses.reduce(0) { $0 + $1.encoded().count }
        }
        let all = try responses(OutboundState(source, to: VersionVector()))
        let digests = try responses(OutboundState(source, comparing: nil))
        #expect(digests.flatMap(\.records).isEmpty)
        let counts = digests.flatMap(\.digests).map(\.records)
        #expect(counts.reduce(0, +) == 4_000)
        #expect(size(digests) < size(all) / 200, "\(size(digests)) of \(size(all))")

        let zone = try #require(all.first?.zones.first)
        let asked = StateRequest.Stretch(
            database: zone.database,
            owner: zone.owner,
            zone: zone.name,
            after: Bytes("r1".utf8),
            through: Bytes("r1002".utf8)
        )
        let records = try responses(OutboundState(source, comparing: [Stretch(asked)]))
        #expect(
            records.flatMap(\.records).map(\.name)
                == ["r10", "r100", "r1000", "r1001", "r1002"].map { Bytes($0.utf8) }
        )
    }

    @Test func stretchesThatCannotBeAreRefused() throws {
        var stretch = StateRequest.Stretch(
            database: 1,
            owner: [],
            zone: Bytes("z".utf8),
            after: [],
            through: []
        )
        _ = try Stretch(stretch)
        stretch.after = [0xFF]
        #expect(throws: MalformedBytes.self) { try Stretch(stretch) }
        (stretch.after, stretch.database) = ([], 77)
        #expect(throws: MalformedBytes.self) { try Stretch(stretch) }
        let digest = StateResponse.Digest(zone: 0, through: [0xFF], records: 1, digest: [])
        #expect(throws: MalformedBytes.self) { try StretchDigest(digest) }
    }

    // MARK: Room

    /// Six nodes, cut apart, made a record of 1 MB each, under one name.
    @Test func livesThatFillMoreThanAFrameAreTaken() throws {
        let stores = try (1...6).map { try TestStore(seed: $0) }
        for (index, store) in stores.enumerated() {
            let text = FieldValue.string(String(repeating: "x", count: 1_000_000 + index))
            try store.save([SaveItem("r", ["text": text])])
            if index > 0 { try stores[0].take(from: store) }
        }
        let donor = ReadTransaction(try stores[0].engine.snapshot(), reach: .disk)
        let limits = Limits.standard
        let messages = try messages(donor, byteLimit: limits.pageBytes)
        #expect(messages.map(\.count).reduce(0, +) > limits.frameBytes)
        #expect(messages.allSatisfy { $0.count < limits.frameBytes / 2 })

        let outcomes = Outcomes()
        let node = try makeNode(Failures())
        let transfer = transfer(to: node, outcomes)
        for message in messages {
            transfer.received(message)
            #expect(node.gate.runWaiting())
        }
        for _ in 0..<100 where outcomes.all.isEmpty { #expect(node.gate.runWaiting()) }
        #expect(outcomes.all == ["done"])
        #expect(try lives(node.gate.latest(reach: .disk)) == lives(donor))
        #expect(try lives(donor).count == 6)
    }

    /// All rows of records named "r", in the order of their keys without the zone's number.
    private func lives(_ reader: ReadTransaction) throws -> [Bytes] {
        let rows = try reader.rows(.records, .all(.record)) + reader.rows(.records, .all(.sibling))
        return rows.map(\.value)
    }

    @Test func aStateThatEndsWithinARecordIsRefused() throws {
        let messages = try messages()
        let outcomes = Outcomes()
        let node = try makeNode(Failures())
        let transfer = transfer(to: node, outcomes)
        for (index, message) in messages.enumerated() {
            var response = try StateResponse(wire: message)
            response.goesOn = index == messages.count - 2
            transfer.received(response.encoded())
        }
        for _ in 0..<100 where outcomes.all.isEmpty { #expect(node.gate.runWaiting()) }
        #expect(outcomes.all == ["the donor sent what can't be: a record breaks off"])
    }

    /// What counts is what is held, not what was sent: a donor could send little that takes much.
    @Test func anOfferIsBoundedByTheMemoryThatItTakes() throws {
        let messages = try messages()
        var offer = StateOffer()
        var sent = 0
        for message in messages {
            let response = try StateResponse(wire: message)
            try offer.add(response)
            sent += message.count
            if response.isOffered { break }
        }
        #expect(offer.heldBytes > sent)
        for (limit, isTaken) in [(offer.heldBytes, true), (offer.heldBytes - 1, false)] {
            let outcomes = Outcomes()
            let node = try makeNode(Failures(), limits: limits { $0.offeredStateBytes = limit })
            let transfer = transfer(to: node, outcomes)
            for message in messages { transfer.received(message) }
            for _ in 0..<100 where outcomes.all.isEmpty { #expect(node.gate.runWaiting()) }
            let isRefused = outcomes.all.first?.contains("offeredStateBytes") == true
            #expect(outcomes.all.count == 1)
            #expect(isRefused != isTaken, "\(outcomes.all)")
        }
    }

    /// An empty part of a register's key has two bytes on the wire.
    @Test func emptyPartsTakeRoomToo() throws {
        var response = StateResponse()
        response.registers = [
            .init(
                namespace: Bytes("n".utf8),
                key: Array(repeating: [], count: 1_000),
                row: RegisterRow(stamp: .zero, value: nil).rowBytes
            )
        ]
        var offer = StateOffer()
        try offer.add(response)
        #expect(offer.heldBytes > 1_000 * MemoryLayout<Bytes>.stride)
    }

    @Test func oneOfferIsHeldAtATime() throws {
        let reader = try makeReader()
        #expect(try reader.begin(scope))
        #expect(try !reader.begin(.cluster))
        try reader.end()
        #expect(try reader.begin(.cluster))
    }

    // MARK: Pauses

    /// A node's connection to a donor, whose loop, clock and log are the test's.
    private final class Reader {
        let connection: PeerConnection
        private let clock: Clock
        private let told: Levels

        private final class Clock: Sendable {
            let milliseconds = Atomic<Int64>(1_000)
        }

        private final class Levels: Sendable {
            let all = Mutex<[Logger.Level]>([])
        }

        /// Keeps the levels of what says that a state was not taken.
        private struct Handler: LogHandler {
            var metadata: Logger.Metadata = [:]
            var logLevel = Logger.Level.trace
            let told: Levels

            subscript(metadataKey key: String) -> Logger.Metadata.Value? {
                get { metadata[key] }
                set { metadata[key] = newValue }
            }

            func log(event: LogEvent) {
                let text = event.message.description
                guard text.contains("could not be taken") || text.contains("was forked") else {
                    return
                }
                told.all.withLock { $0.append(event.level) }
            }
        }

        init(_ make: ((inout NodeEnvironment) -> Void) throws -> Node) throws {
            let (clock, told) = (Clock(), Levels())
            (self.clock, self.told) = (clock, told)
            let node = try make { environment in
                environment.now = {
                    Instant(milliseconds: clock.milliseconds.load(ordering: .relaxed))
                }
                environment.logger = Logger(label: "test") { _ in Handler(told: told) }
            }
            connection = PeerConnection(
                node,
                PeerProof(key: Bytes(repeating: 1, count: 32)),
                link: InPlaceLink(),
                endpoint: "a:1",
                now: node.environment.now()
            ) { _ in }
        }

        var levels: [Logger.Level] { told.all.withLock { $0 } }

        func pass(_ milliseconds: Int64) {
            clock.milliseconds.wrappingAdd(milliseconds, ordering: .relaxed)
        }

        /// Asks for the donor's state, unless it is too early for that.
        func begin(_ scope: ScopeID) throws -> Bool {
            let gate = connection.node.gate
            // What the end of the last one made it look for.
            while gate.hasReads { #expect(gate.runRead()) }
            connection.takeState(of: scope)
            guard gate.hasReads else { return false }
            return gate.runRead()
        }

        /// Takes what the donor sends; false if it was not even asked for.
        func take(_ scope: ScopeID, _ messages: [Bytes]) throws -> Bool {
            guard try begin(scope) else { return false }
            try end(messages)
            return true
        }

        /// The donor sends that; by itself it is what nobody can read.
        func end(_ messages: [Bytes] = [[0xFF]]) throws {
            let gate = connection.node.gate
            let transfer = try #require(connection.transfers.values.first)
            for message in messages {
                transfer.received(message)
                #expect(gate.runWaiting())
            }
            for _ in 0..<100 where !connection.transfers.isEmpty { #expect(gate.runWaiting()) }
            #expect(connection.transfers.isEmpty)
        }
    }

    private func makeReader() throws -> Reader {
        try Reader { try makeNode(Failures(), $0) }
    }

    @Test func aStateThatFailsIsAskedForLessAndLess() throws {
        let reader = try makeReader()
        var pauses: [Int64] = []
        for _ in 0..<7 {
            var pause: Int64 = 0
            while try !reader.take(scope, [[0xFF]]) {
                reader.pass(500)
                pause += 500
            }
            pauses.append(pause)
        }
        #expect(pauses == [0, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000])
        #expect(reader.levels == [.info] + Array(repeating: .error, count: 6))
        // One that went well begins anew.
        reader.pass(30_000)
        #expect(try reader.take(scope, messages()))
        #expect(try reader.take(scope, [[0xFF]]))
        #expect(reader.levels.last == .info)
        #expect(try !reader.take(scope, [[0xFF]]))
        reader.pass(1_000)
        #expect(try reader.take(scope, [[0xFF]]))
    }

    /// Other scopes, and other donors, wait for this one.
    @Test func aSilentDonorIsGivenUp() throws {
        let reader = try makeReader()
        let gate = reader.connection.node.gate
        #expect(try reader.begin(scope))
        let transfer = try #require(reader.connection.transfers.values.first)
        func pass(_ milliseconds: Int64) {
            reader.pass(milliseconds)
            transfer.timePassed(now: reader.connection.node.environment.now())
        }
        pass(59_999)
        transfer.received(try messages()[0])
        #expect(gate.runWaiting())
        pass(59_999)
        #expect(reader.connection.transfers.count == 1)
        pass(1)
        #expect(gate.runWaiting())
        #expect(reader.connection.transfers.isEmpty)
        #expect(reader.connection.node.beginState(of: scope))
    }

    @Test func aForkIsAnAlarmAndPauses() throws {
        let reader = try makeReader()
        let messages = try messages()
        #expect(try reader.take(scope, messages))
        let forked = try messages.map { message in
            var response = try StateResponse(wire: message)
            for index in response.vectors.indices {
                var row = try VectorRow(row: response.vectors[index].row)
                row.hash = Bytes(repeating: 1, count: row.hash.count)
                response.vectors[index].row = row.rowBytes
            }
            return response.encoded()
        }
        #expect(try reader.take(scope, forked))
        #expect(reader.levels == [.critical])
        reader.pass(29_999)
        #expect(try !reader.take(scope, forked))
        reader.pass(1)
        #expect(try reader.take(scope, forked))
        // Once per connection is enough.
        #expect(reader.levels == [.critical])
    }
}

extension StoreGate {
    /// Does what waits for the writer; true also if nothing does.
    func runWaiting() -> Bool {
        !hasWrites || runBatch()
    }
}
