// The process's log: standard error, as text or as JSON; and what must not fill it.
//
// Called by `Wiring`, before anything is logged and for its listener.

import CumulusNode
import CumulusSystem
import CumulusTransport
import CumulusWire
import Logging
import Synchronization

extension Wiring {
    static func logger(in format: String) throws -> Logger {
        switch format {
        case "text": return Logger(label: "cumulusd") { StreamLogHandler.standardError(label: $0) }
        case "json":
            return Logger(label: "cumulusd") { _ in
                JSONLogHandler(now: wallClock) { write($0, to: STDERR_FILENO) }
            }
        default:
            throw Configuration.Problem(
                message: "log-format: '\(format)' is neither text nor json"
            )
        }
    }

    /// Milliseconds since 1970 UTC.
    @Sendable static func wallClock() -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }
}

/// Tells the log of connections that were not taken, not more often than somebody would read it.
///
/// Called by the listener from its event loops.
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
