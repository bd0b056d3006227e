// Work that ends when its call does: gRPC says so by a handle, and cancels no task.
//
// Used by `GRPCDoor`, `GRPCHealth` and `GRPCReflection` where they wait for a caller, who may never
// send or take anything again.

import GRPCCore
import Synchronization

/// Ends the work that it was given to, from any thread.
final class Ender: Sendable {
    private struct State {
        var hasEnded = false
        var cancel: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    func end() {
        let cancel = state.withLock { state in
            state.hasEnded = true
            return state.cancel.take()
        }
        cancel?()
    }

    fileprivate func watch(_ cancel: @escaping @Sendable () -> Void) {
        let hasEnded = state.withLock { state in
            if !state.hasEnded { state.cancel = cancel }
            return state.hasEnded
        }
        if hasEnded { cancel() }
    }
}

/// Runs work in a task that is cancelled when the call is, or when somebody ends it.
func untilCallEnds<Answer: Sendable>(
    _ ender: Ender = Ender(),
    _ work: @escaping @Sendable () async throws -> Answer
) async throws -> Answer {
    let task = Task { try await work() }
    ender.watch { task.cancel() }
    return try await withRPCCancellationHandler {
        try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    } onCancelRPC: {
        task.cancel()
    }
}

/// The same for a call that reaches no node: it is told why it ended.
func untilTimeIsUp<Answer: Sendable>(
    _ work: @escaping @Sendable () async throws -> Answer
) async throws -> Answer {
    do {
        return try await untilCallEnds(Ender(), work)
    } catch is CancellationError {
        throw RPCError(code: .deadlineExceeded, message: "the call's time was up")
    }
}
