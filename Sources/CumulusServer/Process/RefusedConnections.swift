// Tells the log of connections that were not taken, not more often than somebody would read it.
//
// Made by `cumulusd` for its listener, which calls it from its event loops.

import CumulusTransport
import CumulusWire
import Logging
import Synchronization

final class RefusedConnections: Sendable {
    private struct State {
        /// Since the log was told last.
        var count = 0
        var due = Instant(milliseconds: 0)
    }

    private let logger: Logger
    private let state = Mutex(State())
    private static let pause: Int64 = 10_000

    init(_ logger: Logger) {
        self.logger = logger
    }

    /// A connection was not taken.
    func note(_ why: String) {
        let now = MonotonicClock.now()
        let count = state.withLock { state -> Int? in
            state.count += 1
            guard now >= state.due else { return nil }
            defer { state = State(due: now + RefusedConnections.pause) }
            return state.count
        }
        guard let count else { return }
        logger.warning(
            """
            connections are refused; close some, or let the process open more files (ulimit -n, \
            LimitNOFILE)
            """,
            metadata: ["count": "\(count)", "why": "\(why)"]
        )
    }
}
