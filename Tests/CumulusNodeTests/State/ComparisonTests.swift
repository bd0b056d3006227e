// What a node answers to another one that compares: digests, records of stretches, or what is wrong
// with the question.

import Cumulus
import CumulusModel
import CumulusStorage
import CumulusTesting
import CumulusWire
import Synchronization
import Testing

@testable import CumulusNode

@Suite struct ComparisonTests {
    private static let key = Bytes(repeating: 0x5A, count: 32)

    private static func ask(
        _ client: RawClient,
        _ stretches: [StateRequest.Stretch] = [],
        compares: Bool = true
    ) throws -> [StateResponse] {
        let request = StateRequest(
            vector: VersionVector(),
            format: OpenStore.stateVersion,
            compares: compares,
            stretches: stretches
        )
        let call = client.call(header, request.encoded())
        try client.send(call)
        try client.credit(8 << 20, on: call)
        return try client.answer(to: call).map(StateResponse.init(wire:))
    }

    private static let header: CallHeader = {
        var header = CallHeader(.peersState)
        header.container = Bytes(TestServer.container.utf8)
        header.environment = UInt32(Environment.development.rawValue)
        return header
    }()

    private static func greet(_ server: TestServer, as id: UInt8 = 9) throws -> RawClient {
        try RawClient(
            greeting: server.endpoint,
            asPeer: Bytes(repeating: id, count: 16),
            key: key
        )
    }

    private func fill(_ server: TestServer) async throws {
        let token = try await server.makeUser("ada")
        let client = server.container(token: token)
        let records = (0..<300).map { Record("r\($0)", ["text": .string("abc")]) }
        _ = try await client.privateCloudDatabase.modifyRecords(saving: records, deleting: [])
        await client.close()
    }

    @Test func aPeerIsToldDigestsAndThenRecords() async throws {
        let server = try await TestServer(clusterKey: Self.key)
        try await fill(server)
        try await besideTasks {
            let client = try Self.greet(server)
            let digests = try Self.ask(client)
            #expect(digests.flatMap(\.records).isEmpty && digests.last?.isComplete == true)
            #expect(digests.flatMap(\.digests).map(\.records).reduce(0, +) == 300)
            let offered = digests.flatMap(\.zones)
            let zone = try #require(offered.first { $0.name == Bytes(Names.defaultZone.utf8) })
            #expect(zone.heads.isEmpty && digests.flatMap(\.registers).isEmpty)
            var stretch = StateRequest.Stretch(
                database: zone.database,
                owner: zone.owner,
                zone: zone.name,
                after: Bytes("r297".utf8),
                through: []
            )
            let records = try Self.ask(client, [stretch]).flatMap(\.records)
            #expect(records.first?.name == Bytes("r298".utf8))
            #expect(records.last?.name == Bytes("r99".utf8))
            stretch.zone = Bytes("gone".utf8)
            let nothing = try Self.ask(client, [stretch])
            #expect(nothing.flatMap(\.zones).isEmpty && nothing.flatMap(\.records).isEmpty)
            client.close()
        }
        try await server.stop()
    }

    @Test func questionsThatCannotBeAreRefused() async throws {
        let server = try await TestServer(clusterKey: Self.key)
        try await besideTasks {
            let client = try Self.greet(server)
            let right = StateRequest.Stretch(
                database: 1,
                owner: [],
                zone: Bytes("z".utf8),
                after: [],
                through: []
            )
            var (kind, name) = (right, right)
            kind.database = 77
            name.through = [0xFF, 0xFE]
            func part(_ after: String, _ through: String) -> StateRequest.Stretch {
                var part = right
                (part.after, part.through) = (Bytes(after.utf8), Bytes(through.utf8))
                return part
            }
            let many = (100..<357).map { part("\($0)", "\($0 + 1)") }
            let wrong: [([StateRequest.Stretch], compares: Bool)] = [
                ([kind], true), ([name], true), ([right], false), (many, true),
                ([right, right], true), ([part("b", "a")], true), ([part("a", "a")], true),
                ([part("c", "d"), part("a", "b")], true),
                ([part("a", "c"), part("b", "d")], true),
            ]
            for (stretches, compares) in wrong {
                let error = #expect(throws: ServiceError.self) {
                    _ = try Self.ask(client, stretches, compares: compares)
                }
                #expect(error?.code == .invalidArguments, "\(error as Any)")
            }
            // The connection is as good as before.
            #expect(try Self.ask(client).last?.isComplete == true)
            let good = [part("a", "b"), part("b", "c"), part("d", "")]
            #expect(try Self.ask(client, good).last?.isComplete == true)
            client.close()
        }
        try await server.stop()
    }

    /// A node hands its state to two others at a time: who compares waits until it has room.
    @Test func whoComparesWaitsForItsTurn() async throws {
        var limits = Limits.standard
        limits.initialCredit = 100
        let donor = try await TestServer(limits: limits, clusterKey: Self.key)
        let server = try await TestServer(clusterKey: Self.key)
        try await fill(donor)
        server.follow([donor])
        let admin = server.nodeOperator()
        let isConnected = try await eventually {
            try await admin.members().contains { $0.isConnected }
        }
        #expect(isConnected)
        // They grant no credit, so the node keeps what it has for them.
        let takers = try (1...2).map { number in
            let taker = try Self.greet(donor, as: UInt8(number))
            let request = StateRequest(vector: VersionVector(), format: OpenStore.stateVersion)
            try taker.send(taker.call(Self.header, request.encoded()))
            return taker
        }
        #expect(try await eventually { donor.node.meter.statesHandedOver.value == 2 })
        let peer = donor.node.nodeID.hex
        let verdicts = Mutex<[UInt64]>([])
        async let comparison: Void = {
            let verdict = try await admin.verify(with: peer, repairs: false)
            verdicts.withLock { $0.append(verdict.different) }
        }()
        try await Task.sleep(for: .milliseconds(700))
        let early = verdicts.withLock { $0 }
        #expect(early.isEmpty)
        #expect(donor.node.meter.statesHandedOver.value >= 2)
        for taker in takers { taker.close() }
        try await comparison
        let late = verdicts.withLock { $0 }
        #expect(late == [0])
        await admin.close()
        try await server.stop()
        try await donor.stop()
    }
}
