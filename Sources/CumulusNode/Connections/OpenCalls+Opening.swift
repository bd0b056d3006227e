// Where a call begins: its frame is judged, its method looked up, its handler called.
//
// Called by `CallerConnection` for CALL frames. A call that had to wait for what its caller saw on
// another node begins here again. hot: once per call.

import CumulusModel
import CumulusWire

extension OpenCalls {
    /// CALL: a caller begins a call.
    func open(_ frame: Frame, now: Instant) throws(ProtocolFault) {
        try take(frame.stream)
        if let refusal = refusal(of: frame) { return refuse(frame, refusal) }
        let split: (header: CallHeader, message: Bytes)
        do {
            split = try CallHeader.split(frame.payload)
        } catch {
            let error = ServiceError(.invalidArguments, .protocolError, error.message)
            return refuse(frame, error)
        }
        let method = split.header.method
        guard frame.isEnd || MethodTable.entry(method)?.takesMessages == true else {
            return refuse(frame, .oneMessageOnly, of: method)
        }
        if let refusal = budgetRefusal(of: frame, now: now) {
            restraint.refused(retryAfter: refusal.retryAfterMilliseconds, now: now)
            return refuse(frame, refusal, of: method)
        }
        restraint.taken()
        let open = OpenCall(
            token: CallToken(deadline: now + milliseconds(for: split.header)),
            of: split.header,
            start: node.environment.nanoseconds(),
            requestBytes: frame.payload.count,
            credit: limits.initialCredit
        )
        enter(open, on: frame.stream)
        begin(
            Call(
                stream: frame.stream,
                header: split.header,
                message: split.message,
                isEnd: frame.isEnd
            )
        )
    }

    /// Refuses a call that does not begin.
    ///
    /// - Parameter method: 0: it was not read.
    private func refuse(_ frame: Frame, _ error: ServiceError, of method: UInt32 = 0) {
        node.meter.endedCalls.note(Method(rawValue: method), error.code, nanoseconds: nil)
        frames.refuse(frame.stream, error)
    }

    /// How long a call may take.
    private func milliseconds(for header: CallHeader) -> Int64 {
        if header.timeout == 0 { return limits.callMilliseconds }
        return min(Int64(header.timeout), limits.longestCallMilliseconds)
    }

    /// Why a call can't even begin now; nil if it can.
    private func refusal(of frame: Frame) -> ServiceError? {
        if node.isDraining { return .draining }
        // A peer has a stream per scope.
        if calls.count >= limits.streamsPerConnection, !identity.isPeer {
            return .overloaded("more than \(limits.streamsPerConnection) calls on one connection")
        }
        let unanswered = keptBytes + room.queuedBytes + frame.payload.count
        if unanswered > limits.unansweredBytes {
            return .overloaded(
                "more than \(limits.unansweredBytes) unanswered bytes on one connection"
            )
        }
        if waitingBytes > 0, !room.allows(room.heldBytes + frame.payload.count) {
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
        guard call.message.count <= limits.requestBytes || entry?.takesCommits == true else {
            throw ServiceError.requestTooLarge(call.message.count, limit: limits.requestBytes)
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
        try entry.begin(CallContext(call, open.token, identity, of: self))
    }
}
