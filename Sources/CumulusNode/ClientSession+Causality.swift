// What a session does so that a caller never sees the past again, whichever node it asks: it tells
// how far its answers reach, and lets calls wait until this node has got as far as their caller.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusWire

/// A call that waits until this node has read what its caller has seen elsewhere.
///
/// An object, since hardly any call has one and all are copied.
final class BehindCall: Sendable {
    let header: CallHeader
    let message: Bytes
    let needed: VersionVector
    let deadline: Instant

    init(header: CallHeader, message: Bytes, needed: VersionVector, deadline: Instant) {
        self.header = header
        self.message = message
        self.needed = needed
        self.deadline = deadline
    }
}

extension ClientSession {
    /// Tokens that one call may carry.
    private static let mostTokens = 64

    /// Says how far the next answer reaches, unless the caller knows.
    func tellCausalToken() {
        guard identity.wantsTokens, !node.gate.frontier.isAt(toldVersion),
            let scope = identity.scope, let number = identity.scopeNumber,
            let (token, version) = node.gate.frontier.token(
                of: number,
                scope,
                unless: toldVersion,
                mint: node.mint
            )
        else { return }
        toldVersion = version
        sendCausal(token)
    }

    /// Whether a call may begin; if not, it begins later or fails.
    func isCausal(
        _ stream: UInt32,
        _ header: CallHeader,
        _ message: Bytes
    ) throws(ServiceError) -> Bool {
        guard !header.causalTokens.isEmpty, let number = identity.scopeNumber else { return true }
        let needed = try vector(header.causalTokens)
        let rings = node.gate.bell.count
        if node.gate.frontier.covers(needed, number) { return true }
        guard let call = calls[stream] else { return false }
        let now = node.environment.now()
        // The rest of the time is for another node.
        let half = (call.token.deadline.milliseconds - now.milliseconds) / 2
        let share = min(half, limits.causalWaitMilliseconds)
        calls[stream]?.behind = BehindCall(
            header: header,
            message: message,
            needed: needed,
            deadline: call.behind?.deadline ?? now + share
        )
        node.gate.bell.wait(after: rings) { [weak self] in
            self?.resume { $0.tryAgain(stream) }
        }
        return false
    }

    private func vector(_ tokens: [Bytes]) throws(ServiceError) -> VersionVector {
        var needed = VersionVector()
        guard tokens.count <= ClientSession.mostTokens else {
            throw ServiceError(.invalidArguments, .invalidValue, "a call has too many tokens")
        }
        for bytes in tokens {
            guard let token = node.mint.open(bytes), token.kind == .causal,
                token.scope == identity.scope
            else {
                throw ServiceError(
                    .invalidArguments,
                    .invalidValue,
                    "a causal token is damaged, or of another cluster or container; leave it out"
                )
            }
            needed.merge(token.vector)
        }
        return needed
    }

    /// Something was committed: the call may be able to begin.
    private func tryAgain(_ stream: UInt32) {
        guard let behind = calls[stream]?.behind else { return }
        dispatch(stream, behind.header, behind.message)
    }

    /// The call has waited for its share of time.
    func failBehind(_ stream: UInt32, _ behind: BehindCall) {
        calls[stream]?.behind = nil
        guard let number = identity.scopeNumber else { return }
        let isQueued = node.gate.read { [self] in
            let reader = node.gate.latest(reach: .disk)
            let ahead = (try? node.endpointsAhead(of: behind.needed, number, reader)) ?? []
            resume { $0.fail(stream, ClientSession.nodeBehind(ahead)) }
        }
        if !isQueued { fail(stream, ClientSession.nodeBehind([])) }
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
    /// Members that reported that they have read that far.
    fileprivate func endpointsAhead(
        of vector: VersionVector,
        _ scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> [String] {
        let reports = try reader.reports(of: scope)
        return try Members.all(in: reader).filter { member in
            !member.isRemoved && !member.endpoint.isEmpty
                && reports[member.nodeID]?.vector.covers(vector) == true
        }.map(\.endpoint)
    }
}
