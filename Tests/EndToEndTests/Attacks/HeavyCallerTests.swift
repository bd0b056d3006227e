// Callers without a token that cost much: requests of very many parts, and large answers that they
// never read. Others' calls are answered beside them.
//
// `cluster/chaos wire` runs these, for ten seconds and longer. The gate tries the same on a node in
// its own process (`SmallPartsTests`, `BadInputTests`).

import CumulusModel
import CumulusTesting
import CumulusWire
import Foundation
import Synchronization
import Testing

@Suite(.serialized, .enabled(if: Chaos.isAsked)) struct HeavyCallerTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// A save of 150,000 fields, again and again, on four connections.
    @Test func savesOfVeryManyFieldsHoldNobodyUp() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let token = try await node.makeToken()
        let healthy = try RawClient(greeting: try node.endpoint, token: token)
        let note = Record(recordType: "Note", recordID: .init(recordName: "note"))
        _ = try healthy.save([note])[0].get()
        let message = Self.save(fields: 150_000)
        let attack = try (0..<4).map { _ in
            let client = try RawClient(greeting: try node.endpoint)
            return Repeated {
                _ = try? client.perform(.recordsModify, message, requestID: RawRequest.newID())
            }
        }
        let median = try Self.times(for: 10) { _ = try healthy.fetch("note")[0].get() }.median
        let sent = attack.reduce(0) { $0 + $1.stop() }
        print("wire: \(sent) saves of 150,000 fields; a fetch took \(median * 1_000) ms")
        #expect(sent > 0)
        #expect(median < 0.025)
    }

    /// Each of these callers asks for 16 answers of 3 MB and reads none.
    @Test(arguments: [16, 200]) func largeSavesGoOnBesideCallersWhoReadNothing(
        callers: Int
    ) async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let token = try await node.makeToken()
        let healthy = try RawClient(greeting: try node.endpoint, token: token)
        healthy.patience = 60_000
        let names = (0..<60).map { "unread\($0)" }
        for name in names { try Self.save(name, bytes: 50_000, by: healthy) }
        let deaf = try (0..<callers).map { _ in
            try RawClient(greeting: try node.endpoint, receiveBuffer: 4_096)
        }
        for client in deaf {
            try client.send(
                (0..<16).map { _ in
                    client.call(.recordsFetch, RawRequest.fetch(names, in: .public))
                }
            )
        }
        var (refused, number) = (0, 0)
        let saves = try Self.times(for: 20) {
            number += 1
            do {
                try Self.save("large\(number)", bytes: 900_000, by: healthy)
            } catch let error as ServiceError where error.code == .requestRateLimited {
                refused += 1
            }
        }
        let fetches = try Self.times(for: 5) {
            _ = try healthy.fetch("unread0", in: .public)[0].get()
        }
        print(
            """
            wire: beside \(callers) that read nothing \(saves.count) saves of 900 KB, \(refused) \
            of them refused, took \(saves.median) s, at most \(saves.last ?? 0); fetches of 50 KB \
            \(fetches.median) s
            """
        )
        #expect(saves.last ?? .infinity < 5)
        #expect(fetches.median < 0.1)
        for client in deaf { client.close() }
    }

    // MARK: Parts

    private static func save(_ name: String, bytes: Int, by client: RawClient) throws {
        var record = Record(recordType: "Note", recordID: .init(recordName: name))
        record["text"] = .string(String(repeating: "x", count: bytes))
        _ = try client.save([record], in: .public)[0].get()
    }

    /// A save of one record with so many fields, without values.
    private static func save(fields count: Int) -> Bytes {
        var record: Bytes = [0x0A, 3, 0x0A, 1, 0x72, 0x12, 1, 0x54]
        for number in 0..<count {
            let name = Bytes("f\(number)".utf8)
            record += [0x52, UInt8(name.count + 2), 0x0A, UInt8(name.count)] + name
        }
        var save = CanonicalWriter()
        save.message(1) { $0.raw(record) }
        var request = CanonicalWriter()
        request.field(1, varint: 1)
        request.message(4) { $0.raw(save.bytes) }
        return request.bytes
    }

    /// How long calls take, one after the other with pauses, in seconds; sorted.
    private static func times(for seconds: Double, _ call: () throws -> Void) throws -> [Double] {
        var times: [Double] = []
        let end = Date().addingTimeInterval(seconds)
        while Date() < end {
            let start = Date()
            try call()
            times.append(Date().timeIntervalSince(start))
            Thread.sleep(forTimeInterval: 0.01)
        }
        return times.sorted()
    }

    /// Work that a thread does again and again until it is stopped.
    private final class Repeated: Sendable {
        private let isOver = Atomic<Bool>(false)
        private let count = Atomic<Int>(0)
        private let ended = DispatchSemaphore(value: 0)

        init(_ work: sending @escaping () -> Void) {
            let work = SendableWork(run: work)
            Thread {
                while !self.isOver.load(ordering: .relaxed) {
                    work.run()
                    self.count.add(1, ordering: .relaxed)
                }
                self.ended.signal()
            }.start()
        }

        /// Returns how often it was done.
        func stop() -> Int {
            isOver.store(true, ordering: .relaxed)
            ended.wait()
            return count.load(ordering: .relaxed)
        }
    }

    /// Unchecked: only the thread that repeats it runs it.
    private struct SendableWork: @unchecked Sendable {
        let run: () -> Void
    }
}

extension [Double] {
    fileprivate var median: Double { isEmpty ? .infinity : self[count / 2] }
}
