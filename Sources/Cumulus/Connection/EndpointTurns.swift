// Which node is asked next, where some refuse clients for a while, such as a new or a busy one; and
// why those that were tried were given up.
//
// Held by `ConnectionPool`, which takes turns through all endpoints.

import CumulusModel
import CumulusWire

struct EndpointTurns {
    /// By endpoint: why the node there refuses clients, and when to ask it again.
    private var refusals: [String: (error: ServiceError, until: Instant)] = [:]

    /// By endpoint that was tried: why it was given up last.
    private var problems: [String: String] = [:]

    mutating func giveUp(_ endpoint: String, _ problem: String) {
        problems[endpoint] = problem
    }

    mutating func refuse(_ endpoint: String, _ error: ServiceError, now: Instant) {
        refusals[endpoint] = (error, now + Int64(error.retryAfterMilliseconds ?? 0))
    }

    mutating func admit(_ endpoint: String) {
        (refusals[endpoint], problems[endpoint]) = (nil, nil)
    }

    /// What a call ends with that couldn't be sent to any of these in its time.
    func unreachable(_ endpoints: [String]) -> ServiceError {
        let tried = endpoints.filter { problems[$0] != nil }
        let text =
            tried.isEmpty
            ? "\(endpoints.joined(separator: ", ")): no answer came in time"
            : tried.map { "\($0): \(problems[$0] ?? "")" }.joined(separator: "; ")
        // What a node says tells more than that another one is silent.
        let refusal = endpoints.lazy.compactMap { refusals[$0]?.error }.first
        var error = refusal ?? ServiceError(.networkFailure, "")
        error.message = "could not reach \(text)"
        return error
    }

    /// The endpoint whose turn it is, unless the node there asked for time and another one didn't.
    ///
    /// Returns how many were passed over, and the milliseconds that are left of that time.
    ///
    /// - Parameter endpoints: In their turn.
    func choose(of endpoints: [String], now: Instant) -> (offset: Int, pause: Int64) {
        let pauses = endpoints.map { endpoint in
            refusals[endpoint].map { max(0, $0.until.milliseconds - now.milliseconds) } ?? 0
        }
        let shortest = pauses.min() ?? 0
        return (pauses.firstIndex(of: shortest) ?? 0, shortest)
    }
}
