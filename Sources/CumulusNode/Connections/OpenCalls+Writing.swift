// Changing the store for a call: its request is queued for the writer, or a task of the node works
// for it, and the answer comes back to the loop.
//
// Called by `CallContext`. hot: once per call that writes.

import CumulusModel
import CumulusOperations
import CumulusWire
import Logging

/// Makes the messages of an answer of what the writer returned; on the loop.
typealias Encode = @Sendable (WriteRequest.Answer) -> [Bytes]

/// How long a task of the node may work for a call; some of the call's time is left for the answer.
struct TaskTime: Sendable {
    fileprivate let node: Node
    let token: CallToken
    let end: Instant

    /// The error if the call was cancelled or `end` has passed; nil: go on.
    var refusal: ServiceError? { token.refusal(now: node.environment.now(), by: end) }
}

/// Works for a call, tells its caller messages meanwhile, and returns the last one.
typealias TellingTask =
    @Sendable (
        Node,
        _ refusal: @escaping Node.Refusal,
        _ tell: @escaping @Sendable (Bytes) -> Void
    ) async throws -> Bytes

extension OpenCalls {
    /// Queues a request for the writer, and answers when it is durable, or when enough other nodes
    /// hold it.
    ///
    /// - Parameter counted: The bytes of a request that was queued before.
    func submit(
        _ call: Call,
        _ request: WriteRequest,
        _ wait: ReplicaWait?,
        _ encode: @escaping Encode,
        counted: QueuedBytes? = nil
    ) {
        let stream = call.stream
        guard let open = self[stream] else { return }
        let queued = counted ?? queue(open)
        let work = StoreGate.Work.request(request, open.token) { [self] answer in
            if case .success(.modified(let outcome)) = answer, outcome.needsSurvey {
                return run { $0.survey(call, request, wait, encode, queued) }
            }
            queued.release()
            let shown = (try? answer.get().shownBytes) ?? 0
            run { calls in
                defer { calls.keepAnswer(shown) }
                switch answer {
                case .success(.modified(let outcome)) where outcome.owes:
                    calls.awaitCascade(call, request.scope, outcome, wait, encode)
                case .success(let answer): calls.finish(stream, answer, wait, encode)
                case .failure(let error): calls.fail(stream, error)
                }
            }
            room.addArriving(-shown)
        }
        let write = StoreGate.QueuedWrite(
            work,
            byteCount: call.message.count,
            loop: link.loop,
            admits: room.admit
        )
        node.environment.logger.trace(
            "a write is queued",
            metadata: ["request": "\(call.header.requestID.hex)"]
        )
        if !node.gate.submit(write) { fail(stream, .tooManyWrites) }
    }

    /// Counts an answer that shows so much of the server's records as held, before it counts no
    /// more as arriving.
    private func keepAnswer(_ shown: Int) {
        guard shown > 0 else { return }
        room.hold(max(room.heldBytes, keptBytes + frames.unsentBytes))
    }

    private func finish(
        _ stream: UInt32,
        _ answer: WriteRequest.Answer,
        _ wait: ReplicaWait?,
        _ encode: Encode
    ) {
        let messages = encode(answer)
        if let wait, case .modified(let outcome) = answer {
            finish(stream, messages, of: outcome, wait)
        } else {
            finish(stream, messages)
        }
    }

    /// Looks up what the request needs before its turn, and queues it again; its bytes stay counted
    /// meanwhile.
    private func survey(
        _ call: Call,
        _ request: WriteRequest,
        _ wait: ReplicaWait?,
        _ encode: @escaping Encode,
        _ queued: QueuedBytes
    ) {
        guard let time = time(of: call.stream) else { return }
        perform(call.stream) { node in
            let request = try await Surveys(node).survey(request, time)
            return { $0.submit(call, request, wait, encode, counted: queued) }
        }
    }

    /// Answers once nothing is left of what the request's deletions take along.
    private func awaitCascade(
        _ call: Call,
        _ scope: ScopeID,
        _ outcome: ModifyOutcome,
        _ wait: ReplicaWait?,
        _ encode: @escaping Encode
    ) {
        let stream = call.stream
        guard let time = time(of: stream) else { return }
        perform(stream) { node in
            var outcome = outcome
            let last = try await Cascades(node).waitForEnd(of: outcome.dots, in: scope, time)
            if let last { outcome.dots.append(last) }
            let answer = WriteRequest.Answer.modified(outcome)
            return { $0.finish(stream, answer, wait, encode) }
        }
    }

    /// Answers when a task of the node is done.
    func answer(
        _ stream: UInt32,
        _ work: @escaping @Sendable (Node, TaskTime) async throws -> [Bytes]
    ) {
        guard let time = time(of: stream) else { return }
        perform(stream) { node in
            let messages = try await work(node, time)
            return { $0.finish(stream, messages) }
        }
    }

    /// Answers with what a task of the node tells, until it is done or its caller cancels the call;
    /// a call that names no time has no deadline.
    func answer(_ call: Call, telling work: @escaping TellingTask) {
        let stream = call.stream
        guard let time = time(of: stream) else { return }
        let hasDeadline = call.header.timeout > 0
        if !hasDeadline {
            makeEndless(stream, patience: limits.stalledStateMilliseconds)
        }
        let refusal = { @Sendable in hasDeadline ? time.refusal : time.token.cancellation }
        let tell = { @Sendable [weak self] (part: Bytes) -> Void in
            self?.onLoop { $0.tell(stream, part) }
        }
        perform(stream) { node in
            let message = try await work(node, refusal, tell)
            return { $0.finish(stream, [message]) }
        }
    }

    private func time(of stream: UInt32) -> TaskTime? {
        guard let open = self[stream] else { return nil }
        let now = node.environment.now()
        let milliseconds = (open.token.deadline.milliseconds - now.milliseconds) * 9 / 10
        return TaskTime(node: node, token: open.token, end: now + milliseconds)
    }

    /// Goes on with what a task of the node returns, on the loop.
    private func perform(
        _ stream: UInt32,
        _ work: @escaping @Sendable (Node) async throws -> @Sendable (OpenCalls) -> Void
    ) {
        Task { [node, weak self] in
            do {
                let next = try await work(node)
                self?.onLoop(next)
            } catch {
                let error = node.serviceError(error)
                self?.onLoop { $0.fail(stream, error) }
            }
        }
    }
}
