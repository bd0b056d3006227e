// One call on its way through a connection: the bytes to send, and the receiver of the answer.
//
// Made by `ClientCore` for every attempt, owned by the connection's loop until it ends; it ends
// exactly once.

import CumulusModel
import CumulusWire
import Synchronization

final class ClientCall: Sendable {
    enum Ending: Sendable {
        /// All messages of the answer; of a stream, the last one.
        case answer([Bytes])
        case refused(ServiceError)
        /// The connection ended. Whether the server has seen the call is unknown if it was sent.
        case lost(wasSent: Bool)

        func get() throws(CallFailure) -> [Bytes] {
            switch self {
            case .answer(let messages): return messages
            case .refused(let error): throw .refused(error)
            case .lost(let wasSent): throw .lost(wasSent: wasSent)
            }
        }
    }

    let header: CallHeader
    let message: Bytes
    let deadline: Instant
    /// How long the server may say nothing, in milliseconds: each message moves the deadline; nil:
    /// it stays.
    let patience: Int64?
    /// A stream's messages, as they come, apart from the last one.
    let onMessage: (@Sendable (Bytes) -> Void)?
    /// Its caller sends more messages; told how many bytes the server makes room for.
    let onCredit: (@Sendable (Int) -> Void)?
    private let end: Mutex<(@Sendable (Ending) -> Void)?>

    init(
        header: CallHeader,
        message: Bytes,
        deadline: Instant,
        patience: Int64? = nil,
        onMessage: (@Sendable (Bytes) -> Void)? = nil,
        onCredit: (@Sendable (Int) -> Void)? = nil,
        onEnd: @escaping @Sendable (Ending) -> Void
    ) {
        self.header = header
        self.message = message
        self.deadline = deadline
        self.patience = patience
        self.onMessage = onMessage
        self.onCredit = onCredit
        end = Mutex(onEnd)
    }

    func finish(_ ending: Ending) {
        let end = end.withLock { end in
            defer { end = nil }
            return end
        }
        end?(ending)
    }
}

/// Why one attempt at a call failed.
enum CallFailure: Error {
    case refused(ServiceError)
    case lost(wasSent: Bool)
}

/// A call that is under way, and the connection that it is on.
struct StreamedCall: Sendable {
    let call: ClientCall
    let connection: ClientConnection

    func grant(_ byteCount: Int) {
        connection.link.loop.execute { [self] in connection.grant(byteCount, to: call) }
    }

    func send(_ message: MessagePieces, isEnd: Bool) {
        connection.link.loop.execute { [self] in connection.send(message, of: call, isEnd: isEnd) }
    }

    func cancel() {
        connection.link.loop.execute { [self] in connection.cancel(call) }
    }
}
