// The answer of a call that is taken message by message, as it comes.
//
// Made by `LocalConnection.follow`. The node sends more when its reader has taken what came before,
// so a slow reader holds one message or two. A reader that goes away ends the call.

package import CumulusModel
import Synchronization

/// One task at a time reads it.
package final class LocalStream: Sendable {
    private struct State {
        var messages: [Bytes] = []
        var ending: Result<Void, ServiceError>?
        var reader: CheckedContinuation<Void, Never>?
    }

    private let connection: LocalConnection
    private let number: UInt32
    private let state = Mutex(State())

    init(_ connection: LocalConnection, _ number: UInt32) {
        self.connection = connection
        self.number = number
    }

    /// The next message; nil at the end of the answer.
    ///
    /// Throws what ended the call. For a task that is cancelled the call ends.
    package func next() async throws(ServiceError) -> Bytes? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { wait($0) }
        } onCancel: {
            cancel()
        }
        let (message, ending) = state.withLock { state in
            let message = state.messages.isEmpty ? nil : state.messages.removeFirst()
            return (message, state.ending)
        }
        guard let message else {
            try ending?.get()
            return nil
        }
        connection.taken(message.count, of: number)
        return message
    }

    /// Ends the call; its reader is told so.
    package func cancel() {
        connection.drop(number)
        end(.failure(.cancelledByCaller))
    }

    /// Resumes a reader when there is something to take, or nothing more comes.
    private func wait(_ reader: CheckedContinuation<Void, Never>) {
        let isReady = state.withLock { state in
            if !state.messages.isEmpty || state.ending != nil { return true }
            state.reader = reader
            return false
        }
        if isReady { reader.resume() }
    }

    // MARK: On the connection's loop

    func put(_ message: Bytes) { change { $0.messages.append(message) } }

    func end(_ result: Result<Void, ServiceError>) {
        change { $0.ending = $0.ending ?? result }
    }

    private func change(_ body: (inout State) -> Void) {
        let reader = state.withLock { state in
            body(&state)
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume()
    }
}
