// The one thread that hashes passwords: each takes about 100 ms and 32 MiB, so never two at once,
// and never on a loop or a thread of the store.
//
// Owned by `Node`, used by `SignInCalls`. A flood of sign-ins fills its queue and is refused.

import CumulusModel
import Synchronization

final class PasswordThread: Sendable {
    private let waiting: WorkQueue<@Sendable () -> Void>
    private let worker = Mutex<Worker?>(nil)

    init(mostWaiting: Int = 64) {
        waiting = WorkQueue(capacity: mostWaiting)
    }

    func start() {
        let waiting = waiting
        worker.withLock {
            $0 = Worker(named: "cumulus password") { while let work = waiting.take() { work() } }
        }
    }

    /// Finishes the queued work and ends the thread.
    func stop() {
        waiting.close()
        let ending = worker.withLock { worker in
            defer { worker = nil }
            return worker
        }
        ending?.join()
    }

    /// Queues work for the thread.
    ///
    /// Returns false if too much is waiting.
    func submit(_ work: @escaping @Sendable () -> Void) -> Bool { waiting.append(work) }

    /// Does work on the thread; refuses it if too much is waiting.
    func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { caller in
            let isQueued = submit { caller.resume(returning: work()) }
            if !isQueued { caller.resume(throwing: PasswordThread.full) }
        }
    }

    private static let full: ServiceError = {
        var error = ServiceError(
            .requestRateLimited,
            .overloaded,
            "too many passwords are waiting to be checked; try again in a few seconds"
        )
        // About how long the queue takes.
        error.retryAfterMilliseconds = 5_000
        return error
    }()
}
