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
            (.subscriptionsModify, 2), (.subscriptionsModify, 3), (.subscriptionsFetch, 3),
            (.changesZone, 4), (.changesDatabase, 9), (.zonesList, 9), (.assetsUpload, 9),
            (.assetsDownload, 6), (.feedsMarkRead, 1),
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
            let attackers = try (0..<4).map { _ in
                Attacker(
                    client: try RawClient(greeting: server.endpoint, token: token),
                    method: method,
                    message: message
                )
            }
            for attacker in attackers { attacker.start() }
            defer { for attacker in attackers { attacker.stop() } }
            let median = try Self.median(of: other)
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

    /// A caller that sends one message again and again, on a thread of its own.
    ///
    /// Unchecked: only that thread uses the client, until `stop` has waited for its end.
    private final class Attacker: @unchecked Sendable {
        private let client: RawClient
        private let method: Method
        private let message: Bytes
        private let isOver = Atomic<Bool>(false)
        private let ended = DispatchSemaphore(value: 0)

        init(client: RawClient, method: Method, message: Bytes) {
            self.client = client
            self.method = method
            self.message = message
        }

        func start() {
            Thread {
                while !self.isOver.load(ordering: .relaxed) {
                    let id = Self.requestID()
                    _ = try? self.client.perform(self.method, self.message, requestID: id)
                }
                self.ended.signal()
            }.start()
        }

        func stop() {
            isOver.store(true, ordering: .relaxed)
            ended.wait()
        }

        private static func requestID() -> Bytes {
            var dice = SystemRandomNumberGenerator()
            let now = Int64(Date().timeIntervalSince1970 * 1_000)
            return RequestID(milliseconds: now, using: &dice).bytes
        }
    }
}
