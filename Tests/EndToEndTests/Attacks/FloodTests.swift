// One user asks for everything that a node can do, on many connections; another user hardly
// notices.
//
// The node is a process of its own with limits per caller. Without them the other user's saves
// would wait behind the whole queue.

import CumulusModel
import CumulusTesting
import CumulusWire
import Foundation
import Synchronization
import Testing

@Suite(.serialized) struct FloodTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    @Test func aFloodOfOneUserHoldsNobodyElseUp() async throws {
        let arguments = [
            "--calls-per-second", "100", "--calls-burst", "100", "--calls-at-once", "8",
        ]
        let node = try await NodeProcess.ready(data: folder.node, arguments: arguments)
        let healthy = try RawClient(
            greeting: try node.endpoint,
            token: try await node.makeToken(of: "ada")
        )
        let calm = try median(of: healthy, "calm")
        let token = try await node.makeToken(of: "eve")
        let start = ProcessInfo.processInfo.systemUptime
        let endpoint = try node.endpoint
        let floods = (0..<4).map { Flood(endpoint, token, $0) }
        let flooded = try median(of: healthy, "flooded")
        for flood in floods { flood.stop() }
        let seconds = ProcessInfo.processInfo.systemUptime - start
        let (answered, refused) = floods.reduce(into: (0, 0)) {
            $0.0 += $1.answered
            $0.1 += $1.refused
        }
        print(
            """
            flood: a save took \(calm * 1_000) ms, beside the flood \(flooded * 1_000); in \
            \(seconds) s \(answered) calls of it were answered and \(refused) refused
            """
        )
        #expect(floods.allSatisfy { $0.failure == nil }, "\(floods.compactMap(\.failure))")
        // It had its share, no more, and was told so.
        #expect(answered > 0 && Double(answered) <= 101 + 100 * seconds)
        #expect(refused > answered)
        // The flood takes processor time of this machine, also to ask.
        #expect(flooded < max(10 * calm, 0.2))
    }

    /// How long a save takes at most in half of the cases, in seconds.
    private func median(of client: RawClient, _ name: String) throws -> Double {
        let times = try (0..<40).map { number in
            var record = Record(recordType: "Note", recordID: .init(recordName: "\(name)\(number)"))
            record["number"] = .int64(Int64(number))
            let start = ProcessInfo.processInfo.systemUptime
            _ = try client.save([record])[0].get()
            let time = ProcessInfo.processInfo.systemUptime - start
            Thread.sleep(forTimeInterval: 0.02)
            return time
        }
        return times.sorted()[times.count / 2]
    }

    /// A connection with 32 saves of 50 KB on their way: each answer brings the next one.
    private final class Flood: Sendable {
        private struct State {
            var isOver = false
            var answered = 0
            var refused = 0
            var failure: (any Error)?
        }

        private let state = Mutex(State())
        private let finished = DispatchSemaphore(value: 0)
        private static let callsAtOnce = 32

        init(_ endpoint: String, _ token: String, _ number: Int) {
            Thread.detachNewThread { [self] in
                do {
                    try run(try RawClient(greeting: endpoint, token: token), number)
                } catch {
                    state.withLock { $0.failure = error }
                }
                finished.signal()
            }
        }

        var answered: Int { state.withLock { $0.answered } }
        var refused: Int { state.withLock { $0.refused } }
        var failure: (any Error)? { state.withLock { $0.failure } }

        func stop() {
            state.withLock { $0.isOver = true }
            finished.wait()
        }

        private func run(_ client: RawClient, _ number: Int) throws {
            let message = Flood.message(number)
            func sendOne() throws {
                let id = RawRequest.newID()
                try client.send(client.call(.recordsModify, message, requestID: id))
            }
            for _ in 0..<Flood.callsAtOnce { try sendOne() }
            while !state.withLock({ $0.isOver }) {
                let frame = try client.nextFrame()
                guard frame.isEnd else { continue }
                try note(frame)
                try sendOne()
            }
        }

        private func note(_ frame: Frame) throws {
            guard frame.kind == .status else { return state.withLock { $0.answered += 1 } }
            let error = try ServiceError(wire: frame.payload)
            guard error.code == .requestRateLimited, error.retryAfterMilliseconds != nil else {
                throw error
            }
            state.withLock { $0.refused += 1 }
        }

        /// The same 50 records of a connection each time, which are written again.
        private static func message(_ number: Int) -> Bytes {
            let saves = (0..<50).map { index in
                let id = Record.ID(recordName: "flood\(number)-\(index)")
                var record = Record(recordType: "Flood", recordID: id)
                record["text"] = .string(String(repeating: "x", count: 1_000))
                return record.encodedSave(allKeys: true)
            }
            return RawRequest.save(encoded: saves, policy: 2)
        }
    }
}
