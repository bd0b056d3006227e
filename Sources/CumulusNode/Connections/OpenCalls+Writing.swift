// Changing the store for a call: its request is queued for the writer, or a task of the node works
// for it, and the answer comes back to the loop.
//
// Called by `CallContext`. hot: once per call that writes.

import CumulusModel
import CumulusOperations
import CumulusWire
import Logging

/// Makes the messages of an answer of what became of a change; on the loop.
typealias Encode<Outcome> = @Sendable (Outcome) -> [Bytes]

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
    /// Queues a change for the writer, and answers when it is durable.
    func submit<Asked: Change>(
        _ call: Call,
        _ request: WriteRequest<Asked>,
        _ encode: @escaping Encode<Asked.Outcome>
    ) {
        let stream = call.stream
        guard let open = self[stream] else { return }
        let queued = queue(open)
        let work = StoreGate.Request(request, open.token, in: room) { [self] answer in
            queued.release()
            run { calls in
                switch answer {
                case .success(let outcome): calls.finish(stream, encode(outcome))
                case .failure(let error): calls.fail(stream, error)
                }
            }
        }
        queue(work, of: call)
    }

    /// Queues a change that is remembered by its request id, and answers when it is durable, or
    /// when enough other nodes hold it.
    func submit<Asked: RememberedChange>(
        _ call: Call,
        _ request: WriteRequest<Asked>,
        _ wait: ReplicaWait?,
        _ encode: @escaping Encode<ModifyOutcome>
    ) where Asked.Outcome == ModifyOutcome {
        let (stream, scope) = (call.stream, request.asker.scope)
        guard let open = self[stream] else { return }
        let queued = queue(open)
        let work = StoreGate.Request(request, open.token, in: room) { [self] answer in
            queued.release()
            run { calls in
                switch answer {
                case .success(let outcome): calls.finish(stream, outcome, scope, wait, encode)
                case .failure(let error): calls.fail(stream, error)
                }
            }
        }
        queue(work, of: call)
    }

    /// Queues a change of records, once what it needs is looked up.
    func submit(
        _ call: Call,
        _ request: WriteRequest<ModifyRecords>,
        _ wait: ReplicaWait?,
        _ encode: @escaping Encode<ModifyOutcome>
    ) {
        guard let open = self[call.stream] else { return }
        let queued = queue(open)
        guard request.change.needsSurvey else {
            return queue(call, request, wait, encode, queued)
        }
        survey(call, wait, encode, queued) { node, time in
            // What can't be looked up is for the writer to refuse, behind all that it asks before.
            (try? await Surveys(node).prepare(request, time)) ?? request
        }
    }

    private func queue(
        _ call: Call,
        _ request: WriteRequest<ModifyRecords>,
        _ wait: ReplicaWait?,
        _ encode: @escaping Encode<ModifyOutcome>,
        _ queued: QueuedBytes
    ) {
        let (stream, scope) = (call.stream, request.asker.scope)
        guard let open = self[stream] else { return }
        let work = StoreGate.Request(request, open.token, in: room) { [self] answer in
            switch answer {
            case .success(.needsSurvey):
                run { calls in
                    calls.survey(call, wait, encode, queued) { node, time in
                        try await Surveys(node).survey(request, time)
                    }
                }
            case .success(.needsTargets):
                var request = request
                request.change = request.change.lookingUpTargets()
                run { [request] calls in
                    calls.survey(call, wait, encode, queued) { node, time in
                        try await Surveys(node).prepare(request, time)
                    }
                }
            case .success(.modified(let outcome)):
                queued.release()
                let shown = outcome.shownBytes
                run { calls in
                    calls.finish(stream, outcome, scope, wait, encode)
                    calls.keepAnswer(shown)
                }
                room.addArriving(-shown)
            case .failure(let error):
                queued.release()
                run { $0.fail(stream, error) }
            }
        }
        queue(work, of: call)
    }

    private func queue(_ work: any WriterWork, of call: Call) {
        let write = StoreGate.QueuedWrite(work, byteCount: call.byteCount, loop: link.loop)
        node.environment.logger.trace(
            "a write is queued",
            metadata: ["request": "\(call.header.requestID.hex)"]
        )
        if !node.gate.submit(write) { fail(call.stream, .tooManyWrites) }
    }

    /// Looks up what a request needs before its turn, and queues it; its bytes stay counted
    /// meanwhile.
    private func survey(
        _ call: Call,
        _ wait: ReplicaWait?,
        _ encode: @escaping Encode<ModifyOutcome>,
        _ queued: QueuedBytes,
        _ look:
            @escaping @Sendable (Node, TaskTime) async throws -> WriteRequest<ModifyRecords>
    ) {
        guard let time = time(of: call.stream) else { return }
        perform(call.stream) { node in
            let request = try await look(node, time)
            return { $0.queue(call, request, wait, encode, queued) }
        }
    }

    /// Counts an answer that shows so much of the server's records as held, before it counts no
    /// more as arriving.
    private func keepAnswer(_ shown: Int) {
        guard shown > 0 else { return }
        room.hold(max(room.heldBytes, keptBytes + frames.unsentBytes))
    }

    /// Answers, once nothing is left of what the request's deletions take along.
    private func finish(
        _ stream: UInt32,
        _ outcome: ModifyOutcome,
        _ scope: ScopeID,
        _ wait: ReplicaWait?,
        _ encode: @escaping Encode<ModifyOutcome>
    ) {
        guard outcome.owes else { return finish(stream, outcome, wait, encode) }
        guard let time = time(of: stream) else { return }
        perform(stream) { node in
            var outcome = outcome
            let last = try await Cascades(node).waitForEnd(of: outcome.dots, in: scope, time)
            if let last { outcome.dots.append(last) }
            return { [outcome] in $0.finish(stream, outcome, wait, encode) }
        }
    }

    private func finish(
        _ stream: UInt32,
        _ outcome: ModifyOutcome,
        _ wait: ReplicaWait?,
        _ encode: Encode<ModifyOutcome>
    ) {
        let messages = encode(outcome)
        if let wait {
            finish(stream, messages, of: outcome, wait)
        } else {
            finish(stream, messages)
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
