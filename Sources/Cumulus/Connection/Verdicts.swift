// What attempts at the endpoints have told since a node last accepted this client, and whether a
// call should wait any longer.
//
// Held by `ConnectionPool`. Once all endpoints were tried and one of them refused, waiting longer
// won't help. A client that fails fast, as the command line is, doesn't wait for nodes that are not
// running either, until it has reached one.

import CumulusModel
import CumulusTransport

struct Verdicts {
    /// The result of an attempt that failed.
    enum Verdict {
        /// A node doesn't want this client, or can't prove who it is.
        case refusal(ServiceError)
        /// Nobody is there: the system said so at once, with the reason.
        case absence(String)
        /// An HTTP server is there; the reason goes on from "HOST:PORT is".
        case foreign(String)
        /// No answer, or none in time.
        case silence

        /// - Parameter failure: The error of a dialer.
        init(failure: any Error) {
            self =
                switch failure as? NIOFrameDialer.Failure {
                case .untrusted(let reason)?: .refusal(ServiceError(.networkFailure, reason))
                case .absent(let reason)?: .absence(reason)
                case .badEndpoint?, .unreachable?, nil: .silence
                }
        }
    }

    private let failsFast: Bool
    private var hasReached = false
    /// The refusal of each endpoint that was tried; nil: there was no answer.
    private var refusals: [String: ServiceError?] = [:]
    /// Why nobody is at an endpoint, as its last attempt told.
    private var absences: [String: String] = [:]

    /// - Parameter failsFast: Whether calls fail if nobody is at any endpoint.
    init(failsFast: Bool) {
        self.failsFast = failsFast
    }

    /// A node has accepted this client.
    mutating func admit() {
        (refusals, absences, hasReached) = ([:], [:], true)
    }

    /// Notes an attempt that failed; returns the error of calls that wait, if they should not.
    ///
    /// - Parameter endpoints: All that there are.
    mutating func note(
        _ verdict: Verdict,
        of endpoint: String,
        _ endpoints: [String]
    ) -> ServiceError? {
        absences[endpoint] = nil
        switch verdict {
        case .refusal(let error): refusals.updateValue(error, forKey: endpoint)
        case .foreign(let reason) where failsFast:
            let error = ServiceError(.networkFailure, "\(endpoint) is \(reason)")
            refusals.updateValue(error, forKey: endpoint)
        case .absence(let reason):
            absences[endpoint] = reason
            noteSilence(of: endpoint)
        case .foreign, .silence: noteSilence(of: endpoint)
        }
        return refusal(endpoints) ?? absence(endpoints)
    }

    /// An earlier refusal stays.
    private mutating func noteSilence(of endpoint: String) {
        if refusals[endpoint] == nil { refusals.updateValue(nil, forKey: endpoint) }
    }

    private mutating func refusal(_ endpoints: [String]) -> ServiceError? {
        guard endpoints.allSatisfy({ refusals[$0] != nil }),
            let refusal = refusals.values.lazy.compactMap(\.self).first
        else { return nil }
        refusals = [:]
        return refusal
    }

    private func absence(_ endpoints: [String]) -> ServiceError? {
        guard failsFast, !hasReached, endpoints.allSatisfy({ absences[$0] != nil }) else {
            return nil
        }
        let text = endpoints.map { endpoint in
            let reason = absences[endpoint] ?? ""
            return "\(endpoint): \(reason.prefix(1).lowercased() + reason.dropFirst())"
        }.joined(separator: "; ")
        return ServiceError(.networkUnavailable, "cannot reach \(text); is cumulusd running there?")
    }
}
