// Decides the next step of a call from the results of its attempts so far.
//
// `ClientCore` holds it while a call lasts. It repeats what is safe to repeat: reads, and changes
// by their request id as long as their outcome is unknown.

import CumulusModel

struct Retries {
    /// The next step.
    enum Step {
        /// Another attempt, after so many milliseconds.
        case again(after: Int64)
        /// Try again on another node, because this one can't serve the call any more.
        case elsewhere(after: Int64, why: String)
        /// Try at once, over a new connection and under a new request id.
        case anew
        case fail(ServiceError)
    }

    let endpoints: Int
    let connections: Int
    let isChange: Bool
    /// Done twice, it does no more than once.
    let isRepeatable: Bool
    /// The caller chose the request id.
    let hasOwnID: Bool
    /// Attempts that failed.
    private(set) var count = 0
    /// A change is with a node, and nothing is known of its outcome.
    private var wasSent = false
    /// The last refusal of a node, which explains more than a timeout.
    private(set) var refusal: ServiceError?
    private var renewals = 0

    init(_ settings: ClientSettings, isChange: Bool, isRepeatable: Bool, hasOwnID: Bool) {
        endpoints = settings.endpoints.count
        connections = max(1, settings.connections)
        self.isChange = isChange
        self.isRepeatable = isRepeatable
        self.hasOwnID = hasOwnID
    }

    /// - Parameter canWait: Whether the caller has so many milliseconds left.
    mutating func step(
        after failure: CallFailure,
        backoff: Int64,
        canWait: (Int64) -> Bool
    ) -> Step {
        switch failure {
        case .lost(let wasSent): lost(wasSent: wasSent, backoff: backoff)
        case .refused(let error): refused(error, backoff: backoff, canWait: canWait)
        }
    }

    /// An attempt ended with its connection.
    private mutating func lost(wasSent: Bool, backoff: Int64) -> Step {
        if wasSent, !isRepeatable { return .fail(Retries.outcomeUnknown) }
        self.wasSent = self.wasSent || (wasSent && isChange)
        count += 1
        return .again(after: backoff)
    }

    /// A node refused it.
    private mutating func refused(
        _ error: ServiceError,
        backoff: Int64,
        canWait: (Int64) -> Bool
    ) -> Step {
        if error.reason == .requestIDExpired, !wasSent, renewals < connections, !hasOwnID {
            // The server's clock was set after it told us: a new connection tells it anew.
            renewals += 1
            return .anew
        }
        let isBetterElsewhere = isBetterElsewhere(error)
        // A node's wish to wait concerns that node only.
        let asked = isBetterElsewhere ? 0 : Int64(error.retryAfterMilliseconds ?? 0)
        let pause = max(backoff, asked)
        guard isBetterElsewhere || error.isPassing, canWait(pause) else {
            return .fail(outcome(error))
        }
        refusal = error
        count += 1
        return isBetterElsewhere
            ? .elsewhere(after: pause, why: error.message) : .again(after: pause)
    }

    /// The error of a call that can't go on; the outcome of an earlier attempt may stay unknown.
    func outcome(_ error: ServiceError) -> ServiceError {
        wasSent && leavesOpen(error) ? Retries.outcomeUnknown : error
    }

    static let outcomeUnknown = ServiceError(
        .serverResponseLost,
        """
        the connection was lost after the change was sent; fetch the records to see whether it \
        was made
        """
    )

    /// Whether there is another node that may do it.
    private func isBetterElsewhere(_ error: ServiceError) -> Bool {
        guard endpoints > 1 else { return false }
        switch error.reason {
        case .clockWrong, .draining, .nodeBehind, .nodeIDInUse: return true
        // Each is asked once: a disk may stay full.
        case .diskFull: return count < endpoints
        default: return error.code == .zoneBusy
        }
    }

    /// Whether a refusal says nothing about an earlier attempt at the same change.
    ///
    /// Only an error of the request itself also held for the earlier attempt.
    private func leavesOpen(_ error: ServiceError) -> Bool {
        switch error.code {
        case .invalidArguments, .limitExceeded: error.reason == .requestIDExpired
        case .operationCancelled, .serverResponseLost: false
        default: true
        }
    }
}

extension ServiceError {
    /// The same node may take the same call at another try.
    var isPassing: Bool {
        switch reason {
        case .overloaded, .draining, .nodeBehind, .clockWrong, .nodeIDInUse: true
        default: code == .zoneBusy
        }
    }
}
