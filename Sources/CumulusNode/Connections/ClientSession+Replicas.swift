// Answers that wait until other nodes hold what they tell: write concern.
//
// A change is made and durable here first; what waits is its answer. If the time is up the change
// stays, and the caller is told where it is.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

/// An answer that is held back.
///
/// An object, since hardly any call has one.
final class HeldAnswer: Sendable {
    let messages: [Bytes]
    let needed: VersionVector
    let wait: ReplicaWait
    let deadline: Instant

    init(messages: [Bytes], needed: VersionVector, wait: ReplicaWait, deadline: Instant) {
        self.messages = messages
        self.needed = needed
        self.wait = wait
        self.deadline = deadline
    }

    var byteCount: Int { messages.reduce(0) { $0 + $1.count } }
}

extension ClientSession {
    /// The most other nodes that a call may want its change on.
    private static let mostReplicas = 16
    /// The longest that an answer is held back.
    private static let longestMilliseconds: Int64 = 60_000

    /// The wait of a call that wants its change on other nodes; nil: it doesn't.
    func replicaWait(_ call: Call, _ scope: ScopeID) throws(ServiceError) -> ReplicaWait? {
        let copies = call.header.replicas.map { Int($0) } ?? node.configuration.replicas
        guard copies <= ClientSession.mostReplicas else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                "a change can be wanted on at most \(ClientSession.mostReplicas) other nodes"
            )
        }
        return copies > 0 ? ReplicaWait(node.replicas, scope, copies: copies) : nil
    }

    /// Gives an answer, once enough nodes hold what its request changed.
    func finish(
        _ stream: UInt32,
        _ messages: [Bytes],
        of outcome: ModifyOutcome,
        _ wait: ReplicaWait
    ) {
        guard let call = calls[stream] else { return }
        var needed = VersionVector()
        for dot in outcome.dots { needed.cover(dot) }
        guard wait.holders(of: needed).count < wait.copies, !needed.isEmpty else {
            return finish(stream, messages)
        }
        let now = node.environment.now()
        // Some of the call's time is left to tell its caller how it went.
        let time = (call.token.deadline.milliseconds - now.milliseconds) * 9 / 10
        let held = HeldAnswer(
            messages: messages,
            needed: needed,
            wait: wait,
            deadline: now + min(time, ClientSession.longestMilliseconds)
        )
        // A node that goes is told nothing more by its peers.
        if node.isDraining { return failHeld(stream, held) }
        calls[stream]?.held = held
        waitingBytes += held.byteCount
        wait.begin(for: needed) { [weak self] in
            self?.resume { $0.release(stream) }
        }
        // What a repeated request did was sent to peers long ago: they are asked anew.
        if outcome.isRepeated {
            node.replicas.ask(wait.scope)
            node.gate.bell.ringForAll()
        }
    }

    private func release(_ stream: UInt32) {
        guard let held = takeHeld(stream) else { return }
        // Others have it, so it is told though this node is about to leave.
        finish(stream, held.messages, staysWithoutUs: true)
    }

    private func takeHeld(_ stream: UInt32) -> HeldAnswer? {
        guard let held = calls[stream]?.held else { return nil }
        calls[stream]?.held = nil
        waitingBytes -= held.byteCount
        return held
    }

    /// The call has waited for its share of time.
    func failHeld(_ stream: UInt32, _ held: HeldAnswer) {
        _ = takeHeld(stream)
        let holders = held.wait.holders(of: held.needed)
        let copies = held.wait.copies
        let isQueued = node.gate.read(.prompt) { [self] in
            let reader = node.gate.latest(reach: .disk)
            let others = try? Members.others(than: node.nodeID, in: reader)
            let error = ClientSession.notReplicated(others ?? [], holders, copies)
            resume { $0.fail(stream, error) }
        }
        if !isQueued { fail(stream, ClientSession.notReplicated([], holders, copies)) }
    }

    private static func notReplicated(
        _ others: [Members.Member],
        _ holders: [Bytes],
        _ copies: Int
    ) -> ServiceError {
        func names(_ isHolder: Bool) -> String {
            let members = others.filter { holders.contains($0.nodeID) == isHolder }
            let names = members.map { $0.endpoint.isEmpty ? $0.nodeID.hex : $0.endpoint }
            return names.isEmpty ? "" : " (\(names.joined(separator: ", ")))"
        }
        let lack =
            others.count < copies ? "; the cluster has only \(others.count) other members" : ""
        return ServiceError(
            .serviceUnavailable,
            .notReplicated,
            """
            the change is made and durable on this node and on \(holders.count) of the \(copies) \
            others that are to hold it\(names(true)); nothing was heard of the rest\
            \(names(false))\(lack). It travels on by itself: the same request, with its id, sent \
            again waits for that, a new one makes the change a second time
            """
        )
    }
}
