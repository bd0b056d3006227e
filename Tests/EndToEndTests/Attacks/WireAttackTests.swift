// A node under attack: thousands of damaged frames, half-open connections, peers that never read.
// It stays up, grows little, and serves the healthy connection beside them.
//
// The node is a process of its own, so that its memory can be read and a crash is a failed test.
// `cluster/chaos wire` sends more.

import CumulusModel
import CumulusTesting
import CumulusWire
import Foundation
import Testing

@Suite(.serialized) struct WireAttackTests {
    private static let growthLimit = 64 << 20
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    @Test(.timeLimit(.minutes(60))) func damagedFramesHarmNobodyElse() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let token = try await node.makeToken()
        var attack = try WireAttack(try node.endpoint, token: token, seed: Chaos.seed)
        #expect(attack.goldenMethods == Set(Method.allCases))
        // What a node needs once, for its first callers, is no growth.
        for _ in 0..<500 { try attack.sendOne() }
        let before = node.residentBytes
        let healthy = try HealthyCaller(node, token)
        for _ in 0..<Chaos.mutations { try attack.sendOne() }
        try healthy.stop()
        print("wire: seed \(Chaos.seed), \(attack.report)")
        #expect(node.ending == nil)
        #expect(attack.verdicts["answered", default: 0] > 0, "seed \(Chaos.seed)")
        #expect(attack.unstable.isEmpty, "seed \(Chaos.seed)")
        try expectLittleGrowth(node, from: before)
        try await #expect(node.end(SIGTERM) == .exit(0))
        #expect(!node.errors.contains("damaged"))
    }

    @Test func halfOpenConnectionsAreClosed() async throws {
        let arguments = ["--limits", "greetingMilliseconds=5000"]
        let node = try await NodeProcess.ready(data: folder.node, arguments: arguments)
        let token = try await node.makeToken()
        let before = node.residentBytes
        let healthy = try HealthyCaller(node, token)
        let greeting = RawClient.greeting(token: token)
        let clients = try (0..<5_000).map { number in
            let client = try RawClient(try node.endpoint)
            try client.send(greeting.prefix(number % greeting.count))
            return client
        }
        for client in clients { #expect(try client.refusal()?.message.contains("HELLO") == true) }
        try healthy.stop()
        try expectLittleGrowth(node, from: before)
    }

    @Test func peersThatNeverReadAreClosed() async throws {
        let arguments = ["--limits", "stalledWriteMilliseconds=1000"]
        let node = try await NodeProcess.ready(data: folder.node, arguments: arguments)
        let token = try await node.makeToken()
        let client = try RawClient(greeting: try node.endpoint, token: token)
        var record = Record(recordType: "Note", recordID: .init(recordName: "large"))
        record["text"] = .string(String(repeating: "x", count: 60_000))
        _ = try client.save([record])[0].get()
        let before = node.residentBytes
        let healthy = try HealthyCaller(node, token)
        var deaf: [RawClient] = []
        for _ in 0..<8 {
            let client = try RawClient(
                greeting: try node.endpoint,
                token: token,
                receiveBuffer: 4_096
            )
            let calls = (0..<1_000).map { _ in
                client.call(.recordsFetch, RawRequest.fetch(["large"]))
            }
            try client.send(calls)
            deaf.append(client)
        }
        let operation = try await waitForConnections(node, atMost: 3)
        #expect(operation, "the deaf are still connected")
        try healthy.stop()
        try expectLittleGrowth(node, from: before)
        for client in deaf { client.close() }
    }

    /// 60 callers ask for 18 MB each and read nothing: what they cost while they are connected.
    @Test func manyDeafCallersCostLittleMemory() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let token = try await node.makeToken()
        let client = try RawClient(greeting: try node.endpoint, token: token)
        let names = (0..<5).map { "large\($0)" }
        for name in names {
            var record = Record(recordType: "Note", recordID: .init(recordName: name))
            record["text"] = .string(String(repeating: "x", count: 900_000))
            _ = try client.save([record], in: .public)[0].get()
        }
        guard let before = node.residentBytes else { return }
        let healthy = try HealthyCaller(node, token)
        let deaf = try (0..<60).map { _ in try RawClient(greeting: try node.endpoint) }
        for client in deaf {
            let calls = (0..<4).map { _ in
                client.call(.recordsFetch, RawRequest.fetch(names, in: .public))
            }
            try client.send(calls)
        }
        var highest = before
        for _ in 0..<40 {
            highest = max(highest, node.residentBytes ?? 0)
            try await Task.sleep(for: .milliseconds(100))
        }
        try healthy.stop()
        print("wire: grew from \(before >> 20) to \(highest >> 20) MB")
        #expect(highest - before < Self.growthLimit, "from \(before >> 20) to \(highest >> 20) MB")
        #expect(highest - before > 8 << 20, "nothing was held up")
        for client in deaf { client.close() }
    }

    /// 400 MB of frames that are never completed, from callers that nobody knows.
    @Test func halfSentFramesHoldLittle() async throws {
        let arguments = ["--limits", "frameMilliseconds=4000"]
        let node = try await NodeProcess.ready(data: folder.node, arguments: arguments)
        let token = try await node.makeToken()
        let before = node.residentBytes
        let healthy = try HealthyCaller(node, token)
        let size = Limits.standard.frameBytes
        var head: Bytes = []
        FrameEncoder.append(UInt32(size), to: &head)
        head += [FrameKind.call.rawValue | 0x80, 0, 0, 0, 1]
        let part = Bytes(repeating: 0, count: size / 64)
        let attackers = try (0..<100).map { _ in
            let attacker = try RawClient(greeting: try node.endpoint)
            attacker.patience = 0
            try attacker.send(head)
            return attacker
        }
        var highest = 0
        for _ in 0..<63 {
            // An attacker that the node keeps waiting tries again with the next part.
            for attacker in attackers { try? attacker.send(part) }
            highest = max(highest, node.residentBytes ?? 0)
        }
        if let before {
            print("wire: grew from \(before >> 20) to \(highest >> 20) MB")
            #expect(highest - before < Self.growthLimit)
            #expect(highest - before > 4 << 20, "nothing was kept")
        }
        // A large call of somebody else waits for its turn, and gets it.
        let client = try RawClient(greeting: try node.endpoint, token: token)
        client.patience = 60_000
        var record = Record(recordType: "Note", recordID: .init(recordName: "large"))
        record["text"] = .string(String(repeating: "x", count: 1_000_000))
        _ = try client.save([record])[0].get()
        try healthy.stop()
        for attacker in attackers { attacker.close() }
    }

    // MARK: Parts

    private func expectLittleGrowth(
        _ node: NodeProcess,
        from before: Int?,
        limit: Int = WireAttackTests.growthLimit
    ) throws {
        guard let before, let after = node.residentBytes else { return }
        print("wire: grew from \(before >> 20) to \(after >> 20) MB")
        #expect(after - before < limit, "from \(before >> 20) to \(after >> 20) MB")
    }

    /// Waits until only so many connections are left, this question's own included.
    private func waitForConnections(_ node: NodeProcess, atMost count: Int) async throws -> Bool {
        var hello = Hello()
        hello.role = WireRole.operator.rawValue
        hello.token = Bytes(try node.operatorToken.utf8)
        let client = try RawClient(try node.endpoint)
        try client.send(RawClient.greeting(hello))
        try client.readHello()
        for _ in 0..<100 {
            let status = try NodeStatus(wire: client.perform(.operatorStatus)[0])
            if status.connections <= UInt32(count) { return true }
            try await Task.sleep(for: .milliseconds(100))
        }
        return false
    }
}
