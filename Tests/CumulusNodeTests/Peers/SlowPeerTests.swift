// What a connection between nodes holds of many containers when one side is slow: a bounded amount,
// and each container gets its turn.

import Cumulus
import CumulusModel
import CumulusReplication
import CumulusStorage
import CumulusTesting
import CumulusWire
import Synchronization
import Testing

@testable import CumulusNode

@Suite struct SlowPeerTests {
    private static let key = Bytes(repeating: 0x5A, count: 32)
    private static let peer = Bytes(repeating: 7, count: 16)
    private static let limits: Limits = {
        var limits = Limits.standard
        limits.peerBytes = 1 << 20
        return limits
    }()
    private static let containers = (0..<40).map { "iCloud.test\($0)" }

    /// Each container has two pages' worth of commits.
    private func fill(_ server: TestServer) async throws {
        let token = try await server.makeUser("ada")
        let admin = server.nodeOperator()
        let text = FieldValue.string(String(repeating: "x", count: 100_000))
        for name in Self.containers {
            _ = try await admin.createContainer(name)
            var configuration = Container.Configuration(endpoints: [server.endpoint])
            configuration.accessToken = token
            let container = Container(identifier: name, configuration: configuration)
            for number in 0..<4 {
                let record = Record("r\(number)", ["text": text])
                _ = try await container.privateCloudDatabase.save(record)
            }
            await container.close()
        }
        await admin.close()
    }

    private func pull(_ container: String, _ client: RawClient) -> Frame {
        var header = CallHeader(.peersPull)
        header.container = Bytes(container.utf8)
        header.environment = UInt32(Environment.development.rawValue)
        return client.call(header, PullRequest(vector: VersionVector()).encoded())
    }

    /// A peer that asks for everything and takes nothing costs its bound, and not a page of each
    /// container; once it reads, it gets them all.
    @Test func aPeerThatTakesNothingHoldsItsBound() async throws {
        let server = try await TestServer(limits: Self.limits, clusterKey: Self.key)
        try await fill(server)
        let client = try RawClient(
            greeting: server.endpoint,
            asPeer: Self.peer,
            key: Self.key,
            receiveBuffer: 4_096
        )
        let calls = Self.containers.map { pull($0, client) }
        try client.send(calls)
        var highest = 0
        for _ in 0..<40 {
            highest = max(highest, server.node.meter.heldBytes.value)
            try await Task.sleep(for: .milliseconds(10))
        }
        // Four pages may be on their way, and each ends with the record that fills it.
        let most = Self.limits.peerBytes + 4 * (Self.limits.pageBytes + 101_000)
        #expect(highest < most, "\(highest) bytes were held")
        #expect(highest > Self.limits.peerBytes / 2, "nothing was held up")

        var commits: [UInt32: Int] = [:]
        while commits.values.reduce(0, +) < 4 * calls.count {
            let frame = try client.nextFrame()
            guard frame.kind == .message,
                let call = calls.first(where: { $0.stream == frame.stream })
            else { continue }
            let response = try PullResponse(wire: frame.payload)
            commits[frame.stream, default: 0] += response.commits.count
            try client.credit(UInt32(frame.payload.count), on: call)
        }
        #expect(Set(calls.map(\.stream)) == Set(commits.keys))
        client.close()
        #expect(try await eventually { server.node.meter.heldBytes.value == 0 })
        try await server.stop()
    }

    /// 250 containers, some with commits that fill most of a frame: a peer that takes nothing costs
    /// at most two frames, and not four of them beside what it has waiting.
    @Test func aPeerOfManyContainersHoldsTwoFrames() async throws {
        #expect(2 * Limits.standard.frameBytes == 8 << 20)
        var limits = Self.limits
        limits.frameBytes = 2 << 20
        let server = try await TestServer(limits: limits, clusterKey: Self.key)
        let containers = (0..<250).map { "iCloud.many\($0)" }
        let admin = server.nodeOperator()
        let token = try await server.makeUser("ada")
        let text = FieldValue.string(String(repeating: "x", count: 900_000))
        for (number, name) in containers.enumerated() {
            _ = try await admin.createContainer(name)
            if number % 25 > 0 { continue }
            var configuration = Container.Configuration(endpoints: [server.endpoint])
            configuration.accessToken = token
            let container = Container(identifier: name, configuration: configuration)
            _ = try await container.privateCloudDatabase.modifyRecords(
                saving: (0..<2).map { Record("r\($0)", ["text": text]) },
                deleting: []
            )
            await container.close()
        }
        await admin.close()
        let client = try RawClient(
            greeting: server.endpoint,
            asPeer: Self.peer,
            key: Self.key,
            receiveBuffer: 4_096
        )
        let calls = containers.map { pull($0, client) }
        try client.send(calls)
        var highest = 0
        for _ in 0..<60 {
            highest = max(highest, server.node.meter.heldBytes.value)
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(highest <= 2 * limits.frameBytes, "\(highest) bytes were held")
        #expect(highest > limits.peerBytes, "nothing was held up")

        var begun: Set<UInt32> = []
        while begun.count < calls.count {
            let frame = try client.nextFrame()
            guard frame.kind == .message,
                let call = calls.first(where: { $0.stream == frame.stream })
            else { continue }
            begun.insert(frame.stream)
            try client.credit(UInt32(frame.payload.count), on: call)
        }
        client.close()
        #expect(try await eventually { server.node.meter.heldBytes.value == 0 })
        try await server.stop()
    }

    /// A peer that sends and takes nothing is read no further, and told nothing more.
    @Test func whatAPeerDoesNotTakeIsBounded() throws {
        let node = try Node(
            Node.Configuration(
                version: Release.version,
                container: "iCloud.test",
                operatorToken: [1]
            ),
            engine: MemoryEngine(),
            environment: TestServer.environment
        )
        let now = node.environment.now()
        let connection = PeerConnection(
            node,
            PeerProof(key: Self.key),
            link: InPlaceLink(),
            endpoint: "a:1",
            now: now
        ) { _ in }
        func isReading() -> Bool { connection.turnEnded(now: now).isReading }
        func reports() -> Int {
            connection.report()
            while node.gate.hasReads, node.gate.runRead() {}
            return connection.reports.count
        }
        #expect(isReading())
        // One of each scope, and one that tells the clock.
        let count = reports()
        #expect(count > 1)
        connection.reported = [:]
        connection.writing(64 << 10, now: now)
        #expect(reports() == count)
        #expect(isReading())
        connection.writing(2 << 20, now: now)
        #expect(!isReading())
        connection.writing(0, now: now)
        #expect(isReading())
        #expect(reports() == 2 * count)
    }

    /// A node whose writer is slow takes no more from its peer than its bound, however many
    /// containers have something.
    @Test func whatTheWriterIsNotDoneWithIsBounded() throws {
        var configuration = Node.Configuration(
            version: Release.version,
            container: "iCloud.test",
            operatorToken: [1]
        )
        configuration.limits = Self.limits
        // Its threads are not started: nothing is written.
        let node = try Node(
            configuration,
            engine: MemoryEngine(),
            environment: TestServer.environment
        )
        let now = node.environment.now()
        let connection = PeerConnection(
            node,
            PeerProof(key: Self.key),
            link: InPlaceLink(),
            endpoint: "a:1",
            now: now
        ) { _ in }
        let response = PullResponse(
            commits: [Bytes(repeating: 1, count: 100_000)],
            vector: VersionVector()
        )
        let payload = response.encoded()
        func isReading() -> Bool { connection.turnEnded(now: now).isReading }
        var taken = 0
        // The first goes to the writer, the second waits for it.
        for name in Self.containers where isReading() {
            let scope = ScopeID(container: name, environment: .development)
            connection.pull(scope, from: VersionVector())
            let stream = try #require(connection.pulled[scope])
            for _ in 0..<2 {
                try connection.take(Frame(.message, stream: stream, payload: payload))
                taken += 1
            }
        }
        #expect(taken == 12)
        #expect(connection.unwrittenBytes == taken * payload.count)
        #expect(!isReading())
        // What the writer has not begun with is dropped with its pull.
        for stream in connection.pulls.keys { connection.stopPulling(stream) }
        #expect(connection.unwrittenBytes == taken / 2 * payload.count)
        while connection.unwrittenBytes > 0, node.gate.runWaiting() {}
        #expect(connection.unwrittenBytes == 0)
        #expect(isReading())
    }
}
