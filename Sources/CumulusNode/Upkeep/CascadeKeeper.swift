// Deletes what long cascades still owe, a turn of the writer at a time; begins with what the last
// process left.
//
// It runs beside the listener until it is cancelled. After each turn it leaves the writer to others
// for as long as the turn took. Debts are rows of the store (`CascadeDebt`). Cascades take turns,
// and each turn deletes its debts in the transaction that pays them. `Cascades` serves calls that
// wait for the end of a cascade.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusWire
import Logging

package struct CascadeKeeper: Sendable {
    /// Milliseconds between two tries while another node's state is merged in.
    private static let heldPause: Int64 = 1_000

    private let node: Node

    package init(_ node: Node) {
        self.node = node
    }

    /// Returns when the task is cancelled.
    package func run() async {
        await ScopeWork(
            node: node,
            news: node.gate.cascadeNews.stream,
            problem: "what long cascades owe can't be deleted now",
            work: work
        ).run()
    }

    /// Pays all that is due.
    private func work(_ scope: ScopeID, _ number: ScopeNumber) async throws {
        var last: Dot?
        while true {
            try Task.checkCancellation()
            let (after, now) = (last, node.clock)
            let next = try await node.gate.reading(.prompt) { reader in
                try reader.cascade(of: number, after: after, due: now)
            }
            guard let next else {
                // The first one has its turn again.
                if last == nil { return }
                last = nil
                continue
            }
            try await pay(next, in: scope, number)
            last = next
        }
    }

    private func pay(_ cascade: Dot, in scope: ScopeID, _ number: ScopeNumber) async throws {
        let start = node.environment.now()
        let isHeld = try await node.gate.change(.deletes) {
            [node] transaction throws(EngineError) in
            // While another node's state is merged in, nothing else changes.
            if node.gate.stops.isHeld(scope) { return true }
            _ = try CascadeCompensation.pay(cascade, in: number, &transaction)
            return false
        }
        let milliseconds = node.environment.now().milliseconds - start.milliseconds
        try await node.environment.sleep(isHeld ? CascadeKeeper.heldPause : max(1, milliseconds))
    }
}

/// How calls wait for the end of long cascades.
struct Cascades {
    /// Milliseconds between two looks at whether a cascade is at its end.
    private static let pause: Int64 = 20

    private let node: Node

    init(_ node: Node) {
        self.node = node
    }

    /// Returns when nothing is left of what these commits began: the last commit with which it
    /// went.
    func waitForEnd(
        of dots: [Dot],
        in scope: ScopeID,
        _ time: TaskTime
    ) async throws -> Dot? {
        while true {
            if let end = try await end(of: dots, in: scope) { return end.last }
            if node.isDraining { throw Cascades.goesOn }
            if time.refusal != nil { throw time.token.cancellation ?? Cascades.goesOn }
            try await node.environment.sleep(Cascades.pause)
        }
    }

    /// Returns when this node owes nothing that is due: it is about to leave.
    func waitForAll(
        by deadline: Instant,
        unless cancellation: @Sendable () -> ServiceError?
    ) async throws {
        while true {
            let now = node.clock
            let owes = try await node.gate.reading(.prompt) { reader in
                try ScopeDirectory.all(in: reader).contains { _, number in
                    try reader.cascade(of: number, after: nil, due: now) != nil
                }
            }
            if !owes { return }
            if let cancellation = cancellation() { throw cancellation }
            if deadline <= node.environment.now() { throw Cascades.stillOwes }
            try await node.environment.sleep(Cascades.pause)
        }
    }

    private static let stillOwes = ServiceError(
        .serviceUnavailable,
        .deadline,
        "a long cascade is still being deleted here; try again, with more time"
    )

    /// The node's last commit, once nothing is owed any more.
    private func end(of dots: [Dot], in scope: ScopeID) async throws -> (last: Dot?, Void)? {
        let run = node.incarnation
        return try await node.gate.reading(.prompt) { reader in
            guard let number = try reader.scope(scope) else { return (nil, ()) }
            if try reader.owes(dots, in: number) { return nil }
            return (try reader.runs(of: number)[run].map { Dot(run, $0.seq) }, ())
        }
    }

    /// The records are deleted, and what they own still goes.
    private static let goesOn = ServiceError(
        .serviceUnavailable,
        .deadline,
        """
        the records are deleted, and what refers to them is still being deleted; repeat the \
        request with the same request id to wait for the end
        """
    )
}
