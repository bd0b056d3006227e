// Where a call begins: its frame is judged, its method looked up, its handler called.
//
// Called by `CallerConnection` for CALL frames. A call that had to wait for what its caller saw on
// another node begins here again. hot: once per call.

import CumulusModel
import CumulusRequests
import CumulusWire

extension OpenCalls {
    /// CALL: a caller begins a call.
    func open(_ frame: Frame, now: Instant) throws(ProtocolFault) {
        try take(frame.stream)
        if let refusal = refusal(ofBytes: frame.payload.count) {
            note(refusal, of: 0)
            return frames.refuse(frame.stream, refusal)
        }
        let split: (header: CallHeader, message: Bytes)
        do {
            split = try CallHeader.split(frame.payload)
        } catch {
            let error = ServiceError(.invalidArguments, .protocolError, error.message)
            note(error, of: 0)
            return frames.refuse(frame.stream, error)
        }
        let call = Call(
            stream: frame.stream,
            header: split.header,
            message: split.message,
            isEnd: frame.isEnd
        )
        open(call, byteCount: frame.payload.count, now: now)
    }

    /// Begins a call of a caller in this process.
    func open(
        _ value: ValueCall,
        _ header: CallHeader,
        on stream: UInt32,
        now: Instant
    ) {
        if let refusal = refusal(ofBytes: value.byteCount) {
            note(refusal, of: 0)
            return value.end(refusal)
        }
        let call = Call(stream: stream, header: header, message: value.message, value: value)
        open(call, byteCount: value.byteCount, now: now)
    }

    /// Enters a call that its caller may make now, and begins it.
    private func open(_ call: Call, byteCount: Int, now: Instant) {
        let method = call.header.method
        guard call.isEnd || MethodTable.entry(method)?.takesMessages == true else {
            return refuse(call, .oneMessageOnly)
        }
        if let refusal = budgetRefusal(ofBytes: byteCount, now: now) {
            restraint.refused(retryAfter: refusal.retryAfterMilliseconds, now: now)
            return refuse(call, refusal)
        }
        restraint.taken()
        let open = OpenCall(
            token: CallToken(deadline: now + milliseconds(for: call.header)),
            of: call.header,
            start: node.environment.nanoseconds(),
            requestBytes: byteCount,
            credit: limits.initialCredit,
            value: call.value
        )
        enter(open, on: call.stream)
        begin(call)
    }

    /// Refuses a call that does not begin.
    private func refuse(_ call: Call, _ error: ServiceError) {
        note(error, of: call.header.method)
        if let value = call.value { value.end(error) } else { frames.refuse(call.stream, error) }
    }

    /// Counts a call that does not begin.
    ///
    /// - Parameter method: 0: it was not read.
    private func note(_ error: ServiceError, of method: UInt32) {
        node.meter.endedCalls.note(Method(rawValue: method), error.code, nanoseconds: nil)
    }

    /// How long a call may take.
    private func milliseconds(for header: CallHeader) -> Int64 {
        if header.timeout == 0 { return limits.callMilliseconds }
        return min(Int64(header.timeout), limits.longestCallMilliseconds)
    }

    /// Why a call can't even begin now; nil if it can.
    private func refusal(ofBytes byteCount: Int) -> ServiceError? {
        if node.isDraining { return .draining }
        // A peer has a stream per scope.
        if calls.count >= limits.streamsPerConnection, !identity.isPeer {
            return .overloaded("more than \(limits.streamsPerConnection) calls on one connection")
        }
        let unanswered = keptBytes + room.queuedBytes + byteCount
        if unanswered > limits.unansweredBytes {
            return .overloaded(
                "more than \(limits.unansweredBytes) unanswered bytes on one connection"
            )
        }
        if waitingBytes > 0, !room.allows(room.heldBytes + byteCount) {
            return .nodeFull(limits)
        }
        return nil
    }

    /// Begins a call that was entered, unless it has to wait for what its caller saw.
    func begin(_ call: Call) {
        failing(call.stream) { try checkAndBegin(call) }
    }

    /// Runs a step of a call; what it throws ends the call.
    func failing(_ stream: UInt32, _ step: () throws -> Void) {
        do {
            try step()
        } catch let error as MalformedMessage {
            fail(stream, ServiceError(.invalidArguments, .protocolError, error.message))
        } catch let error as ServiceError {
            fail(stream, error)
        } catch {
            fail(stream, ServiceError(.internalError, "\(error)"))
        }
    }

    private func checkAndBegin(_ call: Call) throws {
        let entry = MethodTable.entry(call.header.method)
        guard call.byteCount <= limits.requestBytes || entry?.takesCommits == true else {
            throw ServiceError.requestTooLarge(call.byteCount, limit: limits.requestBytes)
        }
        guard let entry else { throw ServiceError.unknownMethod(call.header.method) }
        // What a caller saw now could be gone with this node.
        if showsNothing { throw Node.isLeaving }
        // What a caller sends behind its call was not seen on another node, and can't wait.
        guard try entry.takesMessages || isCausal(call) else { return }
        guard isCallerCurrent else { return goOn(call.stream) { $0.begin(call) } }
        try entry.checkCaller(identity)
        if !entry.needs.contains(.peer), !entry.needs.contains(.anyTime),
            let refusal = node.refusalWhileJoining(of: identity.caller)
        {
            throw refusal
        }
        guard let open = self[call.stream] else { return }
        let context = CallContext(call, open.token, identity, of: self)
        if let value = call.value { try value.begin(context) } else { try entry.begin(context) }
    }
}
