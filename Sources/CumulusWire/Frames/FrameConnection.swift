// One side of a connection as a value: bytes in, frames out; frames in, bytes out; and what time
// does to it.
//
// The node's sessions, the client and tests embed it; a transport only carries its bytes. It checks
// preface and frames, answers PING, and says when a silent, slow or stalled other side has used up
// its time; asked to, whether the other side is alive at this moment. Time is an argument.

package import CumulusModel

/// A point in time, in milliseconds of a clock that never goes back.
package struct Instant: Hashable, Comparable, Sendable {
    package var milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Later than any time that comes.
    package static let distant = Instant(milliseconds: .max)

    package static func < (left: Instant, right: Instant) -> Bool {
        left.milliseconds < right.milliseconds
    }

    package static func + (left: Instant, milliseconds: Int64) -> Instant {
        Instant(milliseconds: left.milliseconds + milliseconds)
    }

    package static func - (left: Instant, right: Instant) -> Int64 {
        left.milliseconds - right.milliseconds
    }
}

package struct FrameConnection: Sendable {
    private var decoder: FrameDecoder
    private let limits: Limits
    /// Bytes to be written at the end of the turn.
    package var output = FrameOutput()

    /// How long silence may last before a PING is sent, and again before it ends the connection.
    package var idleMilliseconds: Int64
    /// How long the other side may take nothing of what waits for it.
    package var stalledWriteMilliseconds: Int64
    private var greetingDeadline: Instant?
    private var greetingBytes = 0
    /// When the frame began that is not complete yet; a node's, or when enough of it had come.
    private var frameStart: Instant? { didSet { frameBytes = 0 } }
    /// Bytes that came since.
    private var frameBytes = 0
    private var isPeer = false
    private var lastReceived: Instant
    private var pingSent: Instant?
    /// A PING that only a PONG of its own answers, and until when.
    private var challenge: (number: Bytes, due: Instant)?
    private var isReading = true
    /// Bytes that wait for the socket, and since when none of them left.
    package private(set) var pendingBytes = 0
    private var writeStart: Instant?

    package init(limits: Limits, now: Instant) {
        self.limits = limits
        idleMilliseconds = limits.idleMilliseconds
        stalledWriteMilliseconds = limits.stalledWriteMilliseconds
        decoder = FrameDecoder(frameLimit: limits.greetingBytes)
        greetingDeadline = now + limits.greetingMilliseconds
        lastReceived = now
        output = FrameOutput(Frame.preface)
    }

    /// Whether the other side has not been greeted yet.
    package var isGreeting: Bool { greetingDeadline != nil }

    /// Bytes that the frame which has begun will take; 0 if none has, as far as can be told.
    package var incomingBytes: Int { decoder.incomingBytes }

    /// The owner will take the incoming frame.
    package mutating func reserveIncoming() { decoder.reserveIncoming() }

    /// Frames that have ended so far: tells one incoming frame from the next.
    package var endedFrames: Int { decoder.ended }

    /// The greeting is over: larger frames are accepted, and the connection may be idle.
    ///
    /// - Parameter isPeer: The other side has proven to be a node of the cluster: its link may be
    ///   slow, since without it the cluster would not be whole.
    package mutating func finishGreeting(isPeer: Bool = false) {
        greetingDeadline = nil
        self.isPeer = isPeer
        if isPeer { idleMilliseconds = min(idleMilliseconds, limits.idlePeerMilliseconds) }
        decoder.frameLimit = limits.frameBytes
    }

    // MARK: Bytes

    /// Whether nothing came yet: a listener speaks second, so that it can answer an HTTP client as
    /// one.
    package var isSilent: Bool { opening.isEmpty }

    /// The first bytes of the other side, for a word to those who expected another protocol.
    private var opening: Bytes = []

    /// Whether the other side began like an HTTP client.
    package var looksLikeHTTP: Bool {
        let methods = ["GET ", "HEAD", "POST", "PUT ", "DELE", "OPTI", "PATC", "PRI "]
        return methods.contains { opening.starts(with: $0.utf8) }
    }

    /// Whether the other side answered like an HTTP server.
    package var isAnsweredByHTTP: Bool { opening.starts(with: "HTTP/1.".utf8) }

    package mutating func received(
        _ bytes: UnsafeRawBufferPointer,
        now: Instant
    ) throws(ProtocolFault) {
        lastReceived = now
        pingSent = nil
        if isGreeting {
            if opening.count < 8 { opening += bytes.prefix(8 - opening.count) }
            greetingBytes += bytes.count
            // Calls may follow the greeting at once: what arrives in one read counts as one.
            guard greetingBytes <= limits.greetingBytes + limits.frameBytes else {
                throw ProtocolFault("more than \(limits.greetingBytes) bytes before HELLO")
            }
        }
        if frameStart == nil { frameStart = now }
        frameBytes += bytes.count
        if isPeer, frameBytes >= limits.slowPeerBytes { frameStart = now }
        decoder.append(bytes)
    }

    /// The next frame that the owner has to look at.
    package mutating func next() throws(ProtocolFault) -> Frame? {
        while let frame = try nextFrame() {
            switch frame.kind {
            // Before the greeting is over no other frame counts.
            case .ping where greetingDeadline == nil:
                try check(frame, "PING")
                guard frame.payload.count == 8 else { throw ProtocolFault("a PING has 8 bytes") }
                send(Frame(.pong, payload: frame.payload))
            case .pong where greetingDeadline == nil:
                try check(frame, "PONG")
                if frame.payload == challenge?.number { challenge = nil }
            default: return frame
            }
        }
        return nil
    }

    /// A frame about the connection itself names no stream.
    private func check(_ frame: Frame, _ name: String) throws(ProtocolFault) {
        guard frame.stream == 0 else {
            throw ProtocolFault("a \(name) on stream \(frame.stream): it belongs on stream 0")
        }
    }

    /// The next frame, and the time of the one that has begun behind it.
    private mutating func nextFrame() throws(ProtocolFault) -> Frame? {
        let ended = decoder.ended
        let frame = try decoder.next()
        if !decoder.isMidFrame {
            frameStart = nil
        } else if decoder.ended != ended {
            frameStart = lastReceived
        }
        return frame
    }

    package mutating func send(_ frame: Frame) {
        output.append(frame)
    }

    package mutating func send(_ message: MessagePieces, isEnd: Bool, stream: UInt32) {
        output.append(Frame(.message, isEnd: isEnd, stream: stream), message)
    }

    package mutating func takeOutput() -> FrameOutput {
        defer { output = FrameOutput() }
        return output
    }

    // MARK: Time

    /// So many bytes wait for the socket now.
    ///
    /// Any that left are progress.
    package mutating func writing(_ pending: Int, now: Instant) {
        if pending == 0 {
            writeStart = nil
        } else if pending < pendingBytes || writeStart == nil {
            writeStart = now
        }
        pendingBytes = pending
    }

    /// The owner stops taking bytes from the socket, or goes on.
    ///
    /// Until then silence says nothing.
    package mutating func reading(_ isReading: Bool, now: Instant) {
        guard isReading != self.isReading else { return }
        self.isReading = isReading
        excuseSilence(now)
    }

    private mutating func excuseSilence(_ now: Instant) {
        lastReceived = now
        pingSent = nil
        if frameStart != nil { frameStart = now }
        if let number = challenge?.number {
            challenge = (number, now + limits.challengeMilliseconds)
        }
    }

    /// When `timePassed` wants to be called next.
    package var wakeTime: Instant {
        var wake = (pingSent ?? lastReceived) + idleMilliseconds
        if let greetingDeadline { wake = min(wake, greetingDeadline) }
        if let frameStart { wake = min(wake, frameStart + limits.frameMilliseconds) }
        if let writeStart { wake = min(wake, writeStart + stalledWriteMilliseconds) }
        if let challenge { wake = min(wake, challenge.due) }
        return wake
    }

    /// Whether a sign of life is awaited that was asked for by `challenge`.
    package var isChallenged: Bool { challenge != nil }

    /// Asks the other side for a sign of life: what it sent before doesn't count.
    ///
    /// Without one the connection ends soon.
    package mutating func challenge(_ number: Bytes, now: Instant) {
        guard challenge == nil else { return }
        challenge = (number, now + limits.challengeMilliseconds)
        send(Frame(.ping, payload: number))
    }

    /// Sends a PING where it is due; throws if the other side's time is up.
    package mutating func timePassed(now: Instant) throws(ProtocolFault) {
        if !isReading { excuseSilence(now) }
        if let greetingDeadline, greetingDeadline <= now {
            throw ProtocolFault("no HELLO within \(limits.greetingMilliseconds) ms")
        }
        if let frameStart, frameStart + limits.frameMilliseconds <= now {
            let most = isPeer ? "\(limits.slowPeerBytes) bytes of a frame" : "a frame"
            throw ProtocolFault("\(most) took longer than \(limits.frameMilliseconds) ms to arrive")
        }
        if let writeStart, writeStart + stalledWriteMilliseconds <= now {
            throw ProtocolFault("nothing was read for \(stalledWriteMilliseconds) ms")
        }
        if let challenge, challenge.due <= now {
            throw ProtocolFault("no sign of life within \(limits.challengeMilliseconds) ms")
        }
        if let pingSent {
            guard pingSent + idleMilliseconds <= now else { return }
            throw ProtocolFault("no answer to PING")
        }
        if lastReceived + idleMilliseconds <= now {
            var number: Bytes = []
            FrameEncoder.append(UInt32(truncatingIfNeeded: now.milliseconds >> 32), to: &number)
            FrameEncoder.append(UInt32(truncatingIfNeeded: now.milliseconds), to: &number)
            send(Frame(.ping, payload: number))
            pingSent = now
        }
    }
}
