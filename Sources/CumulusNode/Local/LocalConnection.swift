// A connection whose caller is in this process: the calls that a client would send over TCP, made
// by another door of the node.
//
// Made by CumulusGateway for each request that it takes. Who calls is looked up here, in the same
// registers as a HELLO's token or key; from then on the caller is like any other, with the same
// budget, rights, deadlines and audit lines. The connection has a loop of its own. What it is
// answered is taken at once.
//
// Folder: the node's side of doors in the same process. Read `LocalConnection`, then
// `LocalEntrance` and `LocalLoop`.

package import CumulusModel
import CumulusStorage
package import CumulusWire
import Synchronization

package final class LocalConnection: FrameLink, @unchecked Sendable {
    // Confined to `loop`, but for what is set once.

    package let loop: any FrameLoop = LocalLoop()
    package let isLoopback: Bool
    package let remoteAddress: Bytes
    package let certificate: Bytes = []
    private let node: Node
    private var handler: CallerConnection?
    private var decoder: FrameDecoder
    private var calls: [UInt32: LocalCall] = [:]
    private var nextStream: UInt32 = 1
    private var isTurnDue = false
    private var wake = Instant.distant
    private var timer: Task<Void, Never>?
    private var greeted: (@Sendable (Result<String, ServiceError>) -> Void)?
    /// Why the connection ended.
    private var ending: ServiceError?

    /// One call, from its first frame to its last.
    private struct LocalCall {
        var messages: [Bytes] = []
        let end: @Sendable (Result<[Bytes], ServiceError>) -> Void
    }

    private init(_ entrance: LocalEntrance, _ node: Node) {
        self.node = node
        isLoopback = entrance.isSecret
        remoteAddress = entrance.address
        decoder = FrameDecoder(frameLimit: node.configuration.limits.frameBytes)
    }

    /// Lets a caller in; returns its user record name too, empty if no user is signed in.
    package static func open(
        _ entrance: LocalEntrance,
        on node: Node
    ) async throws(ServiceError) -> (connection: LocalConnection, user: String) {
        let connection = LocalConnection(entrance, node)
        let result = await withCheckedContinuation { continuation in
            connection.loop.execute {
                connection.begin(entrance) { continuation.resume(returning: $0) }
            }
        }
        return (connection, try result.get())
    }

    /// Makes a call, and returns the messages of its answer.
    package func call(
        _ header: CallHeader,
        _ message: Bytes
    ) async throws(ServiceError) -> [Bytes] {
        let stream = Mutex<UInt32>(0)
        let header = header.traced()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                loop.execute { [self] in
                    let number = start(header, message) { continuation.resume(returning: $0) }
                    stream.withLock { $0 = number }
                }
            }
        } onCancel: {
            loop.execute { [self] in
                let number = stream.withLock { $0 }
                if calls[number] != nil { send(Frame(.cancel, stream: number)) }
            }
        }
        return try result.get()
    }

    /// Makes a change under a request id of its own.
    package func change(
        _ method: Method,
        _ message: Bytes
    ) async throws(ServiceError) -> [Bytes] {
        var dice = NodeDice(node.environment)
        var header = CallHeader(method)
        header.requestID = RequestID(milliseconds: node.clock, using: &dice).bytes
        return try await call(header, message)
    }

    /// Ends the connection; calls in progress fail.
    package func close() {
        loop.execute { [self] in end(LocalConnection.closed) }
    }

    private static let closed = ServiceError(.operationCancelled, "the request has ended")

    // MARK: Frames

    private func begin(
        _ entrance: LocalEntrance,
        _ greeted: @escaping @Sendable (Result<String, ServiceError>) -> Void
    ) {
        self.greeted = greeted
        let now = node.environment.now()
        guard let handler = node.accept(self, now: now) as? CallerConnection else {
            return end(ServiceError(.internalError, "the node has no handler for a caller"))
        }
        self.handler = handler
        Frame.preface.withUnsafeBytes { handler.received($0, now: now) }
        handler.enter(entrance)
        needsTurn()
    }

    private func start(
        _ header: CallHeader,
        _ message: Bytes,
        _ end: @escaping @Sendable (Result<[Bytes], ServiceError>) -> Void
    ) -> UInt32 {
        if let ending {
            end(.failure(ending))
            return 0
        }
        let stream = nextStream
        nextStream += 2
        calls[stream] = LocalCall(end: end)
        let payload = header.encoded(before: message)
        send(Frame(.call, isEnd: true, stream: stream, payload: payload))
        return stream
    }

    private func send(_ frame: Frame) {
        guard let handler else { return }
        var bytes: Bytes = []
        bytes.reserveCapacity(frame.payload.count + Frame.lengthSize + Frame.headSize)
        FrameEncoder.append(frame, to: &bytes)
        bytes.withUnsafeBytes { handler.received($0, now: node.environment.now()) }
        needsTurn()
    }

    package func needsTurn() {
        guard !isTurnDue else { return }
        isTurnDue = true
        loop.execute { [self] in endTurn() }
    }

    private func endTurn() {
        isTurnDue = false
        guard let handler else { return }
        let turn = handler.turnEnded(now: node.environment.now())
        do throws(ProtocolFault) {
            for piece in turn.output.pieces {
                piece.withUnsafeBytes { decoder.append($0) }
                while let frame = try decoder.next() { take(frame) }
            }
        } catch {
            return end(ServiceError(.internalError, .protocolError, error.message))
        }
        if turn.closes { return end(ServiceError(.internalError, "the connection was closed")) }
        if let time = turn.wake { schedule(time) }
    }

    private func take(_ frame: Frame) {
        switch frame.kind {
        case .hello: greet(with: frame.payload)
        case .message: take(frame, of: frame.stream)
        case .status where frame.stream == 0: end(LocalConnection.error(frame.payload))
        case .status:
            let call = calls.removeValue(forKey: frame.stream)
            call?.end(.failure(LocalConnection.error(frame.payload)))
        case .ping: send(Frame(.pong, payload: frame.payload))
        case .call, .cancel, .credit, .pong, .drain, .nonce, .causal: break
        }
    }

    private func greet(with payload: Bytes) {
        guard let hello = try? ServerHello(wire: payload) else { return }
        greeted?(.success(hello.callerUser))
        greeted = nil
    }

    /// Takes a message, and makes room for as much again.
    private func take(_ frame: Frame, of stream: UInt32) {
        calls[stream]?.messages.append(frame.payload)
        guard !frame.isEnd else {
            guard let call = calls.removeValue(forKey: stream) else { return }
            return call.end(.success(call.messages))
        }
        var credit: Bytes = []
        FrameEncoder.append(UInt32(clamping: frame.payload.count), to: &credit)
        send(Frame(.credit, stream: stream, payload: credit))
    }

    private static func error(_ payload: Bytes) -> ServiceError {
        let unreadable = ServiceError(.internalError, .protocolError, "a status can't be read")
        return (try? ServiceError(wire: payload)) ?? unreadable
    }

    // MARK: Time

    private func schedule(_ time: Instant) {
        guard time < wake else { return }
        wake = time
        let pause = max(0, time - node.environment.now())
        let sleep = node.environment.sleep
        timer?.cancel()
        timer = Task { [weak self] in
            guard (try? await sleep(pause)) != nil, let connection = self else { return }
            connection.loop.execute { connection.timePassed(time) }
        }
    }

    private func timePassed(_ time: Instant) {
        guard time == wake, let handler else { return }
        wake = .distant
        handler.timePassed(now: node.environment.now())
        needsTurn()
    }

    private func end(_ error: ServiceError) {
        guard ending == nil else { return }
        ending = error
        timer?.cancel()
        handler?.closed()
        handler = nil
        greeted?(.failure(error))
        greeted = nil
        let open = calls.sorted { $0.key < $1.key }
        calls = [:]
        for (_, call) in open { call.end(.failure(error)) }
    }
}
