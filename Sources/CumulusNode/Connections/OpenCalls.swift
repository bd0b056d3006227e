// The calls in progress on one connection: answers, credit, deadlines, cancellation.
//
// `CallerConnection` hands over the frames that concern calls, and asks how much is in memory. A
// call begins in `OpenCalls+Opening`, which looks up its method; the method's handler works through
// a `CallContext`, whose means are in the other extensions: reads, writes, waits for causality and
// for replicas. hot: several steps per call.

import CumulusModel
import CumulusWire
import Logging

final class OpenCalls: @unchecked Sendable {
    // Confined to `link.loop`: closures that leave it come back through `onLoop`.

    let node: Node
    let link: any FrameLink
    let frames: ConnectionFrames
    let room: ConnectionRoom
    /// Set when the caller is greeted; its credential is judged again later.
    var identity = Identity()
    /// What the caller may still do; nil means there is no limit.
    var budget: CallerBudget?
    /// How a caller that ignores its budget is held up; calls of one door may share it.
    var restraint = SharedRestraint()
    /// Bytes of credit by stream that wait until the caller's bytes are within its budget.
    var withheldCredit: [UInt32: Int] = [:]
    private(set) var calls: [UInt32: OpenCall] = [:]
    private var highestStream: UInt32 = 0
    private var isClosed = false
    /// Bytes of requests that no thread has taken over yet.
    private(set) var requestBytes = 0
    /// Bytes of answers that wait for credit, or are held back.
    private(set) var waitingBytes = 0
    /// One wait for all calls that wait for what their callers have seen.
    var bellWait: BellWait?
    /// One wait for all streams, whose caller is judged again when the accounts have changed.
    var accountsWait: BellWait?
    /// That judgement waits for the disk.
    var isJudgingStreams = false
    /// Version of the last causal token that was sent to this caller.
    var toldVersion: UInt64 = 0
    /// Pages that reader threads read for a peer, and streams whose next page waits for room.
    var pagesBeingRead = 0
    var streamsWithoutRoom: [UInt32] = []

    init(node: Node, link: any FrameLink, frames: ConnectionFrames, room: ConnectionRoom) {
        self.node = node
        self.link = link
        self.frames = frames
        self.room = room
    }

    var limits: Limits { node.configuration.limits }

    /// Bytes of calls in progress.
    var keptBytes: Int { requestBytes + waitingBytes }

    subscript(stream: UInt32) -> OpenCall? { calls[stream] }

    /// The calls that a test picks, in the order in which they began.
    func inOrder(where test: (OpenCall) -> Bool) -> [(stream: UInt32, call: OpenCall)] {
        calls.filter { test($0.value) }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    // MARK: Beginning and end

    /// Enters a call on a new stream.
    func enter(_ call: OpenCall, on stream: UInt32) {
        calls[stream] = call
        requestBytes += call.requestBytes
        node.meter.calls.add(1)
        node.meter.callsInProgress.add(1)
    }

    /// Takes the number of a new stream: odd, and higher than all before it.
    func take(_ stream: UInt32) throws(ProtocolFault) {
        guard stream % 2 == 1 else {
            throw ProtocolFault("a CALL on stream \(stream): a dialler's calls have odd numbers")
        }
        guard stream > highestStream else { throw ProtocolFault("stream \(stream) is reused") }
        highestStream = stream
    }

    /// The call of a stream; nil if it is over.
    ///
    /// A stream that was never opened is an error.
    private func call(on stream: UInt32) throws(ProtocolFault) -> OpenCall? {
        guard stream != 0, stream <= highestStream, stream % 2 == 1 else {
            throw ProtocolFault("a frame on stream \(stream), which was never opened")
        }
        return calls[stream]
    }

    /// CANCEL: the caller wants no answer.
    func cancel(_ stream: UInt32) throws(ProtocolFault) {
        guard try call(on: stream) != nil else { return }
        fail(stream, .cancelledByCaller)
    }

    /// STATUS: the caller ends what it was sending.
    func abandon(_ stream: UInt32) throws(ProtocolFault) {
        guard let call = try call(on: stream) else { return }
        call.token.cancel()
        end(stream, .operationCancelled)
    }

    /// MESSAGE: the next message of a stream that the caller sends.
    func receive(_ frame: Frame) throws(ProtocolFault) {
        guard let call = try call(on: frame.stream) else { return }
        guard let input = call.input else {
            throw ProtocolFault("a MESSAGE on stream \(frame.stream), which takes no more of them")
        }
        budget?.spend(byteCount: frame.payload.count)
        try input.receive(frame.payload, isEnd: frame.isEnd)
    }

    /// - Parameter code: nil means that the call was answered.
    private func end(_ stream: UInt32, _ code: ServiceError.Code? = nil) {
        guard let call = calls.removeValue(forKey: stream) else { return }
        count(call, code)
        if case .turn = call.step { streamsWithoutRoom.removeAll { $0 == stream } }
        requestBytes -= call.requestBytes
        waitingBytes -= call.waitingBytes
        leaveBudget(call)
        node.meter.callsInProgress.add(-1)
    }

    /// The connection has ended.
    func close() {
        isClosed = true
        for (_, call) in inOrder(where: { _ in node.audit != nil }) { audit(call, .unanswered) }
        for call in calls.values {
            call.token.cancel()
            count(call, ServiceError.unanswered.code)
        }
        closeBudget()
        node.meter.callsInProgress.add(-calls.count)
        requestBytes = 0
        waitingBytes = 0
        calls = [:]
        bellWait = nil
        accountsWait = nil
    }

    /// Ends what would hold up the end of this node: calls without an end, and answers for which
    /// peers report no more.
    func drain() {
        for (stream, call) in inOrder(where: { _ in true }) {
            if call.isEndless { fail(stream, .draining) }
            if call.held != nil { failHeld(stream) }
        }
    }

    // MARK: Time

    /// When a call's time is up, or its next page is to be read again.
    var wakeTime: Instant {
        var wake = min(creditTime, expiryTime)
        for call in calls.values {
            if let deadline = call.deadline { wake = min(wake, deadline) }
            if let retry = call.retryTime { wake = min(wake, retry) }
        }
        return wake
    }

    func timePassed(now: Instant) {
        sendWithheldCredit()
        judgeExpiredStreams()
        // In an order that is the same each time.
        for (stream, call) in inOrder(where: { $0.deadline.map { $0 <= now } ?? false }) {
            timeIsUp(stream, call)
        }
        for (stream, call) in inOrder(where: { $0.retryTime.map { $0 <= now } ?? false }) {
            if case .idle(let next, _, _) = call.step { call.step = .next(next) }
            if identity.isPeer, case .next = call.step {
                // Its page is read once it has credit.
                sendWaiting(stream)
            } else {
                readOn(stream)
            }
        }
    }

    private func timeIsUp(_ stream: UInt32, _ call: OpenCall) {
        switch call.step {
        case .behind: failBehind(stream)
        case .held: failHeld(stream)
        case .turn: fail(stream, .untaken)
        case .retry: fail(stream, .nodeFull(limits))
        case .working, .next, .idle, .complete: fail(stream, .withoutCredit)
        }
    }

    // MARK: Credit

    /// CREDIT: the caller has room for more of an answer.
    func grant(_ frame: Frame) throws(ProtocolFault) {
        guard frame.payload.count == 4 else { throw ProtocolFault("a CREDIT has 4 bytes") }
        guard let call = try call(on: frame.stream) else { return }
        let sum = call.credit + frame.payload.reduce(0) { $0 << 8 | Int($1) }
        guard sum <= Int(Int32.max) else {
            throw ProtocolFault("the credit of stream \(frame.stream) exceeds 2^31 - 1")
        }
        call.credit = sum
        call.stallDeadline = nil
        sendWaiting(frame.stream)
    }

    /// Sends what the caller has room for, and reads the next page when it has room for more.
    func sendWaiting(_ stream: UInt32) {
        guard let call = calls[stream] else { return }
        var sent = 0
        while sent < call.waiting.count, call.credit > 0 {
            let message = call.waiting[sent]
            sent += 1
            call.credit -= message.count
            waitingBytes -= message.count
            let isEnd = call.isComplete && sent == call.waiting.count
            frames.send(message, isEnd: isEnd, stream: stream)
        }
        call.waiting.removeFirst(sent)
        if let patience = call.patience, call.isWaiting, call.credit <= 0 {
            call.stallDeadline = call.stallDeadline ?? node.environment.now() + patience
        }
        if call.isComplete && call.waiting.isEmpty {
            audit(call)
            end(stream)
            call.value?.end(nil)
        } else if call.waiting.isEmpty, call.credit > 0 {
            readOn(stream)
        }
    }

    // MARK: Answers

    /// Gives the whole answer of a call.
    ///
    /// - Parameter staysWithoutUs: What it tells is known to be on other nodes.
    func finish(_ stream: UInt32, _ messages: [Bytes], staysWithoutUs: Bool = false) {
        guard let call = calls[stream] else { return }
        if let large = messages.first(where: { !fits($0.count) }) {
            return fail(stream, .answerTooLarge(large.count))
        }
        tellCausalToken()
        if showsNothing, !staysWithoutUs { return fail(stream, Node.isLeaving) }
        for message in messages { waitingBytes += message.count }
        call.waiting += messages.map { MessagePieces($0) }
        call.step = .complete
        sendWaiting(stream)
    }

    /// Gives the next part of an answer, or its last one, if its caller still may have it.
    func finish(_ stream: UInt32, _ page: Page) {
        guard isCallerCurrent else { return goOn(stream) { $0.finish(stream, page) } }
        guard let call = calls[stream] else { return }
        guard page.value != nil || fits(page.message.count) else {
            return fail(stream, .answerTooLarge(page.message.count))
        }
        call.pause = nil
        // Nothing of an answer that begins with silent pages is on its way yet.
        if !page.isSilent || call.isFollowed { call.hasAnswered = true }
        call.refused = call.refused ?? page.refused
        tellCausalToken()
        if showsNothing { return fail(stream, Node.isLeaving) }
        if let value = page.value {
            value.deliver()
        } else if !page.isSilent {
            waitingBytes += page.message.count
            call.waiting.append(page.message)
        }
        advance(call, stream, after: page)
        sendWaiting(stream)
    }

    /// Sends a message of an answer that a task works on.
    func tell(_ stream: UInt32, _ message: Bytes) {
        guard let call = calls[stream] else { return }
        waitingBytes += message.count
        call.waiting.append(MessagePieces(message))
        sendWaiting(stream)
    }

    /// Whether a message of so many bytes goes into a frame; the other side ends the connection for
    /// one that doesn't.
    private func fits(_ byteCount: Int) -> Bool { byteCount <= limits.frameBytes - 64 }

    /// Takes the deadline off a call, and lets go of its request.
    ///
    /// - Parameter patience: How long its answer may wait for credit, in milliseconds.
    func makeEndless(_ stream: UInt32, patience: Int64?) {
        guard let call = calls[stream] else { return }
        requestBytes -= call.requestBytes
        call.requestBytes = 0
        call.isEndless = true
        call.patience = patience
    }

    /// Ends a call with an error.
    func fail(_ stream: UInt32, _ error: ServiceError) {
        guard let call = calls[stream] else { return }
        call.token.cancel()
        log(call, error)
        // It may say what was done, or what is there.
        tellCausalToken()
        audit(call, error)
        if call.value == nil { frames.refuse(stream, error) }
        end(stream, error.code)
        call.value?.end(error)
    }

    /// Moves a call's request from this connection to the thread of the store that it waits for.
    func queue(_ call: OpenCall) -> QueuedBytes {
        defer {
            requestBytes -= call.requestBytes
            call.requestBytes = 0
        }
        return QueuedBytes(call.requestBytes, in: room)
    }

    /// Holds a call's answer back.
    func hold(_ held: HeldAnswer, of call: OpenCall) {
        call.step = .held(held)
        waitingBytes += held.byteCount
    }

    /// Takes back the answer that a call holds; nil means it holds none.
    func takeHeld(_ stream: UInt32) -> HeldAnswer? {
        guard let call = calls[stream], let held = call.held else { return nil }
        call.step = .working
        waitingBytes -= held.byteCount
        return held
    }

    // MARK: The loop

    /// Runs work on the connection's loop, unless the connection has ended; from any thread.
    func onLoop(_ work: @escaping @Sendable (OpenCalls) -> Void) {
        link.loop.execute { self.run(work) }
    }

    /// Runs work that arrived on the loop outside a read.
    func run(_ work: (OpenCalls) -> Void) {
        guard !isClosed else { return }
        work(self)
        link.needsTurn()
    }
}
