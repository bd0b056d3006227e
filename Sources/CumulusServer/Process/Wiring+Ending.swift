// The end of the process: what it waits for once a signal has come.
//
// Called by `Wiring.run`. Calls in progress have their time, and gRPC's answers until they are on
// the wire; then their connections are closed.

import CumulusGRPC
import CumulusNode
import CumulusSystem
import CumulusTransport
import CumulusWire
import Logging
import UnixSignals

extension Wiring {
    /// Returns at the first signal; a second one ends the process at once.
    func waitForSignal(_ signals: UnixSignalsSequence) async {
        let (first, source) = AsyncStream<Void>.makeStream()
        Task {
            var count = 0
            for await _ in signals {
                count += 1
                if count > 1 { _exit(130) }
                source.finish()
            }
        }
        for await _ in first {}
    }

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
