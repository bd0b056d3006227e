// A caller never sees the past again, whichever node it asks: answers tell how far they reach, and
// calls wait until this node has read what their caller saw elsewhere.
//
// Called by `OpenCalls` for every call and answer. hot: once per call.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusWire
import Synchronization

/// A call that waits until this node has read what its caller has seen elsewhere.
///
/// An object, since hardly any call has one.
final class BehindCall: Sendable {
    let call: Call
    let needed: VersionVector
    let deadline: Instant

    init(call: Call, needed: VersionVector, deadline: Instant) {
        self.call = call
        self.needed = needed
        self.deadline = deadline
    }
}

extension OpenCalls {
    /// Sends a token that says how far the next answer reaches, unless the caller has it.
    func tellCausalToken() {
        guard identity.wantsTokens, !node.gate.visible.isAt(toldVersion),
            let scope = identity.scope, let number = identity.scopeNumber,
            let (token, version) = node.gate.visible.token(
                of: number,
                scope,
                unless: toldVersion,
                mint: node.mint
            )
        else { return }
        // Asked after the token was made, so that all that it covers is handed over.
        if showsNothing { return }
        toldVersion = version
        frames.send(Frame(.causal, payload: token))
    }

    /// Whether callers are shown nothing any more: this node leaves and has begun to hand over the
    /// last of what they saw, so what is committed now may go with it.
    var showsNothing: Bool {
        identity.scope != nil && node.leaving.load(ordering: .sequentiallyConsistent)
    }

    /// Whether a call may begin; if not, it begins later or fails.
    func isCausal(_ call: Call) throws(ServiceError) -> Bool {
        guard !call.header.causalTokens.isEmpty else { return true }
        return reaches(try vector(call.header.causalTokens, call), call)
    }

    /// Whether this node has read that far; if not, the call begins again once it may have.
    func reaches(_ needed: VersionVector?, _ call: Call) -> Bool {
        guard let needed, let number = identity.scopeNumber else { return true }
        let rings = node.gate.bell.count(of: number)
        guard let state = self[call.stream] else { return false }
        state.step = .working
        if node.gate.visible.covers(needed, number) { return true }
        let deadline = state.waitDeadline ?? waitDeadline(of: state)
        state.waitDeadline = deadline
        state.step = .behind(BehindCall(call: call, needed: needed, deadline: deadline))
        waitForBell(rings, number)
        return false
    }

    /// The rest of a call's time is for another node.
    private func waitDeadline(of call: OpenCall) -> Instant {
        let now = node.environment.now()
        let half = (call.token.deadline.milliseconds - now.milliseconds) / 2
        return now + min(half, limits.causalWaitMilliseconds)
    }

    /// Whether this node lacks what a caller saw, and no other one has it: it was lost when the
    /// cluster, or its only node, went back to a backup.
    ///
    /// Where there are other nodes it may be on its way, so the call waits for it first. Ask this
    /// before `reaches`: a call that has waited fails there.
    func isLost(_ vector: VersionVector, since truncation: HybridTime, _ call: Call) -> Bool {
        guard let number = identity.scopeNumber, !node.gate.visible.covers(vector, number)
        else { return false }
        if node.isAlone { return true }
        return !node.configuration.broken.contains(.marks)
            && node.gate.visible.isMarked(since: truncation, number)
            && self[call.stream]?.hasWaited == true
    }

    /// What a call's tokens cover, without what is lost.
    private func vector(
        _ tokens: [Bytes],
        _ call: Call
    ) throws(ServiceError) -> VersionVector {
        var needed = VersionVector()
        guard tokens.count <= limits.causalTokens else {
            throw ServiceError(.invalidArguments, .invalidValue, "a call has too many tokens")
        }
        for bytes in tokens {
            guard let token = node.mint.causal(bytes), token.scope == identity.scope else {
                throw ServiceError(
                    .invalidArguments,
                    .invalidValue,
                    "a causal token is damaged, or of another cluster or container; leave it out"
                )
            }
            if isLost(token.vector, since: token.truncation, call) { continue }
            needed.merge(token.vector)
        }
        return needed
    }

    /// Looks at the calls that wait when something is committed; one wait for all of them.
    private func waitForBell(_ rings: UInt64, _ scope: ScopeNumber) {
        guard bellWait == nil else { return }
        let wait = BellWait(node.gate.bell)
        bellWait = wait
        wait.begin(after: rings, of: scope) { [weak self] in
            self?.onLoop { $0.tryAgain() }
        }
    }

    /// Something was committed: calls may be able to begin.
    private func tryAgain() {
        bellWait = nil
        guard let number = identity.scopeNumber else { return }
        let rings = node.gate.bell.count(of: number)
        for (stream, call) in inOrder(where: { $0.behind != nil }) {
            guard let behind = call.behind else { continue }
            if node.gate.visible.covers(behind.needed, number) {
                begin(behind.call)
            } else if self[stream] != nil {
                waitForBell(rings, number)
            }
        }
    }

    /// Ends the wait of a call: what it lacks may have been lost with the restore of a backup, so
    /// it begins once more; if it has to wait again, it fails.
    func failBehind(_ stream: UInt32) {
        guard let open = self[stream], let behind = open.behind else { return }
        open.step = .working
        if !open.hasWaited {
            open.hasWaited = true
            return begin(behind.call)
        }
        guard let number = identity.scopeNumber else { return }
        let isQueued = node.gate.read(.prompt) { [self] in
            let reader = node.gate.latest(reach: .disk)
            let ahead = (try? node.endpointsAhead(of: behind.needed, number, reader)) ?? []
            onLoop { $0.fail(stream, OpenCalls.nodeBehind(ahead)) }
        }
        if !isQueued { fail(stream, OpenCalls.nodeBehind([])) }
    }

    private static func nodeBehind(_ endpoints: [String]) -> ServiceError {
        var text = "this node has not got what the caller saw on another one; try that one"
        if !endpoints.isEmpty { text += ", or \(endpoints.joined(separator: ", "))" }
        var error = ServiceError(.serviceUnavailable, .nodeBehind, text)
        error.retryAfterMilliseconds = 100
        return error
    }
}

extension Node {
    /// Members that reported that they have read that far, or made all that is missing.
    fileprivate func endpointsAhead(
        of vector: VersionVector,
        _ scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> [String] {
        let reports = try reader.reports(of: scope)
        let known = try reader.vector(of: scope)
        let missing = vector.dots.filter { !known.covers($0) }.map(\.incarnation)
        return try Members.all(in: reader).filter { member in
            let run = peerRuns.latestRun(of: member.nodeID)
            return !member.isRemoved && !member.endpoint.isEmpty
                && (missing.allSatisfy { $0 == run }
                    || reports[member.nodeID]?.vector.covers(vector) == true)
        }.map(\.endpoint)
    }
}
