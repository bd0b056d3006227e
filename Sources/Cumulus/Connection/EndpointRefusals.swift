// Chooses which endpoint to try next: a node may refuse clients for a while, since it is new or
// busy. It also remembers why the endpoints that were tried were given up.
//
// Held by `ConnectionPool`, which takes turns through all endpoints.

import CumulusModel
import CumulusWire

struct EndpointRefusals {
    /// An endpoint to try, with how many before it were passed over.
    struct Choice {
        let endpoint: String
        let offset: Int
        /// Milliseconds that are left of the time that its node asked for.
        let pause: Int64
    }

    private struct Refusal {
        let error: ServiceError
        /// The time at which to ask the node again.
        let until: Instant
        /// The attempt that the node refused.
        let attempt: UInt64
    }

    /// The last refusal of the node at each endpoint.
    private var refusals: [String: Refusal] = [:]

    /// The last problem of each endpoint that was tried.
    private var problems: [String: String] = [:]

    /// A node is tried again after this, even if it asked for more milliseconds.
    private let longestPause: Int64

    init(longestPause: Int64) {
        self.longestPause = longestPause
    }

    /// An attempt at an endpoint has ended.
    ///
    /// A refusal of an earlier attempt says nothing about the node any more.
    ///
    /// - Parameter attempt: Later attempts have higher numbers.
    mutating func giveUp(_ endpoint: String, _ problem: String, attempt: UInt64) {
        problems[endpoint] = problem
        if let refusal = refusals[endpoint], refusal.attempt < attempt { refusals[endpoint] = nil }
    }

    /// The node at an endpoint has refused an attempt, and will take another one later.
    mutating func refuse(
        _ endpoint: String,
        _ error: ServiceError,
        attempt: UInt64,
        now: Instant
    ) {
        let pause = min(Int64(error.retryAfterMilliseconds ?? 0), longestPause)
        refusals[endpoint] = Refusal(error: error, until: now + pause, attempt: attempt)
    }

    mutating func admit(_ endpoint: String) {
        (refusals[endpoint], problems[endpoint]) = (nil, nil)
    }

    /// The error of a call that couldn't be sent to any of these in time.
    func unreachable(_ endpoints: [String]) -> ServiceError {
        let tried = endpoints.filter { problems[$0] != nil }
        let text =
            tried.isEmpty
            ? "\(endpoints.joined(separator: ", ")): no answer came in time"
            : tried.map { "\($0): \(problems[$0] ?? "")" }.joined(separator: "; ")
        // A node's refusal explains more than another node's silence.
        let refusal = endpoints.lazy.compactMap { refusals[$0]?.error }.first
        var error = refusal ?? ServiceError(.networkFailure, "")
        error.message = "could not reach \(text)"
        return error
    }

    /// Chooses the endpoint that can be tried soonest; of several, the one whose turn is first.
    ///
    /// - Parameters:
    ///   - endpoints: At least one.
    ///   - turn: The index of the endpoint whose turn it is; the last one is followed by the first.
    func choose(of endpoints: [String], from turn: Int, now: Instant) -> Choice {
        let inTurn = endpoints.indices.map { endpoints[(turn + $0) % endpoints.count] }
        let pauses = inTurn.map { endpoint in
            refusals[endpoint].map { max(0, $0.until.milliseconds - now.milliseconds) } ?? 0
        }
        let shortest = pauses.min() ?? 0
        let offset = pauses.firstIndex(of: shortest) ?? 0
        return Choice(endpoint: inTurn[offset], offset: offset, pause: shortest)
    }
}
