// Requests of as many small parts as fit their bytes: each is answered, and others hardly notice.

import CumulusModel
import CumulusNode
import CumulusStorage
import CumulusTesting
import CumulusWire
import Foundation
import Synchronization
import Testing

@Suite(.serialized) struct SmallPartsTests {
    /// The largest request that a node reads, made of one field again and again.
    private static func message(repeating field: UInt8) -> Bytes {
        let parts = (Limits.standard.requestBytes - 16) / 2
        var message: Bytes = [0x08, 2]
        message.reserveCapacity(Limits.standard.requestBytes)
        for _ in 0..<parts { message += [field << 3 | 2, 0] }
        return message
    }

    /// A save of one record with so many fields, without values.
    private static func save(fields count: Int) -> Bytes {
        var record: Bytes = [0x0A, 3, 0x0A, 1, 0x72, 0x12, 1, 0x54]
        for number in 0..<count {
            let name = Bytes("f\(number)".utf8)
            record += [0x52, UInt8(name.count + 2), 0x0A, UInt8(name.count)] + name
        }
        var writer = CanonicalWriter()
        writer.message(1) { $0.raw(record) }
        let save = writer.bytes
        writer = CanonicalWriter()
        writer.field(1, varint: 2)
        writer.message(4) { $0.raw(save) }
        return writer.bytes
    }

    /// Four callers send such requests for half a second per kind: about 10 s in all.
    ///
    /// Another's fetches take 0.5 ms without them, and took 120 when its loop parsed them.
    @Test(
        arguments: [
            (.recordsFetch, 2), (.recordsFetch, 4), (.recordsModify, 4), (.recordsModify, 5),
            (.recordsList, 4), (.recordsQuery, 3), (.recordsQuery, 5), (.recordsQuery, 8),
            (.zonesFetch, 2), (.zonesModify, 2), (.zonesModify, 3), (.assetsPrepare, 2),
            (.changesZone, 4), (.changesDatabase, 9),
        ] as [(Method, UInt8)]
    )
    func othersAreAnsweredBesideThem(method: Method, field: UInt8) async throws {
        try await expectPatience(method, Self.message(repeating: field))
    }

    @Test func othersAreAnsweredBesideASaveOfVeryManyFields() async throws {
        try await expectPatience(.recordsModify, Self.save(fields: 150_000))
    }

    private func expectPatience(_ method: Method, _ message: Bytes) async throws {
        try await withServer { server in
            let token = try await server.makeUser("ada")
            let other = try RawClient(greeting: server.endpoint, token: token)
            _ = try other.save([Record("note")])[0].get()
            let isOver = Atomic<Bool>(false)
            let attackers = try (0..<4).map { _ in
                try RawClient(greeting: server.endpoint, token: token)
            }
            let median = try await withThrowingTaskGroup(of: Void.self) { group in
                for attacker in attackers {
                    // Each is used by one thread.
                    nonisolated(unsafe) let attacker = attacker
                    group.addTask {
                        try await Self.onThread {
                            while !isOver.load(ordering: .relaxed) {
                                let id = Self.requestID()
                                _ = try? attacker.perform(method, message, requestID: id)
                            }
                        }
                    }
                }
                nonisolated(unsafe) let client = other
                let median = try await Self.onThread { try Self.median(of: client) }
                isOver.store(true, ordering: .relaxed)
                try await group.waitForAll()
                return median
            }
            #expect(median < 0.025, "\(method)")
            #expect(try other.fetch("note")[0].get()["title"] == "a note")
        }
    }

    /// The median of a fetch, in seconds, over half a second.
    private static func median(of client: RawClient) throws -> Double {
        var times: [Double] = []
        let end = Date().addingTimeInterval(0.5)
        while Date() < end {
            let start = Date()
            _ = try client.fetch("note")
            times.append(Date().timeIntervalSince(start))
            usleep(1_000)
        }
        return times.sorted()[times.count / 2]
    }

    private static func requestID() -> Bytes {
        var dice = SystemRandomNumberGenerator()
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        return RequestID(milliseconds: now, using: &dice).bytes
    }

    /// Runs what blocks on a thread of its own.
    private static func onThread<Value: Sendable>(
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { waiting in
            Thread { waiting.resume(with: Result { try work() }) }.start()
        }
    }
}
