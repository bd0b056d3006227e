// Write concern: an answer waits until other nodes hold the change that it tells of.
//
// The change is made and durable here first; only its answer waits. If the time is up the change
// stays, and the caller is told which nodes hold it. Called by `OpenCalls+Writing`.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

/// An answer that is held back.
///
/// An object, since hardly any call has one.
final class HeldAnswer: Sendable {
    let messages: [Bytes]
    /// Bytes of the records that a caller in this process gets in place of messages.
    let valueBytes: Int
    let needed: VersionVector
    let wait: ReplicaWait
    let deadline: Instant

    init(
        messages: [Bytes],
        valueBytes: Int,
        needed: VersionVector,
        wait: ReplicaWait,
        deadline: Instant
    ) {
        self.messages = messages
        self.valueBytes = valueBytes
        self.needed = needed
        self.wait = wait
        self.deadline = deadline
    }

    var byteCount: Int { messages.reduce(valueBytes) { $0 + $1.count } }
}

extension OpenCalls {
    /// Begins the wait of a call that wants its change on other nodes; nil means it doesn't.
    func replicaWait(_ header: CallHeader, _ scope: ScopeID) throws(ServiceError) -> ReplicaWait? {
        let copies = header.replicas.map { Int($0) } ?? node.configuration.replicas
        guard copies <= limits.replicasPerChange else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                "a change can be wanted on at most \(limits.replicasPerChange) other nodes"
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
        guard let call = self[stream] else { return }
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
            valueBytes: call.value == nil ? 0 : outcome.shownBytes,
            needed: needed,
            wait: wait,
            deadline: now + min(time, limits.replicaWaitMilliseconds)
        )
        hold(held, of: call)
        // A node that goes is told nothing more by its peers.
        if node.isDraining { return failHeld(stream) }
        wait.begin(for: needed) { [weak self] in
            self?.onLoop { $0.release(stream) }
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

    /// Ends the wait of an answer: its caller is told who holds the change.
    func failHeld(_ stream: UInt32) {
        guard let held = takeHeld(stream) else { return }
        let holders = held.wait.holders(of: held.needed)
        let copies = held.wait.copies
        let isQueued = node.gate.read(.prompt) { [self] in
            let reader = node.gate.latest(reach: .disk)
            let others = try? Members.others(than: node.nodeID, in: reader)
            let error = OpenCalls.notReplicated(others ?? [], holders, copies)
            onLoop { $0.fail(stream, error) }
        }
        if !isQueued { fail(stream, OpenCalls.notReplicated([], holders, copies)) }
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
