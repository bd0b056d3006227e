// Judging a caller again: its token was good when the connection began, and may not be any more.
//
// It is asked where a call begins, before each part of an answer is sent, and for streams when the
// accounts have changed. So a caller gets nothing more after this node has shown a revocation. It
// costs one comparison unless the epoch has moved. hot: several times per call.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

extension OpenCalls {
    /// Whether nothing has happened since the caller was judged that may have shut it out.
    var isCallerCurrent: Bool {
        let epoch = node.gate.epochs.accounts
        if identity.scope != nil, identity.scopeEpoch != epoch { return false }
        guard let credential = identity.credential else { return true }
        return credential.epoch == epoch && !hasExpired(credential)
    }

    private func hasExpired(_ credential: Credential) -> Bool {
        credential.expires != 0 && credential.expires <= node.environment.wallClock()
    }

    /// Judges the caller anew, and goes on with the error if it may not come in any more; on the
    /// loop, at once if what decides is in memory.
    func judgeAgain(_ next: @escaping @Sendable (OpenCalls, ServiceError?) -> Void) {
        let identity = identity
        guard identity.isJudged else { return next(self, nil) }
        do {
            take(try node.judge(identity, reach: .memory), next)
        } catch EngineError.notInMemory {
            let isQueued = node.gate.read(.prompt) { [self] in
                let judged = Result { try node.judge(identity, reach: .disk) }
                onLoop { calls in
                    switch judged {
                    case .success(let judged): calls.take(judged, next)
                    case .failure(let error): next(calls, calls.node.serviceError(error))
                    }
                }
            }
            if !isQueued { next(self, .tooManyReads) }
        } catch {
            next(self, node.serviceError(error))
        }
    }

    /// - Parameter judged: A caller that is refused may come in later: an operator can enable its
    ///   user.
    private func take(
        _ judged: Judgement,
        _ next: (OpenCalls, ServiceError?) -> Void
    ) {
        if let refusal = judged.refusal { return next(self, refusal) }
        // If two look-ups ran at once, the one from the newer state counts.
        identity.scopeEpoch = max(identity.scopeEpoch, judged.epoch)
        if let known = identity.credential, let credential = judged.credential,
            known.epoch <= credential.epoch
        {
            identity.credential = credential
        }
        next(self, nil)
    }

    /// Goes on with a call whose caller is judged again first; ends it if it may not come in.
    func goOn(_ stream: UInt32, _ next: @escaping @Sendable (OpenCalls) -> Void) {
        judgeAgain { calls, refusal in
            if let refusal { calls.fail(stream, refusal) } else { next(calls) }
        }
    }

    // MARK: Streams

    /// Judges the caller of streams as soon as the accounts move on, though nothing is to be told.
    func watchAccounts() {
        guard identity.isJudged, accountsWait == nil else { return }
        let wait = BellWait(node.gate.epochs.bell)
        accountsWait = wait
        wait.begin(after: node.gate.epochs.bell.count(of: nil), of: nil) { [weak self] in
            self?.onLoop { $0.judgeStreams() }
        }
        // It may have rung between the last judgement and now.
        if !isCallerCurrent { judgeStreams() }
    }

    /// Ends the streams of a caller that may not come in any more.
    private func judgeStreams() {
        accountsWait = nil
        guard hasStreams, !isJudgingStreams else { return }
        isJudgingStreams = true
        judgeAgain { calls, refusal in
            calls.isJudgingStreams = false
            guard let refusal else { return calls.watchAccounts() }
            for (stream, _) in calls.inOrder(where: { $0.isFollowed }) {
                calls.fail(stream, refusal)
            }
        }
    }

    private var hasStreams: Bool { calls.values.contains { $0.isFollowed } }

    /// The time at which streams are judged again though the accounts have not changed: their
    /// session expires.
    var expiryTime: Instant {
        guard let credential = identity.credential, credential.expires != 0, hasStreams,
            !isJudgingStreams
        else { return .distant }
        let left = credential.expires - node.environment.wallClock()
        return node.environment.now() + max(0, left)
    }

    func judgeExpiredStreams() {
        guard let credential = identity.credential, hasExpired(credential) else { return }
        judgeStreams()
    }
}

/// What becomes of a caller that is judged again.
struct Judgement: Sendable {
    /// The value of `AccessEpochs.accounts` before the state was read.
    let epoch: UInt64
    /// The caller's credential, if it has one and may go on.
    var credential: Credential?
    /// Why the caller may not go on; nil if it may.
    var refusal: ServiceError?
}

extension Identity {
    /// Whether something may shut the caller out: the end of its credential or of its container.
    fileprivate var isJudged: Bool { credential != nil || scope != nil }
}

extension Node {
    /// Whether the newest visible state still lets a caller in, and its credential as it is there.
    func judge(_ identity: Identity, reach: Reach) throws(EngineError) -> Judgement {
        // The epoch is read before the state, which is then at least as new.
        var judgement = Judgement(epoch: gate.epochs.accounts)
        let reader = gate.latest(reach: reach)
        if let container = identity.scope?.container,
            try Containers.isDeleted(container, in: reader)
        {
            judgement.refusal = Containers.deleted(container)
        } else if let credential = identity.credential {
            judgement.credential = try credential.judged(
                at: judgement.epoch,
                now: environment.wallClock(),
                in: reader
            )
            if judgement.credential == nil { judgement.refusal = credential.refusal }
        }
        return judgement
    }

    /// Makes a session that is used in its second half good for longer.
    func renew(_ session: Sessions.Session, _ caller: Caller, _ credential: Credential) {
        guard session.isDue(now: environment.wallClock()) else { return }
        let request = WriteRequest(RenewSession(), caller: caller, credential: credential)
        let token = CallToken(deadline: environment.now() + configuration.limits.callMilliseconds)
        // If it can't be done now, the next connection does it.
        let work = StoreGate.Request(request, token) { _ in }
        _ = gate.submit(StoreGate.QueuedWrite(work, byteCount: 0, loop: InPlaceLoop.shared))
    }
}
