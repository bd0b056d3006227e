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

enum LogFormat: String, CaseIterable {
    case text
    case json
}

extension Wiring {
    /// - Parameter recent: Keeps each line, too.
    static func logger(in format: LogFormat, also recent: RecentLines? = nil) -> Logger {
        Logger(label: "cumulusd") { label in
            let handler = handler(in: format, label: label)
            guard let recent else { return handler }
            let other = JSONLogHandler(now: wallClock) { recent.keep($0) }
            return MultiplexLogHandler([handler, other])
        }
    }

    private static func handler(in format: LogFormat, label: String) -> any LogHandler {
        switch format {
        case .text: StreamLogHandler.standardError(label: label)
        case .json: JSONLogHandler(now: wallClock) { write($0, to: STDERR_FILENO) }
        }
    }

    /// The format that the command line or the environment names; nil: neither of them does.
    ///
    /// The format of messages before all settings are known.
    static func namedLogFormat() -> LogFormat? {
        let setting = Settings.table.node.logFormat.row
        let (words, flag) = (CommandLine.arguments, "--" + setting.name)
        var text = ProcessInfo.processInfo.environment[setting.variable]
        if let index = words.lastIndex(of: flag), index + 1 < words.count {
            text = words[index + 1]
        } else if let word = words.last(where: { $0.hasPrefix(flag + "=") }) {
            text = String(word.dropFirst(flag.count + 1))
        }
        return text.flatMap(LogFormat.init)
    }

    /// Says why the node can't start: a line of the log where that is JSON, else a plain one.
    static func complain(_ message: String, in format: LogFormat?) {
        guard format == .json else { return CumulusServer.complain(message) }
        logger(in: .json).critical("\(message)")
    }

    /// Milliseconds since 1970 UTC.
    @Sendable static func wallClock() -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }
}

/// Tells the log of connections that were not taken, not more often than somebody would read it.
///
/// Called by the listener from its event loops.
final class RefusedConnections: Sendable {
    private struct State {
        /// The count since the last log line.
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
