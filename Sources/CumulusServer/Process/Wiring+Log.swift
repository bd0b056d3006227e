// The process's log: standard error, as text or as JSON; and what must not fill it.
//
// Called by `Wiring`, before anything is logged and for its listener; and by `Main`, where the node
// can't start.

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

    /// The format that the command line or the environment names; nil: neither of them does.
    ///
    /// For what is said before all settings are known.
    static func namedLogFormat() -> String? {
        let (words, flag) = (CommandLine.arguments, "--log-format")
        if let index = words.lastIndex(of: flag), index + 1 < words.count {
            return words[index + 1]
        }
        if let word = words.last(where: { $0.hasPrefix(flag + "=") }) {
            return String(word.dropFirst(flag.count + 1))
        }
        return ProcessInfo.processInfo.environment["CUMULUS_LOG_FORMAT"]
    }

    /// Says why the node can't start: a line of the log where that is JSON, else a plain one.
    static func complain(_ message: String, in format: String?) {
        guard format == "json", let logger = try? logger(in: "json") else {
            return CumulusServer.complain(message)
        }
        logger.critical("\(message)")
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
