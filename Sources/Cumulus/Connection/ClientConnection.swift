// The client's side of one connection: greeting, calls in flight, credit for streams.
//
// A transport drives it as a `FrameHandler` on one event loop; `ClientCore` starts calls on that
// loop and is told when the connection opens, drains and ends. hot: twice per call.

import CumulusModel
import CumulusWire

final class ClientConnection: FrameHandler, @unchecked Sendable {
    // Confined to `link.loop`.

    enum Event: Sendable {
        case opened(ServerHello)
        /// This token covers all answers of this run of the node from now until the next such
        /// event.
        case reached(run: UInt64, Bytes)
        case refused(ServiceError)
        /// An HTTP server is at that port.
        case foreign(String)
        /// No new calls; those in flight go on.
        case draining
        case closed(String)
    }

    let link: any FrameLink
    private let clock: @Sendable () -> Instant
    private let notify: @Sendable (ClientConnection, Event) -> Void
    private var connection: FrameConnection
    private let silenceMilliseconds: Int64
    private let hello: Hello
    /// nil once the greeting is sent.
    private var signer: GreetingSigner?
    /// 32 random bytes that are signed with the server's.
    private let nonce: Bytes
    private var isOpen = false
    private var isClosed = false
    private var isRetired = false
    /// The run of the node that answers.
    private var run: UInt64 = 0
    private var closeReason = "the server closed the connection"
    private var nextStream: UInt32
    /// Streams are never used twice: from here on the connection is given up for another one.
    static let lastStream: UInt32 = 1 << 31
    private var calls: [UInt32: Flight] = [:]
    private var earliestDeadline: Instant?
    /// How long the server's own answer that the time is up may take.
    private static let graceMilliseconds: Int64 = 1_000

    private struct Flight {
        let call: ClientCall
        var deadline: Instant
        var messages: [Bytes] = []
    }

    init(
        _ settings: ClientSettings,
        link: any FrameLink,
        clock: @escaping @Sendable () -> Instant,
        nonce: Bytes,
        notify: @escaping @Sendable (ClientConnection, Event) -> Void
    ) {
        self.link = link
        self.clock = clock
        self.notify = notify
        silenceMilliseconds = settings.silenceMilliseconds
        nextStream = settings.firstStream
        hello = settings.hello
        signer = settings.signer
        self.nonce = nonce
        var limits = Limits.standard
        limits.greetingMilliseconds = settings.attemptMilliseconds
        connection = FrameConnection(limits: limits, now: clock())
        if signer == nil { connection.send(Frame(.hello, payload: hello.encoded())) }
    }

    // MARK: Calls

    /// Sends a call.
    ///
    /// Starts a call; on the loop.
    func start(_ call: ClientCall) {
        guard isOpen, !isClosed else { return call.finish(.lost(wasSent: false)) }
        let stream = nextStream
        nextStream += 2
        if nextStream > ClientConnection.lastStream, !isRetired {
            isRetired = true
            closeReason = "its streams are used up"
            notify(self, .draining)
        }
        calls[stream] = Flight(call: call, deadline: call.deadline)
        earliestDeadline = earliestDeadline.map { min($0, call.deadline) } ?? call.deadline
        var header = call.header
        if call.patience == nil {
            let rest = call.deadline.milliseconds - clock().milliseconds
            header.timeout = UInt32(clamping: max(1, rest))
        }
        let payload = header.encoded(before: call.message)
        let isEnd = call.onCredit == nil
        connection.send(Frame(.call, isEnd: isEnd, stream: stream, payload: payload))
        link.needsTurn()
    }

    /// Sends another message of a call that takes several; none if the call has ended.
    ///
    /// Sends a message of a call; on the loop.
    func send(_ message: MessagePieces, of call: ClientCall, isEnd: Bool) {
        guard let stream = calls.first(where: { $0.value.call === call })?.key else { return }
        connection.send(message, isEnd: isEnd, stream: stream)
        link.needsTurn()
    }

    /// Cancels a call that no task waits for any more.
    ///
    /// On the loop.
    func cancel(_ call: ClientCall) {
        guard let stream = calls.first(where: { $0.value.call === call })?.key else { return }
        calls[stream] = nil
        connection.send(Frame(.cancel, stream: stream))
        call.finish(
            .refused(ServiceError(.operationCancelled, "the call was cancelled"))
        )
        link.needsTurn()
    }

    /// The consumer of a stream has taken so many bytes.
    ///
    /// Grants a call more bytes; on the loop.
    func grant(_ byteCount: Int, to call: ClientCall) {
        guard let stream = calls.first(where: { $0.value.call === call })?.key else { return }
        sendCredit(UInt32(clamping: byteCount), stream)
        link.needsTurn()
    }

    /// Ends the connection once no call is in flight on it.
    ///
    /// Lets no more calls begin; on the loop.
    func retire() {
        isRetired = true
        closeReason = "the node was behind"
        closeIfRetired()
    }

    private func closeIfRetired() {
        guard isRetired, calls.isEmpty, !isClosed else { return }
        isClosed = true
        link.needsTurn()
    }

    /// Ends the connection.
    ///
    /// Closes the connection; on the loop.
    func close() {
        closeReason = "the client was closed"
        isClosed = true
        loseCalls()
        link.needsTurn()
    }

    // MARK: FrameHandler

    func received(_ bytes: UnsafeRawBufferPointer, now: Instant) {
        do throws(ProtocolFault) {
            try connection.received(bytes, now: now)
            while !isClosed, let frame = try connection.next() { try handle(frame) }
            connection.reserveIncoming()
        } catch {
            fault(error)
        }
    }

    func turnEnded(now: Instant) -> Turn {
        closeIfRetired()
        // A server that owes nothing may be silent for long.
        connection.idleMilliseconds =
            calls.isEmpty ? Limits.standard.idleMilliseconds : silenceMilliseconds
        var wake = connection.wakeTime
        if let earliestDeadline {
            wake = min(wake, earliestDeadline + ClientConnection.graceMilliseconds)
        }
        return Turn(output: connection.takeOutput(), wake: wake, closes: isClosed)
    }

    func timePassed(now: Instant) {
        do throws(ProtocolFault) {
            try connection.timePassed(now: now)
        } catch {
            return fault(error)
        }
        earliestDeadline = nil
        for (stream, flight) in calls {
            let deadline = flight.deadline
            if deadline + ClientConnection.graceMilliseconds <= now {
                calls[stream] = nil
                connection.send(Frame(.cancel, stream: stream))
                if let patience = flight.call.patience {
                    flight.call.finish(.refused(.silence(milliseconds: patience)))
                } else {
                    // The server may have done it: the same as a connection that was lost.
                    flight.call.finish(.lost(wasSent: true))
                }
            } else {
                earliestDeadline = earliestDeadline.map { min($0, deadline) } ?? deadline
            }
        }
    }

    func writing(_ pendingBytes: Int, now: Instant) {
        connection.writing(pendingBytes, now: now)
    }

    func closed() {
        isClosed = true
        loseCalls()
        if !isOpen, connection.isAnsweredByHTTP {
            closeReason = ClientConnection.isHTTP
            notify(self, .foreign(closeReason))
        }
        notify(self, .closed(closeReason))
    }

    private static let isHTTP =
        "an HTTP port; the endpoint is the port of 'cumulusd --listen', 7420 by default"

    private func loseCalls() {
        let ended = calls.values
        calls = [:]
        for flight in ended { flight.call.finish(.lost(wasSent: true)) }
    }

    // MARK: Frames

    private func handle(_ frame: Frame) throws(ProtocolFault) {
        switch frame.kind {
        case .nonce: try greet(frame.payload)
        case .hello: try open(frame.payload)
        case .message: receive(frame)
        case .status: try end(frame)
        case .drain: notify(self, .draining)
        case .causal: notify(self, .reached(run: run, frame.payload))
        case .credit:
            guard frame.payload.count == 4 else { throw ProtocolFault("a CREDIT has 4 bytes") }
            calls[frame.stream]?.call.onCredit?(frame.payload.reduce(0) { $0 << 8 | Int($1) })
        case .call, .cancel, .ping, .pong:
            throw ProtocolFault("the server sent a frame that only clients send")
        }
    }

    /// Sends the greeting, if it had to wait for the server's nonce.
    private func greet(_ serverNonce: Bytes) throws(ProtocolFault) {
        guard let signer else { return }
        // A nonce of another length could overlap other parts of the signed bytes.
        guard serverNonce.count == ServiceKeyProof.nonceBytes else {
            throw ProtocolFault("the server's NONCE can't be signed")
        }
        self.signer = nil
        let signed = try? signer.sign(
            hello,
            serverNonce: serverNonce,
            nonce: nonce,
            certificate: link.certificate
        )
        guard let signed else { throw ProtocolFault("the service key could not sign") }
        connection.send(Frame(.hello, payload: signed.encoded()))
    }

    private func open(_ payload: Bytes) throws(ProtocolFault) {
        guard !isOpen, let hello = try? ServerHello(wire: payload) else {
            throw ProtocolFault("the server's HELLO can't be read")
        }
        isOpen = true
        run = hello.incarnation
        connection.finishGreeting()
        notify(self, .opened(hello))
    }

    private func receive(_ frame: Frame) {
        guard var flight = calls[frame.stream] else { return }
        if frame.isEnd {
            calls[frame.stream] = nil
            flight.messages.append(frame.payload)
            return flight.call.finish(.answer(flight.messages))
        }
        if let patience = flight.call.patience { flight.deadline = clock() + patience }
        if let onMessage = flight.call.onMessage {
            onMessage(frame.payload)
        } else {
            // The whole answer is wanted: room is made for all of it.
            flight.messages.append(frame.payload)
            sendCredit(UInt32(clamping: frame.payload.count), frame.stream)
        }
        calls[frame.stream] = flight
    }

    private func end(_ frame: Frame) throws(ProtocolFault) {
        let error =
            (try? ServiceError(wire: frame.payload))
            ?? ServiceError(.internalError, "the server's error can't be read")
        if frame.stream == 0 {
            closeReason = error.message
            if !isOpen { notify(self, .refused(error)) }
            isClosed = true
            return
        }
        calls.removeValue(forKey: frame.stream)?.call.finish(.refused(error))
    }

    private func sendCredit(_ byteCount: UInt32, _ stream: UInt32) {
        var payload = Bytes()
        FrameEncoder.append(byteCount, to: &payload)
        connection.send(Frame(.credit, stream: stream, payload: payload))
    }

    private func fault(_ fault: ProtocolFault) {
        closeReason = fault.message
        isClosed = true
    }
}

extension ServiceError {
    fileprivate static func silence(milliseconds: Int64) -> ServiceError {
        ServiceError(
            .serviceUnavailable,
            .deadline,
            "the node said nothing for \(milliseconds) ms; try again, or with a longer timeout"
        )
    }
}
