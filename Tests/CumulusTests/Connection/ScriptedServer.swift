// A server that does with each connection what it was told to, on a real socket: for what clients
// make of refusals, of silence and of nonsense.

import CumulusModel
import CumulusRequests
import CumulusTransport
import CumulusWire
import Foundation
import Synchronization

final class ScriptedServer: Sendable {
    /// What becomes of a connection.
    enum Step: Sendable {
        case refuseGreeting(ServiceError)
        /// Replies to its calls, one after the other; the last reply holds for all later calls.
        case calls([Reply])

        static let dropCall = calls([.drop])
        static func refuseCall(_ error: ServiceError) -> Step { calls([.refuse(error)]) }
        static func answer(_ bytes: Bytes) -> Step { calls([.answer(bytes)]) }
    }

    enum Reply: Sendable {
        /// Closes the connection.
        case drop
        case refuse(ServiceError)
        case answer(Bytes)
        /// Begins a stream, which stays open.
        case open([Bytes])
        /// Begins a stream and closes the connection.
        case cut([Bytes])
        /// Begins a stream and ends it with an error.
        case ended([Bytes], ServiceError)
        /// Says nothing.
        case ignore
    }

    /// A call that came.
    struct Request: Sendable {
        var method: UInt32
        var message: Bytes
    }

    let endpoint: String
    private let listener: NIOFrameListener
    private let counts: Counts

    /// Connections that were accepted, and calls that came.
    private final class Counts: Sendable {
        let connections = Atomic<Int>(0)
        let calls = Mutex<[Request]>([])

        func note(_ call: Frame) {
            guard let (header, message) = try? CallHeader.split(call.payload) else { return }
            calls.withLock { $0.append(Request(method: header.method, message: message)) }
        }
    }

    /// - Parameters:
    ///   - steps: One step for each connection; the last one holds for all later connections.
    ///   - clock: What it says of its clock; nil means what time it is.
    ///   - user: The caller's user in the greeting; empty means anonymous.
    init(
        _ steps: [Step],
        limits: Limits = .standard,
        clock: Int64? = nil,
        user: String = ""
    ) async throws {
        let counts = Counts()
        self.counts = counts
        listener = NIOFrameListener(host: "127.0.0.1", port: 0, loops: EventLoops(threads: 1))
        endpoint = try await listener.start { _, now in
            let number = counts.connections.wrappingAdd(1, ordering: .relaxed).oldValue
            var hello = ServerHello()
            hello.limits = limits
            hello.callerUser = user
            hello.clock = clock ?? Int64(Date().timeIntervalSince1970 * 1_000)
            return Handler(steps[min(number, steps.count - 1)], hello, now) { counts.note($0) }
        }
    }

    /// Connections that were accepted so far.
    var connections: Int { counts.connections.load(ordering: .relaxed) }

    /// Calls that came so far.
    var calls: Int { requests.count }

    /// The calls that came so far, in their order.
    var requests: [Request] { counts.calls.withLock { $0 } }

    func stop() async throws { try await listener.stop() }

    private final class Handler: FrameHandler {
        private let step: Step
        private let hello: ServerHello
        private let noteCall: (Frame) -> Void
        private var calls = 0
        private var connection: FrameConnection
        private var isOver = false

        init(
            _ step: Step,
            _ hello: ServerHello,
            _ now: Instant,
            _ noteCall: @escaping (Frame) -> Void
        ) {
            self.step = step
            self.hello = hello
            self.noteCall = noteCall
            connection = FrameConnection(limits: .standard, now: now)
        }

        func received(_ bytes: UnsafeRawBufferPointer, now: Instant) {
            do {
                try connection.received(bytes, now: now)
                while let frame = try connection.next() { take(frame) }
            } catch {
                isOver = true
            }
        }

        private func take(_ frame: Frame) {
            switch (frame.kind, step) {
            case (.hello, .refuseGreeting(let error)):
                connection.send(Frame(.status, isEnd: true, payload: error.encoded()))
                isOver = true
            case (.hello, .calls):
                connection.finishGreeting()
                connection.send(Frame(.hello, payload: hello.encoded()))
            case (.call, .calls(let replies)):
                noteCall(frame)
                reply(replies[min(calls, replies.count - 1)], on: frame.stream)
                calls += 1
            default: break
            }
        }

        private func reply(_ reply: Reply, on stream: UInt32) {
            switch reply {
            case .drop: isOver = true
            case .refuse(let error): refuse(error, on: stream)
            case .answer(let bytes):
                connection.send(Frame(.message, isEnd: true, stream: stream, payload: bytes))
            case .open(let messages): send(messages, on: stream)
            case .cut(let messages):
                send(messages, on: stream)
                isOver = true
            case .ended(let messages, let error):
                send(messages, on: stream)
                refuse(error, on: stream)
            case .ignore: break
            }
        }

        private func refuse(_ error: ServiceError, on stream: UInt32) {
            let status = Frame(.status, isEnd: true, stream: stream, payload: error.encoded())
            connection.send(status)
        }

        private func send(_ messages: [Bytes], on stream: UInt32) {
            for message in messages {
                connection.send(Frame(.message, stream: stream, payload: message))
            }
        }

        func turnEnded(now: Instant) -> Turn {
            Turn(output: connection.takeOutput(), wake: nil, closes: isOver)
        }

        func timePassed(now: Instant) {}
        func writing(_ pendingBytes: Int, now: Instant) {}
        func closed() {}
    }
}
