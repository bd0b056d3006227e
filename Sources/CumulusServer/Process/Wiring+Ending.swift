// The end of the process: what it waits for once a signal has come.
//
// Called by `Wiring`. Calls in progress have their time, and gRPC's answers until they are on
// the wire; then their connections are closed.

import CumulusGRPC
import CumulusNode
import CumulusSystem
import CumulusTransport
import CumulusWire
import Logging
import Synchronization
import UnixSignals

/// The signals that end the process: the first one in order, a second one at once.
final class EndSignals: Sendable {
    private let count = Atomic<Int>(0)
    private let first: AsyncStream<Void>

    init() async {
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        let (first, source) = AsyncStream<Void>.makeStream()
        self.first = first
        Task {
            for await _ in signals {
                if self.count.add(1, ordering: .relaxed).newValue > 1 { _exit(130) }
                source.finish()
            }
        }
    }

    /// Whether a signal came.
    var haveCome: Bool { count.load(ordering: .relaxed) > 0 }

    /// Returns once a signal has come; for one caller.
    func wait() async {
        for await _ in first {}
    }
}

extension Wiring {
    /// - Parameters:
    ///   - grpc: nil: it is not served.
    ///   - tasks: Tasks that hold the node and use the loops; they are cancelled once calls have
    ///     ended.
    ///   - patience: Milliseconds that calls in progress may take.
    func drain(
        _ node: Node,
        _ listener: NIOFrameListener,
        _ grpc: ServedGRPC?,
        _ tasks: [Task<Void, Never>],
        _ patience: Int64
    ) async throws {
        logger.info("draining", metadata: ["calls": "\(node.callsInProgress)"])
        node.beginDraining()
        grpc?.listener.sayGoodbye()
        await listener.stopAccepting()
        let end = MonotonicClock.now() + patience
        while node.callsInProgress > 0 || grpc.map({ $0.listener.answersDue > 0 }) ?? false,
            MonotonicClock.now() < end
        {
            try await Task.sleep(for: .milliseconds(20))
        }
        // The last answers are on their way to the sockets.
        try await Task.sleep(for: .milliseconds(100))
        for task in tasks + (grpc.map { [$0.task] } ?? []) {
            task.cancel()
            await task.value
        }
        node.stop()
        try await listener.stop()
        logger.info("ended", metadata: ["calls": "\(node.callsInProgress)"])
    }
}
