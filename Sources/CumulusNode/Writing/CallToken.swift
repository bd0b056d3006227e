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

    /// Why nobody waits for the call any more; nil if somebody does.
    package var cancellation: ServiceError? {
        guard cancelled.load(ordering: .relaxed) else { return nil }
        return ServiceError(.operationCancelled, "the caller cancelled the call")
    }

    /// Why the call is not worth doing any more; nil if it is.
    ///
    /// - Parameter end: When its time is up; nil means its deadline.
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
