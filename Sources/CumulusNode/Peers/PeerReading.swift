// A peer's answer on its way to a reader that waits for each message: its state, or an asset.
//
// The connection to the peer makes it and hands it each message; `Verification`, `AssetFetch` and a
// node that leaves read it. Messages come in order, and more of them once the reader has granted
// the bytes of the messages that it has handled.

import CumulusModel
import CumulusStorage
import CumulusWire
import Synchronization

final class PeerReading: Sendable {
    let messages: AsyncThrowingStream<Bytes, any Error>
    private let source: AsyncThrowingStream<Bytes, any Error>.Continuation
    /// Counts messages that arrived and messages that the reader has handled.
    private let steps = Atomic<Int>(0)
    private let granted = Mutex<@Sendable (Int) -> Void>({ _ in })
    /// The reader has ended, maybe before the connection began.
    private let isOver = Atomic<Bool>(false)

    init() {
        (messages, source) = AsyncThrowingStream<Bytes, any Error>.makeStream()
    }

    // MARK: The reader

    /// The peer may send that many bytes more.
    func grant(_ byteCount: Int) {
        steps.add(1)
        granted.withLock { $0 }(byteCount)
    }

    private static let watchPause: Int64 = 250

    /// Takes one message after the other; fails once nothing has happened for as many milliseconds
    /// as `patience` says, which is asked again and again.
    func forEach(
        patience: @escaping @Sendable () -> Int64,
        sleep: @escaping @Sendable (Int64) async throws -> Void,
        _ take: (Bytes) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.watch(patience, sleep) }
            defer {
                group.cancelAll()
                // The peer need not go on for a reader who gave up.
                isOver.store(true, ordering: .sequentiallyConsistent)
                source.finish()
            }
            for try await payload in messages {
                try await take(payload)
                grant(payload.count)
            }
        }
    }

    private func watch(
        _ patience: () -> Int64,
        _ sleep: (Int64) async throws -> Void
    ) async throws {
        var (seen, silence) = (steps.value, Int64(0))
        while silence < patience() {
            try await sleep(PeerReading.watchPause)
            let now = steps.value
            silence = now == seen ? silence + PeerReading.watchPause : 0
            seen = now
        }
        fail(ServiceError(.serviceUnavailable, .deadline, "that node says nothing"))
    }

    // MARK: The connection

    /// - Parameters:
    ///   - grant: Tells the peer.
    ///   - abandon: Called once or twice when the reader has gone.
    func begin(grant: @escaping @Sendable (Int) -> Void, abandon: @escaping @Sendable () -> Void) {
        granted.withLock { $0 = grant }
        source.onTermination = { _ in abandon() }
        // After its end a stream notifies nobody.
        if isOver.load(ordering: .sequentiallyConsistent) { abandon() }
    }

    func received(_ payload: Bytes, isEnd: Bool) {
        steps.add(1)
        source.yield(payload)
        if isEnd { source.finish() }
    }

    func fail(_ error: any Error) {
        source.finish(throwing: error)
    }
}
