// A connection whose caller is in this process: the calls that a client would send over TCP, made
// by another door of the node.
//
// CumulusGateway makes one for each request that it takes. It looks the caller up in the same
// registers as a HELLO's token or key; from then on the caller is like any other, with the same
// budget, rights, deadlines and audit lines. The connection has a loop of its own. It takes the
// answer of a call at once, and the answer of a followed call as its reader takes it.
//
// Folder: the node's side of doors in the same process. Read `LocalConnection`, then
// `LocalConnection+Values`, which makes calls without messages, `LocalEntrance`, `LocalStream`,
// `LocalUpload` and `LocalLoop`.

package import CumulusModel
package import CumulusWire
import Synchronization

package final class LocalConnection: FrameLink, @unchecked Sendable {
    // Confined to `loop`, but for what is set once.

    package var loop: any FrameLoop { ownLoop }
    let ownLoop = LocalLoop()
    package let isLoopback: Bool
    package let remoteAddress: Bytes
    package let certificate: Bytes = []
    let node: Node
    var handler: CallerConnection?
    private var decoder: FrameDecoder
    var calls: [UInt32: LocalCall] = [:]
    private(set) var nextStream: UInt32 = 1
    /// The number of the next call by value: even, since streams of frames have odd ones.
    var nextValue: UInt32 = 2
    /// Calls by value that the node does not take yet.
    var unopened: ArraySlice<Unopened> = []
    private var isTurnDue = false
    private var wake = Instant.distant
    private var timer: Task<Void, Never>?
    private var greeted: (@Sendable (Result<String, ServiceError>) -> Void)?
    /// Why the connection ended.
    var ending: ServiceError?
    /// Causal tokens that calls carry, until one that did was answered.
    var seen: [Bytes]
    /// The newest causal token of the node.
    var told: Bytes = []
    private let shown = Mutex<Bytes?>(nil)

    private init(_ entrance: LocalEntrance, _ node: Node) {
        self.node = node
        isLoopback = entrance.isSecret
        remoteAddress = entrance.address
        seen = entrance.seen ?? []
        decoder = FrameDecoder(frameLimit: node.configuration.limits.frameBytes)
    }

    /// Lets a caller in; returns its user record name too, empty if no user is signed in.
    package static func open(
        _ entrance: LocalEntrance,
        on node: Node
    ) async throws(ServiceError) -> (connection: LocalConnection, user: String) {
        let connection = LocalConnection(entrance, node)
        let result = await withCheckedContinuation { continuation in
            connection.ownLoop.perform {
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
        try await call(header, message, behind: nil)
    }

    /// Makes a call whose caller sends many messages, each when the node has room for it.
    ///
    /// - Parameter messages: The messages behind the first one.
    package func upload(
        _ header: CallHeader,
        _ message: Bytes,
        _ messages: [Bytes]
    ) async throws(ServiceError) -> [Bytes] {
        try await call(header, message, behind: messages[...])
    }

    private func call(
        _ header: CallHeader,
        _ message: Bytes,
        behind unsent: ArraySlice<Bytes>?
    ) async throws(ServiceError) -> [Bytes] {
        let stream = Mutex<UInt32>(0)
        let header = header.traced()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                ownLoop.perform { [self] in
                    var call = LocalCall { continuation.resume(returning: $0) }
                    call.unsent = unsent
                    let number = start(call, header, message)
                    stream.withLock { $0 = number }
                }
            }
        } onCancel: {
            loop.execute { [self] in cancel(stream.withLock { $0 }) }
        }
        return try result.get()
    }

    /// Makes a call whose answer is taken message by message, as it comes.
    package func follow(_ header: CallHeader, _ message: Bytes) async -> LocalStream {
        await withCheckedContinuation { continuation in
            loop.execute { [self] in
                let stream = LocalStream(self, nextStream)
                var call = LocalCall { stream.end($0.map { _ in () }) }
                call.stream = stream
                start(call, header, message)
                continuation.resume(returning: stream)
            }
        }
    }

    /// Makes a change under a request id of its own.
    package func change(
        _ header: CallHeader,
        _ message: Bytes
    ) async throws(ServiceError) -> [Bytes] {
        try await call(naming(header), message)
    }

    /// A causal token that covers what the caller had seen, and what it was answered here; nil as
    /// long as nothing was answered.
    package var reached: Bytes? { shown.withLock { $0 } }

    /// Ends the connection, from anywhere; calls in progress fail.
    package func close() {
        loop.execute { [self] in end(LocalConnection.closed) }
    }

    /// Ends the connection, in the task of its caller, which makes no more calls.
    package func leave() {
        ownLoop.perform { [self] in end(LocalConnection.closed) }
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
        if let restraint = entrance.restraint { handler.calls.restraint = restraint }
        Frame.preface.withUnsafeBytes { handler.received($0, now: now) }
        handler.enter(entrance) { [self] user in
            self.greeted?(.success(user))
            self.greeted = nil
        }
        needsTurn()
    }

    /// Returns the number of the call's stream; 0 if the connection has ended.
    @discardableResult
    func start(_ call: LocalCall, _ header: CallHeader, _ message: Bytes) -> UInt32 {
        if let ending {
            call.end(.failure(ending))
            return 0
        }
        let stream = nextStream
        nextStream += 2
        var header = header
        header.causalTokens = seen
        calls[stream] = call
        calls[stream]?.credit = node.configuration.limits.initialCredit
        // One that sends messages behind its first does not wait.
        let isWhole = call.unsent == nil && !call.isOpenEnded
        calls[stream]?.isCausal = isWhole
        let payload = header.encoded(before: message)
        send(Frame(.call, isEnd: isWhole, stream: stream, payload: payload))
        sendMessages(of: stream)
        return stream
    }

    /// Sends what the node has room for, and an empty message behind the last one.
    private func sendMessages(of stream: UInt32) {
        while let call = calls[stream], let message = call.unsent?.first, call.credit > 0 {
            calls[stream]?.credit -= message.count
            calls[stream]?.unsent?.removeFirst()
            send(Frame(.message, stream: stream, payload: message))
        }
        guard calls[stream]?.unsent?.isEmpty == true else { return }
        calls[stream]?.unsent = nil
        send(Frame(.message, isEnd: true, stream: stream))
    }

    private func cancel(_ stream: UInt32) {
        if calls[stream] != nil { send(Frame(.cancel, stream: stream)) }
    }

    /// The reader of a stream wants no more of it.
    func drop(_ stream: UInt32) {
        loop.execute { [self] in cancel(stream) }
    }

    /// The reader of a stream has taken so many bytes of it.
    func taken(_ byteCount: Int, of stream: UInt32) {
        loop.execute { [self] in grant(byteCount, to: stream) }
    }

    private func grant(_ byteCount: Int, to stream: UInt32) {
        guard calls[stream] != nil else { return }
        var credit: Bytes = []
        FrameEncoder.append(UInt32(clamping: byteCount), to: &credit)
        send(Frame(.credit, stream: stream, payload: credit))
    }

    func send(_ frame: Frame) {
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
        loop.execute { [self] in
            // A call that ended meanwhile has ended the turn.
            if isTurnDue { endTurn() }
        }
    }

    /// - Parameter ended: The number of a call that is over with this turn.
    func endTurn(ended: UInt32 = 0) {
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
        if !unopened.isEmpty { openCalls() }
        // Between calls nothing is due: its caller closes it.
        let isBusy = greeted != nil || calls.contains { $0.key != ended }
        if let time = turn.wake, isBusy { schedule(time) }
    }

    private func take(_ frame: Frame) {
        switch frame.kind {
        case .message: take(frame, of: frame.stream)
        case .status where frame.stream == 0: end(LocalConnection.error(frame.payload))
        case .status:
            let call = calls.removeValue(forKey: frame.stream)
            call?.end(.failure(LocalConnection.error(frame.payload)))
        case .ping: send(Frame(.pong, payload: frame.payload))
        case .credit:
            let room = frame.payload.reduce(0) { $0 << 8 | Int($1) }
            calls[frame.stream]?.credit += room
            sendMessages(of: frame.stream)
            sendWaiting(of: frame.stream)
        case .causal:
            told = frame.payload
            if shown.withLock({ $0 != nil }) { shown.withLock { $0 = told } }
        case .call, .cancel, .hello, .pong, .drain, .nonce: break
        }
    }

    /// Takes a message, and makes room for as much again, unless a reader does that.
    private func take(_ frame: Frame, of stream: UInt32) {
        if calls[stream]?.isCausal == true, !told.isEmpty { cover() }
        if let reader = calls[stream]?.stream {
            reader.put(frame.payload)
        } else {
            calls[stream]?.messages.append(frame.payload)
        }
        guard !frame.isEnd else {
            guard let call = calls.removeValue(forKey: stream) else { return }
            return call.end(.success(call.messages))
        }
        if calls[stream]?.stream == nil { grant(frame.payload.count, to: stream) }
    }

    /// A call was answered, so the node's token covers those that it carried.
    func cover() {
        seen = []
        shown.withLock { $0 = told }
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
        (calls, unopened) = ([:], [])
        for (_, call) in open { call.end(.failure(error)) }
    }
}
