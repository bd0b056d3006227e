// Whether a call is still worth doing.
//
// Made by `OpenCalls` when a call begins; asked by the store's threads before each step.

package import CumulusModel
package import CumulusWire
import Synchronization

/// Whether somebody still waits for a call's answer.
///
/// Shared by its connection and the store's threads.
package final class CallToken: Sendable {
    private let cancelled = Atomic<Bool>(false)
    package let deadline: Instant

    package init(deadline: Instant) {
        self.deadline = deadline
    }

    package func cancel() {
        cancelled.store(true, ordering: .relaxed)
    }

    /// The error if the caller cancelled the call; nil if it did not.
    package var cancellation: ServiceError? {
        guard cancelled.load(ordering: .relaxed) else { return nil }
        return .cancelledByCaller
    }

    /// The error if the call was cancelled or its deadline has passed; nil otherwise.
    ///
    /// - Parameter end: A deadline that replaces the call's own.
    package func refusal(now: Instant, by end: Instant? = nil) -> ServiceError? {
        if let cancellation { return cancellation }
        guard end ?? deadline <= now else { return nil }
        return ServiceError(
            .serviceUnavailable,
            .deadline,
            "the call's time was up before it was done; try again with more time"
        )
    }
}
