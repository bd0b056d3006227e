// Where the process's log goes, and in which form: standard error, as text or as JSON.
//
// Called by `Wiring` before anything is logged.

import CumulusNode
import CumulusSystem
import Logging

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
