// A call whose caller sends many messages: each waits until the server has room for it, and the
// server says of each when it is done with it.
//
// Made by uploads. The server's credit is both: room for more, and word that what was sent before
// is durable.

import CumulusModel
import CumulusWire
import Synchronization

final class UploadStream: Sendable {
    private struct State {
        var credit: Int
        var ending: ClientCall.Ending?
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private final class Shared: Sendable {
        let state: Mutex<State>

        init(credit: Int) {
            state = Mutex(State(credit: credit))
        }

        func change(_ body: (inout State) -> Void) {
            let waiting = state.withLock { state in
                body(&state)
                defer { state.waiting = [] }
                return state.waiting
            }
            for waiter in waiting { waiter.resume() }
        }

        /// Returns when `isReady`, or when the call has ended: for a task that is cancelled, now.
        func wait(until isReady: (State) -> Bool) async {
            await withTaskCancellationHandler {
                while !state.withLock({ isReady($0) || $0.ending != nil }) {
                    await nextChange(unless: isReady)
                }
            } onCancel: {
                change { $0.ending = $0.ending ?? .lost(wasSent: true) }
            }
        }

        private func nextChange(unless isReady: (State) -> Bool) async {
            await withCheckedContinuation { continuation in
                let isNow = state.withLock { state in
                    if isReady(state) || state.ending != nil { return true }
                    state.waiting.append(continuation)
                    return false
                }
                if isNow { continuation.resume() }
            }
        }
    }

    private let call: StreamedCall
    private let shared: Shared

    /// - Parameter onCredit: Told how many bytes the server is done with, or makes room for.
    static func open(
        _ core: ClientCore,
        _ header: CallHeader,
        _ request: Bytes,
        onCredit: @escaping @Sendable (Int) -> Void
    ) async throws -> UploadStream {
        let credit = try await core.hello().limits.initialCredit
        let shared = Shared(credit: credit)
        let call = try await core.upload(
            header,
            request,
            onCredit: { byteCount in
                onCredit(byteCount)
                shared.change { $0.credit += byteCount }
            },
            onEnd: { ending in shared.change { $0.ending = ending } }
        )
        return UploadStream(call: call, shared: shared)
    }

    private init(call: StreamedCall, shared: Shared) {
        self.call = call
        self.shared = shared
    }

    deinit { call.cancel() }

    /// Sends a message once there is room for it.
    ///
    /// - Returns: False if the call has ended: `finish` tells how.
    func send(_ message: MessagePieces) async -> Bool {
        await shared.wait { $0.credit > 0 }
        let isOpen = shared.state.withLock { state in
            state.credit -= message.count
            return state.ending == nil
        }
        guard isOpen else { return false }
        call.send(message, isEnd: false)
        return true
    }

    /// Says that nothing more comes, and waits for the answer.
    func finish() async -> ClientCall.Ending {
        call.send(MessagePieces(), isEnd: true)
        await shared.wait { _ in false }
        return shared.state.withLock { $0.ending } ?? .lost(wasSent: true)
    }
}
