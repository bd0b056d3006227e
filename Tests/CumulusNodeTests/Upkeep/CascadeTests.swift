// Long cascades on a node: others write in between, the answer comes at the end, and the next
// process goes on where the last one ended.

import Cumulus
import CumulusModel
import CumulusNode
import CumulusStorage
import CumulusTesting
import CumulusWire
import Foundation
import Synchronization
import Testing

@Suite(.serialized) struct CascadeTests {
    private static let branches = 10
    private static let leaves = 400

    /// Turns are short, so that a cascade has many.
    private var limits: Limits {
        var limits = Limits.standard
        limits.cascadeRecords = 40
        return limits
    }

    /// A tree of 4,001 records.
    private func plant(_ client: RawClient) throws {
        _ = try client.save([Record("root")])[0].get()
        let owners = (0..<Self.branches).map { Record("\($0)", ["of": .owner("root")]) }
        for result in try client.save(owners) { _ = try result.get() }
        for branch in 0..<Self.branches {
            let leaves = (0..<Self.leaves - 1).map {
                Record("\(branch)-\($0)", ["of": .owner("\(branch)")])
            }
            for result in try client.save(leaves) { _ = try result.get() }
        }
    }

    private static var deletion: Bytes {
        ModifyRecordsRequest(
            database: .private,
            policy: 0,
            isAtomic: true,
            saves: [],
            deletes: [WireRecordID(name: Bytes("root".utf8), zone: nil)]
        ).encoded()
    }

    private func records(_ server: TestServer) throws -> [String] {
        try StoredRecords.all(in: server.node.gate.latest(reach: .disk))
            .filter { !$0.row.isDead && $0.row.type == "Note" }.map(\.place.name)
    }

    /// In one turn of the writer hardly one save would find its way in between.
    @Test func othersSaveBesideALongCascade() async throws {
        try await withServer(limits: limits) { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            try plant(client)
            let isDone = Atomic<Bool>(false)
            let endpoint = server.endpoint
            server.node.meter.longestTurn.store(0, ordering: .relaxed)
            async let saves = besideTasks {
                let saver = try RawClient(greeting: endpoint, token: token)
                var saves = 0
                while !isDone.load(ordering: .relaxed) {
                    _ = try saver.save([Record("other-\(saves)")])[0].get()
                    saves += 1
                }
                return saves
            }
            let response = try await besideTasks {
                try RawClient(greeting: endpoint, token: token)
                    .modify(Self.deletion, id: RawRequest.newID())
            }
            #expect(try records(server).filter { !$0.hasPrefix("other") } == [])
            isDone.store(true, ordering: .relaxed)
            #expect(response.deletes.map { $0?.code } == [nil])
            let longest = Double(server.node.meter.longestTurn.value) / 1_000
            print("a cascade of 4,001 records: longest turn of the writer \(longest) ms")
            #expect(try await saves > 40)
        }
    }

    @Test func theNextProcessGoesOn() async throws {
        let engine = MemoryEngine()
        let id = RawRequest.newID()
        let first = try await TestServer(engine: engine, limits: limits, paysCascades: false)
        let token = try await first.makeUser("ada")
        let client = try RawClient(greeting: first.endpoint, token: token)
        try plant(client)
        // Nobody goes on here: the call's time is up first.
        let endpoint = first.endpoint
        let refusal = try await besideTasks {
            let client = try RawClient(greeting: endpoint, token: token)
            let call = client.call(
                .recordsModify,
                Self.deletion,
                milliseconds: 2_000,
                requestID: id
            )
            try client.send(call)
            return try error { _ = try client.answer(to: call) }
        }
        #expect(refusal.reason == .deadline)
        #expect(refusal.message.contains("same request id"))
        #expect(try records(first).count == 4_001 - limits.cascadeRecords)
        #expect(try client.fetch("root")[0].refusal?.code == .unknownItem)
        try await first.stop()
        let reopened = MemoryEngine(reopening: engine)
        let second = try await TestServer(engine: reopened, limits: limits)
        // Answered when all are gone.
        let answer = try await besideTasks { [endpoint = second.endpoint] in
            try RawClient(greeting: endpoint, token: token).modify(Self.deletion, id: id)
        }
        #expect(answer.deletes.map { $0?.code } == [nil])
        #expect(try records(second) == [])
        try await second.stop()
    }

    @Test func aForbiddenCascadeIsRefusedBeforeItBegins() async throws {
        try await withServer(limits: limits) { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            try plant(client)
            var child = Record("child")
            child.parent = Record.Reference(recordName: "9-0", action: .none)
            _ = try client.save([child])[0].get()
            let response = try await besideTasks { [endpoint = server.endpoint] in
                try RawClient(greeting: endpoint, token: token)
                    .modify(Self.deletion, id: RawRequest.newID())
            }
            #expect(response.deletes[0]?.code == .referenceViolation)
            #expect(try records(server).count == 4_002)
        }
    }
}
