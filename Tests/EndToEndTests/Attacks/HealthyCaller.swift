// The innocent beside an attack: a connection that saves or fetches at least every 100 ms and wants
// each answer within a second.
//
// Has a thread of its own, so that nothing but the node can keep it waiting.

import CumulusModel
import CumulusTesting
import Foundation
import Synchronization
import Testing

final class HealthyCaller: Sendable {
    private struct State {
        var isOver = false
        var calls = 0
        var slowest = 0.0
        var longestPause = 0.0
        var failure: (any Error)?
    }

    private let state = Mutex(State())
    private let finished = DispatchSemaphore(value: 0)

    init(_ node: NodeProcess, _ token: String) throws {
        let endpoint = try node.endpoint
        Thread.detachNewThread { [self] in
            run(endpoint, token)
            finished.signal()
        }
    }

    private func run(_ endpoint: String, _ token: String) {
        do {
            let client = try RawClient(greeting: endpoint, token: token)
            var last = ProcessInfo.processInfo.systemUptime
            while !state.withLock({ $0.isOver }) {
                let start = ProcessInfo.processInfo.systemUptime
                try call(client)
                let end = ProcessInfo.processInfo.systemUptime
                state.withLock { state in
                    state.calls += 1
                    state.slowest = max(state.slowest, end - start)
                    state.longestPause = max(state.longestPause, start - last)
                }
                last = start
                Thread.sleep(forTimeInterval: 0.02)
            }
        } catch {
            state.withLock { $0.failure = error }
        }
    }

    private func call(_ client: RawClient) throws {
        let number = state.withLock { $0.calls }
        var record = Record(recordType: "Pulse", recordID: .init(recordName: "pulse\(number)"))
        record["number"] = .int64(Int64(number))
        _ = try client.save([record])[0].get()
        _ = try client.fetch("pulse\(number)")[0].get()
    }

    /// Ends the calls; each of them must have gone well and in time.
    func stop(sourceLocation: SourceLocation = #_sourceLocation) throws {
        state.withLock { $0.isOver = true }
        finished.wait()
        let (calls, slowest, pause, failure) = state.withLock {
            ($0.calls, $0.slowest, $0.longestPause, $0.failure)
        }
        if let failure { throw failure }
        #expect(calls > 0, sourceLocation: sourceLocation)
        #expect(slowest < 1, "a healthy call took \(slowest) s", sourceLocation: sourceLocation)
        // A call, the pause after it, and what the machine was busy with.
        #expect(pause < 1, "\(pause) s between two calls", sourceLocation: sourceLocation)
    }
}
