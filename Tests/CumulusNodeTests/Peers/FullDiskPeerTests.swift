// A node whose disk takes deletes only, among others: it takes their deletes, and their saves once
// there is room.

import Cumulus
import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@testable import CumulusNode

@Suite(.serialized) struct FullDiskPeerTests {
    private static let key = Bytes(repeating: 0x5D, count: 32)

    @Test func deletesOfOthersAreTakenBelowTheFirstReserve() async throws {
        let engine = CountingEngine()
        let one = try await TestServer(clusterKey: Self.key)
        let two = try await TestServer(
            engine: engine,
            diskReserve: 2 << 20,
            deleteReserve: 1 << 20,
            clusterKey: Self.key
        )
        do {
            try await deletes(at: one, two, engine)
        } catch {
            try await one.stop()
            try await two.stop()
            throw error
        }
        try await one.stop()
        try await two.stop()
    }

    private func deletes(
        at one: TestServer,
        _ two: TestServer,
        _ engine: CountingEngine
    ) async throws {
        one.follow([two])
        two.follow([one])
        let token = try await one.makeUser("ada")
        try await waitForUser(token, at: two)
        let here = one.container(token: token).privateCloudDatabase
        let there = two.container(token: token).privateCloudDatabase
        let (old, new) = (Record.ID(recordName: "old"), Record.ID(recordName: "new"))
        func has(_ id: Record.ID) async -> Bool { (try? await there.record(for: id)) != nil }
        _ = try await here.save(Record("old"))
        #expect(try await eventually { await has(old) })

        engine.setFreeBytes(2 << 20)
        // What the file system said last counts for 100 ms.
        try await Task.sleep(for: .milliseconds(110))
        let refusal = await #expect(throws: ServiceError.self) {
            _ = try await there.save(Record("refused"))
        }
        #expect(refusal?.reason == .diskFull)
        _ = try await here.deleteRecord(withID: old)
        #expect(try await eventually { await !has(old) })
        #expect(two.node.state == "disk full")

        _ = try await here.save(Record("new"))
        try await Task.sleep(for: .milliseconds(200))
        #expect(await !has(new))
        engine.setFreeBytes(1 << 30)
        #expect(try await eventually { await has(new) })
    }
}
