// A call whose caller in this process sends messages as it gets them, such as chunks of an asset.
//
// Made by `LocalConnection.send` for CumulusGRPC. A message goes to the node when the node has room
// for it, so a fast sender waits for a slow disk, and one message is held at most.

package import CumulusModel
package import CumulusWire
import Synchronization

/// One task at a time uses it.
package final class LocalUpload: Sendable {
    private struct State {
        var ending: Result<[Bytes], ServiceError>?
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let connection: LocalConnection
    private let number: UInt32
    private let state = Mutex(State())

    /// Told once, on any thread, when the call has ended.
    private let onEnd: @Sendable () -> Void

    fileprivate init(
        _ connection: LocalConnection,
        _ number: UInt32,
        _ onEnd: @escaping @Sendable () -> Void
    ) {
        self.connection = connection
        self.number = number
        self.onEnd = onEnd
    }

    /// What ended the call; of a call that goes on, that its caller wants no answer.
    package var failure: ServiceError {
        if case .failure(let error)? = state.withLock(\.ending) { return error }
        return .cancelledByCaller
    }

    /// Sends a message once the node has room for it.
    ///
    /// Throws what ended the call. The node never ends it with an answer before the last message.
    package func send(_ message: Bytes) async throws(ServiceError) {
        await wait { [self] in
            connection.put(message, of: number) { [self] in resume() }
        }
        if case .failure(let error)? = state.withLock(\.ending) { throw error }
    }

    /// Sends no more, and returns the messages of the answer.
    package func finish() async throws(ServiceError) -> [Bytes] {
        await wait { [self] in connection.endMessages(of: number) }
        let ending = state.withLock(\.ending)
        return try (ending ?? .failure(.cancelledByCaller)).get()
    }

    /// Begins something on the connection's loop, and waits until it is done or the call has ended.
    private func wait(_ begin: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { waiter in
            let hasEnded = state.withLock { state in
                if state.ending == nil { state.waiter = waiter }
                return state.ending != nil
            }
            if hasEnded { waiter.resume() } else { connection.loop.execute(begin) }
        }
    }

    // MARK: On the connection's loop

    private func resume() {
        state.withLock { $0.waiter.take() }?.resume()
    }

    fileprivate func end(_ result: Result<[Bytes], ServiceError>) {
        state.withLock { $0.ending = $0.ending ?? result }
        resume()
        onEnd()
    }
}

extension LocalConnection {
    /// Makes a call whose caller sends more messages behind the first one.
    ///
    /// - Parameter onEnd: Told when the call has ended, so that its caller waits for no more to
    ///   send.
    package func send(
        _ header: CallHeader,
        _ message: Bytes,
        onEnd: @escaping @Sendable () -> Void
    ) async -> LocalUpload {
        let header = header.traced()
        return await withCheckedContinuation { continuation in
            loop.execute { [self] in
                let upload = LocalUpload(self, nextStream, onEnd)
                var call = LocalCall { upload.end($0) }
                call.isOpenEnded = true
                start(call, header, message)
                continuation.resume(returning: upload)
            }
        }
    }

    /// Sends a message of an upload once the node has room for it; on the loop.
    ///
    /// - Parameter taken: Told when it is sent; not told if the call ends before.
    fileprivate func put(_ message: Bytes, of stream: UInt32, taken: @escaping () -> Void) {
        guard calls[stream] != nil else { return }
        calls[stream]?.waiting = (message, taken)
        sendWaiting(of: stream)
    }

    /// Sends the message of an upload that waits, if the node has room for it now.
    func sendWaiting(of stream: UInt32) {
        guard let call = calls[stream], let (message, taken) = call.waiting, call.credit > 0
        else { return }
        calls[stream]?.waiting = nil
        calls[stream]?.credit -= message.count
        send(Frame(.message, stream: stream, payload: message))
        taken()
    }

    /// Tells the node that no more messages come; on the loop.
    fileprivate func endMessages(of stream: UInt32) {
        guard calls[stream] != nil else { return }
        send(Frame(.message, isEnd: true, stream: stream))
    }
}
