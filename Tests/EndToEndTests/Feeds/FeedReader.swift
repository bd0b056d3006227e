// Many feeds over one connection, read by a thread of its own: a crowd of devices that costs a test
// little. Each notes how often every record was told, and how long after its save.

import CumulusModel
import CumulusTesting
import CumulusWire
import Foundation
import Synchronization
import Testing

/// When records were saved, in seconds of the machine's uptime.
final class SaveTimes: Sendable {
    private let times = Mutex<[String: Double]>([:])

    static var now: Double { ProcessInfo.processInfo.systemUptime }

    /// A record is about to be saved.
    func begin(_ name: String) { times.withLock { $0[name] = SaveTimes.now } }

    /// Seconds since then; nil if nobody asked to measure it.
    func delay(of name: String) -> Double? {
        times.withLock { $0[name] }.map { SaveTimes.now - $0 }
    }
}

final class FeedReader: Sendable {
    private struct State {
        /// How often each record was told, by feeds in the order in which they were opened.
        var told: [[String: Int]] = []
        var delays: [Double] = []
        var resets = 0
        var isOver = false
        var failure: (any Error)?
    }

    private let state = Mutex(State())
    private let times: SaveTimes
    private let ended = DispatchSemaphore(value: 0)

    /// Opens feeds, one after the other, and follows them until `stop`.
    init(_ endpoint: String, _ token: String, feeds: Int, times: SaveTimes = SaveTimes()) {
        self.times = times
        Thread.detachNewThread { [self] in
            do {
                try run(endpoint, token, feeds)
            } catch {
                state.withLock { $0.failure = error }
            }
            ended.signal()
        }
    }

    // MARK: What it knows

    /// How many feeds are open; throws what ended the reader.
    var opened: Int {
        get throws {
            try state.withLock { state in
                if let failure = state.failure { throw failure }
                return state.told.count
            }
        }
    }

    /// Records that were told, by feeds; throws what ended the reader.
    var told: [[String: Int]] {
        get throws {
            try state.withLock { state in
                if let failure = state.failure { throw failure }
                return state.told
            }
        }
    }

    var resets: Int { state.withLock { $0.resets } }

    /// Seconds from saves to their notifications since this was last asked.
    func takeDelays() -> [Double] {
        state.withLock { state in
            defer { state.delays = [] }
            return state.delays
        }
    }

    /// Ends the feeds and waits for the thread, for a tenth of a second at most.
    func stop() {
        state.withLock { $0.isOver = true }
        ended.wait()
    }

    // MARK: The thread

    private func run(_ endpoint: String, _ token: String, _ feeds: Int) throws {
        let client = try RawClient(greeting: endpoint, token: token)
        client.patience = 60_000
        var numbers: [UInt32: Int] = [:]
        for number in 0..<feeds {
            let call = client.call(.feedsFollow, FollowFeedRequest(token: []).encoded())
            numbers[call.stream] = number
            try client.send(call)
            var frame = try client.nextFrame()
            while frame.stream != call.stream {
                try take(frame, numbers, client)
                frame = try client.nextFrame()
            }
            guard frame.kind == .message else { throw try ServiceError(wire: frame.payload) }
            state.withLock { $0.told.append([:]) }
        }
        while !state.withLock({ $0.isOver }) {
            do {
                try take(try client.nextFrame(within: 100), numbers, client)
            } catch RawClient.Failure.silence {
                continue
            }
        }
    }

    private func take(_ frame: Frame, _ numbers: [UInt32: Int], _ client: RawClient) throws {
        switch frame.kind {
        case .ping: try client.send(Frame(.pong, payload: frame.payload))
        case .status: throw try ServiceError(wire: frame.payload)
        case .message:
            guard let number = numbers[frame.stream] else { return }
            try note(try WireFeedPage(wire: frame.payload), of: number)
            try client.credit(UInt32(frame.payload.count), on: frame)
        default: break
        }
    }

    private func note(_ page: WireFeedPage, of number: Int) throws {
        let names = page.notifications.compactMap(\.recordName)
        state.withLock { state in
            if page.reset != nil { state.resets += 1 }
            for name in names {
                state.told[number][name, default: 0] += 1
                if let delay = times.delay(of: name) { state.delays.append(delay) }
            }
        }
    }
}

extension FeedNotification {
    /// The name of the record that it tells of.
    var recordName: String? {
        if case .record(let news) = news { news.recordID.recordName } else { nil }
    }
}
