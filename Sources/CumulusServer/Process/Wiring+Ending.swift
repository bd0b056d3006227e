// The end of the process: what it waits for once a signal has come.
//
// Called by `Wiring.run`. Calls in progress have their time, then their connections are closed.

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
    ///   - tasks: Tasks that hold the node and use the loops; they are cancelled once calls have
    ///     ended.
    ///   - patience: Milliseconds that calls in progress may take.
    func drain(
        _ node: Node,
        _ listener: NIOFrameListener,
        _ tasks: [Task<Void, Never>],
        _ patience: Int64
    ) async throws {
        logger.info("draining", metadata: ["calls": "\(node.callsInProgress)"])
        node.beginDraining()
        await listener.stopAccepting()
        let end = MonotonicClock.now() + patience
        while node.callsInProgress > 0, MonotonicClock.now() < end {
            try await Task.sleep(for: .milliseconds(20))
        }
        // The last answers are on their way to the sockets.
        try await Task.sleep(for: .milliseconds(100))
        for task in tasks {
            task.cancel()
            await task.value
        }
        node.stop()
        try await listener.stop()
        logger.info("ended", metadata: ["calls": "\(node.callsInProgress)"])
    }
}
